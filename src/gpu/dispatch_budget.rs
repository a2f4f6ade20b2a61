//! How the work is spread over workgroups, dispatches and rounds. None of it changes a result.

use super::{Context, layout::GROUP};
use crate::state::constants::ITERATION_BATCHES;

/// Most workgroups of a dispatch: threads stride over what is beyond, and every device allows as many.
const MOST_GROUPS: u32 = 32_768;

/// Enough workgroups for a software adapter: each costs as much there as the work on a hundred spheres.
const ENOUGH_SOFTWARE_GROUPS: u32 = 16;

/// Most dispatches that finish the rounds of a substep.
const MOST_TAILS: u32 = 256;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchBudget {
    /// Workgroups that are enough, whatever the number of spheres.
    enough: u32,
    /// Spheres of one invocation at most, where there are more workgroups than enough.
    spheres: u32,
    /// Dispatches that finish the rounds of a substep.
    pub tails: u32,
    /// Rounds of each.
    pub tail_rounds: u32,
    /// How often contacts that rest are solved after the rounds.
    pub batches: u32,
    /// Steps in a row that this was enough for.
    calm: u32,
    /// So many of them, and less is tried again.
    patience: u32,
    /// Less was tried again.
    lowered: bool,
}

/// Steps until less is tried at first, and at most: each time that it was too soon a step is done again.
const PATIENCE: (u32, u32) = (2, 128);

impl DispatchBudget {
    /// What suits a device at first.
    pub fn new(context: &Context) -> Self {
        let (calm, patience, lowered) = (0, PATIENCE.0, false);
        if context.is_hardware() {
            // Long dispatches are killed by the watchdogs of some drivers; one with nothing left to do ends at once.
            Self {
                enough: MOST_GROUPS,
                spheres: 1,
                tails: 4,
                tail_rounds: 64,
                batches: 1,
                calm,
                patience,
                lowered,
            }
        } else {
            // See `check_loops` of the shaders: an invocation has 65,535 turns of its loops.
            Self {
                enough: ENOUGH_SOFTWARE_GROUPS,
                spheres: 64,
                tails: 2,
                tail_rounds: 8,
                batches: 1,
                calm,
                patience,
                lowered,
            }
        }
    }

    /// A step that nothing cut short has ended. After some of them goes back to what suits the device at first: one
    /// crowded step must not make a thousand quiet ones slow.
    pub fn ended_well(&mut self, context: &Context) {
        self.calm += 1;
        if self.calm > self.patience {
            *self = Self { patience: self.patience, lowered: true, ..Self::new(context) };
        }
    }

    // Whether it is more than before; then less is not tried again so soon.
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

    /// The same with no more than so many rounds that finish a substep.
    pub fn within(self, most_rounds: u32) -> Self {
        Self { tails: self.tails.min((most_rounds / self.tail_rounds).max(1)), ..self }
    }

    /// Workgroups for so many spheres.
    pub fn groups(&self, spheres: u32) -> u32 {
        let wanted = spheres.div_ceil(GROUP * self.spheres).max(self.enough);
        spheres.div_ceil(GROUP).min(wanted).clamp(1, MOST_GROUPS)
    }

    /// More invocations, after a driver cut the loops of some. False if there are no more.
    pub fn spread(&mut self) -> bool {
        let before = *self;
        self.spheres = (self.spheres / 8).max(1);
        self.enough = self.enough.saturating_mul(8).min(MOST_GROUPS);
        self.tail_rounds = (self.tail_rounds / 4).max(1);
        self.tails = (4 * self.tails).min(MOST_TAILS);
        self.grown(&before)
    }

    /// More turns of solving contacts than so many, which were not enough. False if there are no more.
    pub fn more_batches(&mut self, tried: u32) -> bool {
        let before = *self;
        self.batches = (2 * tried).min(ITERATION_BATCHES).max(self.batches);
        self.grown(&before)
    }

    /// More rounds, after some were left, but at most so many. False if there are no more.
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
    fn turns_grow_until_there_are_no_more() {
        let calm = DispatchBudget {
            enough: 1,
            spheres: 1,
            tails: 1,
            tail_rounds: 1,
            batches: 1,
            calm: 0,
            patience: PATIENCE.0,
            lowered: false,
        };
        let mut dispatch_budget = calm;
        for batches in [2, ITERATION_BATCHES] {
            assert!(dispatch_budget.more_batches(dispatch_budget.batches));
            assert_eq!(dispatch_budget.batches, batches);
        }
        assert!(!dispatch_budget.more_batches(ITERATION_BATCHES));
        // The step was under way with more than what is tried again since.
        let mut lowered = calm;
        assert!(lowered.more_batches(2));
        assert_eq!(lowered.batches, ITERATION_BATCHES);
    }
}
