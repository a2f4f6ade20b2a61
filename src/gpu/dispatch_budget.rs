//! The dispatch budget: the numbers of workgroups, dispatches and rounds of a step. The budget changes the cost of a step,
//! not the result.

use super::{Context, layout::GROUP};
use crate::state::constants::{ITERATION_BATCHES, PUSH_PASSES};

/// Most workgroups of a dispatch; threads stride over the remaining elements. Every device allows this many.
const MOST_GROUPS: u32 = 32_768;

/// Enough workgroups for a software adapter, where a workgroup costs as much as the work on a hundred spheres.
const ENOUGH_SOFTWARE_GROUPS: u32 = 16;

/// Most dispatches that finish the rounds of a substep.
const MOST_TAILS: u32 = 256;

/// Numbers of workgroups, rounds and batches of iterations of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchBudget {
    /// Sufficient number of workgroups for any number of spheres.
    enough: u32,
    /// Most spheres per invocation if more workgroups than `enough` are used.
    spheres: u32,
    /// Dispatches that finish the rounds of a substep.
    pub tails: u32,
    /// Rounds per tail dispatch.
    pub tail_rounds: u32,
    /// Batches of iterations over resting contacts after the rounds. 0 suffices if no block is active after the rounds: no impact,
    /// nothing unsettled, no sleeping sphere beside a moving wall.
    pub batches: u32,
    /// Passes of pushes in a box that shrinks.
    pub pushes: u32,
    /// Consecutive steps for which this budget sufficed.
    calm: u32,
    /// Consecutive sufficient steps before a smaller budget is tried.
    patience: u32,
    /// A smaller budget has been tried.
    lowered: bool,
    walks: Walks,
}

/// Whether dispatches search the paths of fast spheres. Without them, a step in which a sphere becomes fast is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Walks {
    encoded: bool,
    /// Consecutive steps without a fast sphere.
    calm: u32,
    /// Consecutive steps without a fast sphere before the dispatches are left out.
    patience: u32,
}

impl Walks {
    const FIRST: Self = Self { encoded: true, calm: 0, patience: WALKS_PATIENCE.0 };

    // Records a step, with a fast sphere or without. Returns whether the next step has the dispatches.
    fn goes_on(&mut self, walked: bool) -> bool {
        self.calm = if walked { 0 } else { self.calm + 1 };
        self.encoded &= self.calm <= self.patience;
        self.encoded
    }

    // Returns false if the dispatches were not left out.
    fn come_back(&mut self) -> bool {
        let was_left_out = !self.encoded;
        if was_left_out {
            let patience = (2 * self.patience).min(WALKS_PATIENCE.1);
            *self = Self { encoded: true, calm: 0, patience };
        }
        was_left_out
    }
}

/// Initial and largest number of steps before a smaller budget is tried. Each premature try costs one repeated step.
const PATIENCE: (u32, u32) = (2, 128);

/// Least passes of pushes in a box that shrinks. A pass without work costs a dispatch.
const LEAST_PUSHES: u32 = 16;

/// The same for the dispatches for fast spheres: a gas has some in one of a few dozen steps.
const WALKS_PATIENCE: (u32, u32) = (128, 1 << 14);

impl DispatchBudget {
    /// The initial budget of a device.
    pub fn new(context: &Context) -> Self {
        let (calm, patience, lowered, walks) = (0, PATIENCE.0, false, Walks::FIRST);
        if !context.info().is_software() {
            // Some drivers' watchdogs kill long dispatches; a dispatch without remaining work ends at once.
            Self {
                enough: MOST_GROUPS,
                spheres: 1,
                tails: 1,
                tail_rounds: 64,
                batches: 0,
                pushes: LEAST_PUSHES,
                calm,
                patience,
                lowered,
                walks,
            }
        } else {
            // An invocation has 65,535 loop iterations, see `check_loops` in the shaders.
            Self {
                enough: ENOUGH_SOFTWARE_GROUPS,
                spheres: 64,
                tails: 1,
                tail_rounds: 8,
                batches: 0,
                pushes: LEAST_PUSHES,
                calm,
                patience,
                lowered,
                walks,
            }
        }
    }

    /// Records a step that ended without a cut; `walked` says whether dispatches searched the path of any fast sphere. After
    /// `patience` such steps the budget returns to the initial one of the device, so that one crowded step does not slow
    /// down a thousand quiet ones.
    pub fn ended_well(&mut self, context: &Context, walked: bool) {
        self.calm += 1;
        if self.calm > self.patience {
            *self = self.lower(Self::new(context));
        }
        self.walks.goes_on(walked);
    }

    /// Whether dispatches search the paths of fast spheres.
    pub fn walks(&self) -> bool {
        self.walks.encoded
    }

    /// Adds the dispatches for fast spheres after one appeared without them. Returns false if they were there.
    pub fn walk(&mut self) -> bool {
        self.walks.come_back()
    }

    /// Leaves out the dispatches for fast spheres.
    #[cfg(test)]
    pub fn leave_out_walks(&mut self) {
        self.walks.encoded = false;
    }

    /// The same budget with the dispatches for fast spheres.
    pub fn with_walks(self) -> Self {
        Self { walks: Walks { encoded: true, ..self.walks }, ..self }
    }

    // Returns whether the budget exceeds `before`; if so, the next try of a smaller budget comes later.
    fn grown(&mut self, before: &Self) -> bool {
        if *self == *before {
            return false;
        }
        if self.lowered {
            self.patience = (2 * self.patience).min(PATIENCE.1);
        }
        (self.calm, self.lowered) = (0, false);
        true
    }

    /// The same budget with at most `most_rounds` rounds that finish a substep.
    pub fn within(self, most_rounds: u32) -> Self {
        Self { tails: self.tails.min((most_rounds / self.tail_rounds).max(1)), ..self }
    }

    /// Workgroups for this number of spheres.
    pub fn groups(&self, spheres: u32) -> u32 {
        let wanted = spheres.div_ceil(GROUP * self.spheres).max(self.enough);
        spheres.div_ceil(GROUP).min(wanted).clamp(1, MOST_GROUPS)
    }

    /// Adds invocations after a driver cut the loops of some. Returns false at the limit.
    pub fn spread(&mut self) -> bool {
        let before = *self;
        self.spheres = (self.spheres / 8).max(1);
        self.enough = self.enough.saturating_mul(8).min(MOST_GROUPS);
        self.tail_rounds = (self.tail_rounds / 4).max(1);
        self.tails = (4 * self.tails).min(MOST_TAILS);
        self.grown(&before)
    }

    // The next smaller budget to try, where `least` is the initial one. Half of the batches, because these double where they do not
    // suffice: so a premature try costs one repeated step.
    fn lower(&self, least: Self) -> Self {
        let Self { batches, patience, walks, pushes, .. } = *self;
        Self { batches: batches / 2, patience, lowered: true, walks, pushes, ..least }
    }

    /// Adds batches of iterations after `tried` batches did not suffice. Returns false at the limit.
    pub fn more_batches(&mut self, tried: u32) -> bool {
        let before = *self;
        self.batches = (2 * tried).clamp(1, ITERATION_BATCHES).max(self.batches);
        self.grown(&before)
    }

    /// Sets the passes of pushes after a step that needed so many.
    pub fn pushed(&mut self, needed: u32) {
        self.pushes = (needed + needed / 2).clamp(LEAST_PUSHES, PUSH_PASSES);
    }

    /// Adds passes of pushes after `tried` did not suffice. Returns false at the limit.
    pub fn more_pushes(&mut self, tried: u32) -> bool {
        self.pushes = (4 * tried).min(PUSH_PASSES).max(self.pushes);
        self.pushes > tried
    }

    /// Adds rounds, up to `most_rounds`, after some were left over. Returns false at the limit.
    pub fn go_on(&mut self, most_rounds: u32) -> bool {
        let before = *self;
        let most = (most_rounds / self.tail_rounds).min(MOST_TAILS);
        self.tails = (4 * self.tails).min(most).max(self.tails);
        self.grown(&before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_until_there_are_no_more() {
        let calm = DispatchBudget {
            enough: 1,
            spheres: 1,
            tails: 1,
            tail_rounds: 1,
            batches: 0,
            pushes: LEAST_PUSHES,
            calm: 0,
            patience: PATIENCE.0,
            lowered: false,
            walks: Walks::FIRST,
        };
        let mut dispatch_budget = calm;
        for batches in [1, 2, ITERATION_BATCHES] {
            assert!(dispatch_budget.more_batches(dispatch_budget.batches));
            assert_eq!(dispatch_budget.batches, batches);
        }
        assert!(!dispatch_budget.more_batches(ITERATION_BATCHES));
        // After calm steps they become fewer one after the other, and one growth undoes a premature try.
        for batches in [2, 1, 0] {
            let before = dispatch_budget.batches;
            dispatch_budget = dispatch_budget.lower(calm);
            assert_eq!(dispatch_budget.batches, batches);
            let mut grown = dispatch_budget;
            assert!(grown.more_batches(batches));
            assert_eq!((grown.batches, grown.patience), (before, 2 * PATIENCE.0));
        }
        // The step in flight has the budget from before the smaller one was tried.
        let mut lowered = calm;
        assert!(lowered.more_batches(2));
        assert_eq!(lowered.batches, ITERATION_BATCHES);
    }

    #[test]
    fn walks_are_left_out_after_quiet_steps_and_come_back_for_longer() {
        let mut walks = Walks::FIRST;
        let quiet_steps = |walks: &mut Walks| (1..).find(|_| !walks.goes_on(false)).unwrap();
        assert_eq!(quiet_steps(&mut walks), WALKS_PATIENCE.0 + 1);
        assert!(walks.come_back() && walks.encoded);
        assert!(!walks.come_back(), "they are there");
        for _ in 0..WALKS_PATIENCE.0 {
            assert!(walks.goes_on(false));
        }
        // A fast sphere begins the count anew.
        assert!(walks.goes_on(true));
        assert_eq!(quiet_steps(&mut walks), 2 * WALKS_PATIENCE.0 + 1);
        for _ in 0..20 {
            walks.encoded = false;
            walks.come_back();
        }
        assert_eq!(walks.patience, WALKS_PATIENCE.1);
    }
}
