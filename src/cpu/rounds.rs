//! Rounds: each round selects impacts, applies their impulses and sweeps the affected spheres again, until no impact is
//! left in the substep.

use crate::state::constants::{CROWD, CROWDED_ROUNDS, LONG_ROUNDS, STUCK_ROUNDS};
use glam::Vec4;

use crate::{
    Error, Impact,
    cpu::{
        bits::Bits,
        collide::{self, CollideOutput, Counts, Push, Recorder, Undo},
        core::Core,
        event::{Event, View},
        event_driven::EventDriven,
        fast::{CALM_SUBSTEPS, Lines, Walk},
        parallel::{Disjoint, Outputs, fill, for_ranges},
        select::{self, Crowded, Propagation, SharedBound},
        sweep::{self, PairImpact},
        threats::{Threat, Threats},
    },
    state::{frame::Frame, grid::CODES},
    step::{checkpoint::CpuState, domain::Domain, plan::Work},
};

/// Spheres per task of a round where a sphere takes nanoseconds.
const ROUND_TASK: usize = 256;

/// Spheres per task of a round where a sphere takes microseconds.
fn impact_task(count: usize) -> usize {
    (count / 1024).clamp(16, ROUND_TASK)
}

/// Spheres per task of the first sweep.
const SEEK_TASK: usize = 1024;

/// Capsules traversed by one task.
const WALK_TASK: usize = 16;

/// Number of buffers of traversals that are kept.
const FEW_WALKS: usize = 64;

/// Length of the longest chain of impacts above which the next substep too applies all its impacts one by one.
const LONG_CHAIN: u32 = LONG_ROUNDS;

/// Number of substeps that apply all impacts one by one after one that was repeated, and after slow rounds. Either costs more than
/// impacts one by one.
const HELD_SUBSTEPS: u32 = 16;

/// After so many rounds, the impacts that are left are applied one by one if a few impacts hold up many others.
pub const EARLY_ROUNDS: u32 = 4;

/// Impacts are held up if more spheres than this are pending, and more than `HELD_UP_BY_ONE` for each impact of the last round. In gases
/// of packing fractions up to .45 at most 4 are pending for each.
const HELD_UP: usize = 256;
const HELD_UP_BY_ONE: usize = 6;

/// With more than one fast sphere for so many pending ones, all impacts are applied one by one: fast spheres have many candidates, and
/// the causality check visits the candidates of candidates.
const PENDING_OF_FAST: usize = 4;

/// Number of substeps after a repetition that did not help in which impacts out of order cause no other one.
const SPARED_SUBSTEPS: u32 = 64;

/// With up to so many impacts, a substep is repeated because of one out of order.
const FEW_IMPACTS: u64 = 20_000;

/// With up to so many pending spheres, applying their impacts one by one is faster than halving the substep.
const FEW_PENDING: usize = 4096;

/// Rounds granted to a substep even if the step has used up its work limit.
const LEAST_ROUNDS: u32 = 16;

/// Cost of a substep besides its rounds, in units of a round.
const OUTSET: u64 = 8;

/// Limits on a substep.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Whether the substep may be abandoned and halved.
    pub may_split: bool,
    /// Remaining work of the step.
    pub work: Work,
    /// Whether all impacts are applied one by one, from the first on.
    pub is_event_driven: bool,
}

/// Reason why the rounds of a substep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No impact is left.
    Ended,
    /// Shorter substeps would be faster.
    Crowded,
    /// Fast spheres have so many candidates that shorter paths, or lists for longer paths, would be faster.
    Outrun,
    /// Impacts follow from each other in long chains, or fast spheres have too many candidates: the impacts are faster one by one.
    Long,
    /// Impacts are left that never end, or that exceed the work limit of the step.
    Stuck,
}

/// Buffers of the rounds.
#[derive(Default)]
pub struct Rounds {
    pub events: Vec<Event>,
    pub pending: Bits,
    pub pending_list: Vec<u32>,
    mutual: Vec<u32>,
    pub selected: Vec<u32>,
    near: Vec<u32>,
    pub threats: Threats,
    /// Effects of the impacts of neighbours, for the spheres in `widened`.
    others: Vec<SharedBound>,
    widened: Bits,
    widened_list: Vec<u32>,
    seen: Outputs<Vec<PairImpact>>,
    /// Impacts of other spheres with touched ones.
    found: Outputs<Vec<(u32, Event)>>,
    crowded: Outputs<Vec<Crowded>>,
    all_crowded: Vec<Crowded>,
    picked: Outputs<Vec<u32>>,
    outputs: Outputs<CollideOutput>,
    touched: Bits,
    pub touched_list: Vec<u32>,
    affected: Bits,
    affected_list: Vec<u32>,
    pub first_touch: Bits,
    pub undo: Vec<Undo>,
    pub counts: Counts,
    pub impacts: Vec<Impact>,
    pub pushes: Vec<Push>,
    walks: Outputs<Walk>,
    /// Number of substeps since most of `walks` was needed.
    calm: u32,
    pub fast: Vec<u32>,
    /// Spheres stopped in this substep, with the motion that they resume afterwards.
    pub frozen: Vec<(u32, Vec4)>,
    pub to_freeze: Vec<u32>,
    pub event_driven: EventDriven,
    /// Whether the rounds of the substep have left impacts that were then applied one by one, and how many of these were late.
    pub has_tail: bool,
    pub late_in_tail: u64,
    /// Substeps that still apply their impacts one by one.
    held: u32,
    /// Substeps that are not repeated because of impacts out of order.
    spared: u32,
    pub round: u32,
    /// Time of the earliest pending impact at the last check for progress.
    reached: f32,
    /// Work of the substep so far.
    pub work: Work,
}

/// Appends the members of `list` that `pick` accepts to `chosen`, in their order.
fn gather(
    (picked, task): (&mut Outputs<Vec<u32>>, usize),
    list: &[u32],
    chosen: &mut Vec<u32>,
    pick: impl Fn(usize) -> bool + Sync,
) {
    picked.run_evenly(list.len(), task, |range, picked| {
        picked.clear();
        picked.extend(list[range].iter().filter(|&&i| pick(i as usize)));
    });
    picked.iter().for_each(|picked| chosen.extend_from_slice(picked));
}

// Whether no contact rests and no sphere is fixed.
fn are_all_free(core: &Core) -> bool {
    let statistics = &core.domain.statistics;
    statistics.movable == statistics.count && !core.domain.world.rests
}

// Notes whether a sphere has an impact.
#[inline]
fn mark(pending: &Bits, i: usize, event: Event) {
    if event.is_some() { pending.insert(i) } else { pending.remove(i) }
}

impl Rounds {
    pub fn new(spheres: usize) -> Self {
        let mut rounds = Self {
            events: vec![Event::NONE; spheres],
            others: (0..spheres).map(|_| SharedBound::default()).collect(),
            ..Self::default()
        };
        let Self { pending, touched, affected, first_touch, widened, .. } = &mut rounds;
        [pending, touched, affected, first_touch, widened].into_iter().for_each(|bits| bits.reset(spheres));
        rounds
    }

    pub fn bytes(&self) -> usize {
        size_of::<Event>() * self.events.capacity()
            + size_of::<SharedBound>() * self.others.capacity()
            + 5 * self.pending.bytes()
            + 4 * (self.pending_list.capacity()
                + self.selected.capacity()
                + self.mutual.capacity()
                + self.touched_list.capacity()
                + self.widened_list.capacity())
            + 4 * (self.affected_list.capacity() + self.near.capacity() + self.fast.capacity())
            + size_of::<Undo>() * self.undo.capacity()
            + self.picked.all().iter().map(|v| 4 * v.capacity()).sum::<usize>()
            + self.outputs.all().iter().map(CollideOutput::bytes).sum::<usize>()
            + self.seen.all().iter().map(|v| size_of::<PairImpact>() * v.capacity()).sum::<usize>()
            + self.found.all().iter().map(|v| size_of::<(u32, Event)>() * v.capacity()).sum::<usize>()
            + self.threats.bytes()
            + self.walks.all().iter().map(Walk::bytes).sum::<usize>()
            + self.crowded.all().iter().map(|v| size_of::<Crowded>() * v.capacity()).sum::<usize>()
            + size_of::<Crowded>() * self.all_crowded.capacity()
            + self.event_driven.bytes()
    }

    pub fn begin(&mut self) {
        self.counts = Counts::default();
        self.impacts.clear();
        self.pushes.clear();
        self.undo.drain(..).for_each(|undo| self.first_touch.remove(undo.index as usize));
        (self.round, self.reached) = (0, 0.0);
        (self.has_tail, self.late_in_tail) = (false, 0);
        self.work = Work { rounds: OUTSET, impacts: 0 };
        self.event_driven.depth = 0;
    }
}

impl Rounds {
    /// Resets the clocks of a substep and finds the dynamic candidates of fast spheres.
    ///
    /// # Errors
    /// [`Error::NoProgress`] for a path that is too long to traverse.
    pub fn launch(&mut self, core: &mut Core, frame: Frame) -> Result<(), Error> {
        self.begin();
        core.launch(frame, &mut self.fast);
        let has_spare = self.walks.all().len() > FEW_WALKS + 4 * self.fast.len() / WALK_TASK;
        self.calm = if has_spare { self.calm + 1 } else { 0 };
        if self.calm == CALM_SUBSTEPS {
            (self.walks, self.calm) = (Outputs::default(), 0);
        }
        if self.fast.is_empty() { Ok(()) } else { self.walk_fast(core, frame) }
    }

    /// Sweeps all spheres for their earliest impacts.
    pub fn sweep(&mut self, core: &Core, frame: Frame) {
        let view = core.view(frame);
        let pending = &self.pending;
        let statistics = &core.domain.statistics;
        let has_fixed = statistics.movable < statistics.count;
        let is_free = are_all_free(core);
        self.seen.run_evenly(view.state.len(), SEEK_TASK, |range, seen| {
            seen.clear();
            if is_free {
                sweep::seek_freely(&view, range.clone(), seen);
            } else {
                sweep::seek(&view, range.clone(), has_fixed, pending);
            }
            sweep::seek_walls(&view, range, pending);
        });
        // Dynamic candidates are tested by the sweep of each of their spheres.
        let with_dynamic = core.dynamic_candidates.spheres().iter().map(|&i| i as usize);
        with_dynamic.filter(|&i| view.state.inverse_mass(i) != 0.0).for_each(|i| pending.insert(i));
        pending.list(&mut self.pending_list);
        fill(&mut self.events, Event::NONE);
        for impact in self.seen.iter().flatten() {
            for (i, event) in impact.events() {
                pending.insert(i);
                event.replace_later(view.state, i, &mut self.events[i]);
            }
        }
        let (events, list) = (Disjoint::new(&mut self.events), &self.pending_list);
        for_ranges(list.len(), ROUND_TASK, |range| {
            for &i in &list[range] {
                let event = sweep::sweep(&view, i as usize);
                if !event.is_some() {
                    pending.remove(i as usize);
                }
                // SAFETY: a set lists each member once.
                unsafe { events.set(i as usize, event) };
            }
        });
        pending.list(&mut self.pending_list);
    }

    /// Whether a substep that ended in this way must be repeated with all impacts one by one, if it began with rounds. Where many
    /// impacts are applied in rounds, this would take longer than a few impacts out of order are worth.
    pub fn must_repeat(&self, core: &Core, outcome: Outcome) -> bool {
        let most = FEW_IMPACTS.max(core.state.len() as u64 / 20);
        let are_few = self.counts.late > 0 && self.work.impacts <= most;
        // A slow impact stops spheres that a plane supports. In a cluster that falls on a floor this happened in tails, but not with all
        // impacts one by one.
        let has_failed = self.late_in_tail > 0 || (self.has_tail && !self.frozen.is_empty());
        let is_late = self.round > 0 && self.spared == 0 && (are_few || has_failed);
        match outcome {
            Outcome::Ended => is_late && !core.domain.world.rests,
            Outcome::Stuck => self.has_tail,
            Outcome::Crowded | Outcome::Outrun | Outcome::Long => false,
        }
    }

    /// The state of the rounds that later substeps depend on.
    pub fn state(&self, asleep: u64) -> CpuState {
        CpuState { one_by_one: [self.held, self.spared], depth: self.event_driven.depth, asleep }
    }

    /// Continues from the state of other rounds.
    pub fn resume(&mut self, state: CpuState) {
        [self.held, self.spared] = state.one_by_one;
        self.event_driven.depth = state.depth;
    }

    /// Decides after a repetition how the next substeps begin.
    pub fn conclude_repetition(&mut self) {
        // Overlaps that were there before stay out of order.
        let has_failed = self.counts.late > 0;
        (self.held, self.spared) = if has_failed { (0, SPARED_SUBSTEPS) } else { (HELD_SUBSTEPS, 0) };
    }

    /// Makes the next substeps apply all their impacts one by one.
    pub fn hold(&mut self) {
        self.held = HELD_SUBSTEPS;
    }

    /// Begins a substep. Returns whether its impacts are applied one by one from the start, because those of the last ones had to
    /// be.
    pub fn begins_one_by_one(&mut self) -> bool {
        let is_held = self.held > 0;
        (self.held, self.spared) = (self.held.saturating_sub(1), self.spared.saturating_sub(1));
        is_held || self.event_driven.depth > LONG_CHAIN
    }

    /// Begins another round, or returns the reason why the rounds end.
    pub fn begin_round(&mut self, core: &Core, patience: Patience) -> Option<Outcome> {
        self.pending.list(&mut self.pending_list);
        if self.pending_list.is_empty() {
            return Some(Outcome::Ended);
        }
        let rests = core.domain.world.rests;
        let few = (core.state.len() / 20).max(if rests { CROWD } else { FEW_PENDING });
        let are_many = self.pending_list.len() > few;
        let are_held_up = self.pending_list.len() > HELD_UP.max(HELD_UP_BY_ONE * self.selected.len());
        let is_long = self.round >= LONG_ROUNDS || (self.round >= EARLY_ROUNDS && are_held_up);
        let are_fast = self.round == 0 && {
            let fast = core.dynamic_candidates.fast_count() as usize;
            fast > HELD_UP && PENDING_OF_FAST * fast > self.pending_list.len()
        };
        if patience.is_event_driven || (!rests && (are_fast || (is_long && !are_many))) {
            return Some(Outcome::Long);
        }
        if patience.may_split && self.round >= CROWDED_ROUNDS && are_many {
            return Some(Outcome::Crowded);
        }
        if patience.may_split && core.dynamic_candidates.is_crowded_by(1) {
            return Some(if rests { Outcome::Outrun } else { Outcome::Long });
        }
        if self.round >= LEAST_ROUNDS && self.work.is_all(patience.work) {
            return Some(Outcome::Stuck);
        }
        if self.round.is_multiple_of(STUCK_ROUNDS) {
            let toi = |&i: &u32| self.events[i as usize].toi;
            let earliest = self.pending_list.iter().map(toi).fold(f32::INFINITY, f32::min);
            if self.round > 0 && earliest <= self.reached {
                return Some(Outcome::Stuck);
            }
            self.reached = earliest;
        }
        self.round += 1;
        None
    }

    /// Applies the selected impacts, stops spheres where necessary, and traverses the paths of spheres that have become
    /// fast.
    ///
    /// # Errors
    /// [`Error::NoProgress`] for a path that is too long to traverse.
    pub fn carry_out(&mut self, core: &mut Core, frame: Frame, recorder: Recorder) -> Result<(), Error> {
        self.collide(core, frame, recorder);
        for k in 0..self.to_freeze.len() {
            let i = self.to_freeze[k] as usize;
            self.freeze(core, frame, i, core.clock[i]);
        }
        self.walk_fast(core, frame)
    }

    pub fn select(&mut self, core: &Core, frame: Frame) {
        let view = core.view(frame);
        let events = &self.events;
        self.mutual.clear();
        gather((&mut self.picked, ROUND_TASK), &self.pending_list, &mut self.mutual, |i| {
            select::is_mutual(&view, events, i)
        });
        let threat = |&i: &u32| Threat::of(&view, events, &core.motion_margin, i as usize);
        self.threats.set(&view, self.pending_list.iter().filter_map(threat));
        self.propagate(&view);
        let mut selected = std::mem::take(&mut self.selected);
        selected.clear();
        let mut picked = std::mem::take(&mut self.picked);
        let propagation = self.propagation();
        gather((&mut picked, impact_task(self.mutual.len())), &self.mutual, &mut selected, |i| {
            select::select(&view, propagation, &self.threats, i)
        });
        (self.selected, self.picked) = (selected, picked);
        let events = &self.events;
        if self.selected.is_empty() {
            // Impossible while partners agree to the last bit. The globally earliest impact is always valid.
            let earliest = self.pending_list.iter().copied().min_by(|&a, &b| {
                let key = |i: u32| (events[i as usize].toi, core.state.id[i as usize]);
                key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
            });
            self.selected.extend(earliest);
        }
        self.work.rounds += 1;
        self.work.impacts += self.selected.len() as u64;
    }

    /// The events, and the bounds of the last selection.
    pub fn propagation(&self) -> Propagation<'_> {
        let Self { events, pending, others, widened, all_crowded, .. } = self;
        Propagation { events, pending, others, widened, crowded: all_crowded }
    }

    // Finds the bounds on the events of the spheres around pending impacts, and those of crowded spheres near mutual pairs.
    fn propagate(&mut self, view: &View) {
        let Self { events, pending_list, others, widened, widened_list, .. } = self;
        widened.list(widened_list);
        for &k in &*widened_list {
            widened.remove(k as usize);
            others[k as usize] = SharedBound::default();
        }
        let (others, widened) = (&*others, &*widened);
        for_ranges(pending_list.len(), impact_task(pending_list.len()), |range| {
            for &p in &pending_list[range] {
                select::propagate(view, events, p as usize, |k, velocity_bound| {
                    others[k].widen(velocity_bound);
                    widened.insert(k);
                });
            }
        });
        self.all_crowded.clear();
        if view.lists.longest() > select::CROWD {
            self.find_crowded(view);
        }
    }

    // Finds the bounds of crowded spheres near mutual pairs.
    fn find_crowded(&mut self, view: &View) {
        let Self { events, mutual, affected, near, .. } = self;
        {
            let affected = &*affected;
            for_ranges(mutual.len(), ROUND_TASK, |range| {
                for &i in &mutual[range] {
                    let event = events[i as usize];
                    view.for_candidates(i as usize, |k, _, _| affected.insert(k));
                    if event.wall().is_none() && view.state.inverse_mass(event.partner as usize) != 0.0 {
                        view.for_candidates(event.partner as usize, |k, _, _| affected.insert(k));
                    }
                }
            });
        }
        affected.list(near);
        affected.clear();
        let mut found = std::mem::take(&mut self.crowded);
        let (near, propagation) = (&self.near, self.propagation());
        found.run_evenly(near.len(), impact_task(near.len()), |range, crowded| {
            crowded.clear();
            crowded
                .extend(near[range].iter().filter_map(|&k| select::crowded(view, propagation, k as usize)));
        });
        found.iter().for_each(|crowded| self.all_crowded.extend_from_slice(crowded));
        self.crowded = found;
    }

    pub fn collide(&mut self, core: &mut Core, frame: Frame, recorder: Recorder) {
        let (view, outputs) = core.split_collide(frame);
        let (selected, events, first_touch) = (&self.selected, &self.events, &self.first_touch);
        self.outputs.run_evenly(selected.len(), impact_task(selected.len()), |range, output| {
            output.clear();
            for &i in &selected[range] {
                let i = i as usize;
                // SAFETY: the selected impacts share no sphere except fixed ones.
                unsafe { collide::collide(&view, &outputs, first_touch, recorder, i, events[i], output) };
            }
        });
        self.touched_list.clear();
        self.fast.clear();
        self.to_freeze.clear();
        for output in self.outputs.iter() {
            self.counts.add(&output.counts);
            self.impacts.extend_from_slice(&output.impacts);
            self.touched_list.extend_from_slice(&output.touched);
            self.fast.extend_from_slice(&output.fast);
            self.to_freeze.extend_from_slice(&output.frozen);
            self.undo.extend_from_slice(&output.undo);
            self.pushes.extend_from_slice(&output.pushes);
        }
    }

    /// Keeps the state of a sphere before its first impact of the substep.
    pub fn keep(&mut self, core: &Core, i: usize) {
        if !self.first_touch.contains(i) {
            self.first_touch.insert(i);
            self.undo.push(Undo {
                index: i as u32,
                place: core.state.place[i],
                motion: core.state.motion[i],
                spin: core.state.spin[i],
                motion_margin: core.motion_margin[i],
                support: core.support[i],
            });
        }
    }

    /// Stops sphere `i` at time `t`: others treat it as fixed from then to the end of the substep.
    pub fn freeze(&mut self, core: &mut Core, frame: Frame, i: usize, t: f32) {
        let state = &mut core.state;
        if state.inverse_mass(i) == 0.0 {
            return;
        }
        core.is_stopped = true;
        core.sleep.disturb(i, &core.lists);
        self.keep(core, i);
        let state = &mut core.state;
        let fallen = frame.gravity * (0.5 * t * t);
        let path = state.velocity(i) * (t - core.clock[i]) + fallen;
        state.place[i] += path.extend(0.0);
        let motion = state.motion[i] + (frame.gravity * t).extend(0.0);
        state.motion[i] = Vec4::ZERO;
        core.clock[i] = t;
        core.support[i] = 0;
        self.frozen.push((i as u32, motion));
    }

    /// Traverses the capsules of the spheres that have become fast.
    pub fn walk_fast(&mut self, core: &mut Core, frame: Frame) -> Result<(), Error> {
        core.dynamic_candidates.mark(&self.fast);
        let (view, fast) = (core.view(frame), &self.fast);
        self.walks.run(fast.len(), WALK_TASK, |range, walk| {
            walk.clear();
            fast[range].iter().for_each(|&i| walk.run(&view, &core.starts, core.reach, i as usize));
        });
        for walk in self.walks.iter() {
            if let Some(error) = walk.error() {
                return Err(error.clone());
            }
            let Core { domain: Domain { grid, .. }, state, clock, dynamic_candidates, .. } = core;
            dynamic_candidates.enter_walk(walk, Lines { grid, state, clock, frame });
        }
        Ok(())
    }

    /// Sweeps the spheres whose next event the last impacts have changed.
    pub fn resweep(&mut self, core: &Core, frame: Frame) {
        let view = core.view(frame);
        self.touched_list.iter().for_each(|&i| self.touched.insert(i as usize));
        if are_all_free(core) && !core.is_stopped {
            self.resweep_freely(&view);
        } else {
            self.resweep_around(&view);
        }
        self.touched.clear();
    }

    // `resweep` where no contact rests and no sphere is fixed or stopped: the sweep of a touched sphere finds also the impacts
    // of its neighbours with it.
    fn resweep_freely(&mut self, view: &View) {
        let Self { events, pending, touched, touched_list, affected, affected_list, found, .. } = self;
        {
            let (touched, affected, pending) = (&*touched, &*affected, &*pending);
            let all = Disjoint::new(events);
            found.run_evenly(touched_list.len(), impact_task(touched_list.len()), |range, found| {
                found.clear();
                for &i in &touched_list[range] {
                    let i = i as usize;
                    let event = sweep::sweep_freely(view, i, |k, event| {
                        if touched.contains(k) {
                            return;
                        }
                        // SAFETY: only the events of touched spheres are written here.
                        let is_stale = pending.contains(k) && unsafe { all.get(k) }.partner == i as u32;
                        match event {
                            _ if is_stale => affected.insert(k),
                            Some(event) if event.link < CODES => found.push((k as u32, event)),
                            // The link of a dynamic candidate is known from its own side only.
                            Some(_) => affected.insert(k),
                            None => {}
                        }
                    });
                    mark(pending, i, event);
                    // SAFETY: no sphere is touched twice in a round, because the selected impacts are independent.
                    unsafe { all.set(i, event) };
                }
            });
        }
        for &(k, event) in found.iter().flatten() {
            event.replace_later(view.state, k as usize, &mut events[k as usize]);
            pending.insert(k as usize);
        }
        affected.list(affected_list);
        affected.clear();
        let all = Disjoint::new(events);
        for_ranges(affected_list.len(), impact_task(affected_list.len()), |range| {
            for &i in &affected_list[range] {
                let event = sweep::sweep(view, i as usize);
                mark(pending, i as usize, event);
                // SAFETY: a set lists each member once.
                unsafe { all.set(i as usize, event) };
            }
        });
    }

    fn resweep_around(&mut self, view: &View) {
        let Self { events, pending, touched, touched_list, affected, affected_list, .. } = self;
        {
            let affected = &*affected;
            for_ranges(touched_list.len(), ROUND_TASK, |range| {
                for &i in &touched_list[range] {
                    affected.insert(i as usize);
                    view.for_candidates(i as usize, |k, _, _| affected.insert(k));
                }
            });
        }
        affected.list(affected_list);
        affected.clear();
        {
            let (touched, pending) = (&*touched, &*pending);
            let events = Disjoint::new(events);
            for_ranges(affected_list.len(), impact_task(affected_list.len()), |range| {
                for &i in &affected_list[range] {
                    let i = i as usize;
                    // SAFETY: a set lists each member once.
                    let mut event = unsafe { events.get(i) };
                    let stale =
                        event.is_some() && event.wall().is_none() && touched.contains(event.partner as usize);
                    if touched.contains(i) || stale {
                        event = sweep::sweep(view, i);
                    } else if view.state.inverse_mass(i) != 0.0 {
                        view.for_candidates(i, |k, link, shift| {
                            if touched.contains(k) {
                                sweep::consider(view, i, k, link, shift, &mut event);
                            }
                        });
                    }
                    mark(pending, i, event);
                    unsafe { events.set(i, event) };
                }
            });
        }
    }

    /// The last resort: stops the spheres of every pending impact at its time of impact, and then the spheres that
    /// would run into them.
    pub fn stop_pending(&mut self, core: &mut Core, frame: Frame) {
        loop {
            self.pending.list(&mut self.pending_list);
            if self.pending_list.is_empty() {
                return;
            }
            let events = &self.events;
            let agrees = |&&i: &&u32| {
                let event = events[i as usize];
                let partner = event.partner as usize;
                event.wall().is_some()
                    || core.state.inverse_mass(partner) == 0.0
                    || events[partner].partner == i
            };
            let due = |&i: &u32| (i, events[i as usize].toi);
            let mut stopping: Vec<_> = self.pending_list.iter().filter(agrees).map(due).collect();
            if stopping.is_empty() {
                stopping.extend(self.pending_list.iter().map(due));
            }
            self.touched_list.clear();
            for (i, toi) in stopping {
                self.touched_list.push(i);
                self.freeze(core, frame, i as usize, toi);
            }
            self.resweep(core, frame);
        }
    }

    /// Restores the motion of stopped spheres; returns their number.
    pub fn thaw(&mut self, core: &mut Core) -> u64 {
        let count = self.frozen.len() as u64;
        for (i, motion) in self.frozen.drain(..) {
            core.state.motion[i as usize] = motion;
        }
        count
    }

    /// Undoes all impacts of the substep.
    pub fn undo(&mut self, core: &mut Core) {
        self.frozen.clear();
        for undo in &self.undo {
            let i = undo.index as usize;
            core.state.place[i] = undo.place;
            core.state.motion[i] = undo.motion;
            core.state.spin[i] = undo.spin;
            core.motion_margin[i] = undo.motion_margin;
            core.support[i] = undo.support;
        }
        self.pending.list(&mut self.pending_list);
        self.pending_list.iter().for_each(|&i| self.pending.remove(i as usize));
    }
}
