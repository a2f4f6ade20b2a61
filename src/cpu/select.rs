//! Stage `select`: selects the impacts that may be applied in this round. A selected impact is the earliest of both
//! partners, and no third sphere can reach one of them sooner.
//!
//! The first condition is not enough for the impact of a pair (i, j): a third sphere k may be struck sooner
//! and then reach i first. For every sphere the causality test knows the next impact and a bound on the
//! velocity change in this impact. After the impact the sphere may be anywhere in a cone around its path. For
//! the pair (i, j) the test examines every sphere k near i or j, and every sphere m near k that could touch k
//! and turn k towards the pair. One bound combines all earlier events of m. Each pending impact hands its bound on to the
//! neighbours of its spheres, so that spheres far from any impact need no work. The globally earliest impact always
//! passes the test.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use glam::Vec3;

use super::{
    bits::Bits,
    event::{Event, View},
    threats::Threats,
};

/// From `time` on, the velocity of a sphere may differ from its present velocity by up to `delta_v_bound`.
#[derive(Clone, Copy)]
pub struct VelocityBound {
    pub time: f32,
    pub delta_v_bound: f32,
}

impl VelocityBound {
    pub const NONE: Self = Self { time: f32::INFINITY, delta_v_bound: 0.0 };

    /// Bound from a sphere's next impact, if it happens before `limit`.
    fn of(event: &Event, limit: f32) -> Self {
        if event.toi < limit {
            Self { time: event.toi, delta_v_bound: event.delta_v_bound }
        } else {
            Self::NONE
        }
    }
}

/// Whether the impact of sphere `i` is the earliest of both partners. A pair is represented by its smaller index; an impact
/// with a wall or a fixed sphere, by the moving sphere.
pub fn is_mutual(view: &View, events: &[Event], i: usize) -> bool {
    let event = events[i];
    if !event.is_some() {
        return false;
    }
    let j = event.partner as usize;
    event.wall().is_some() || view.state.inverse_mass(j) == 0.0 || (i < j && events[j].partner == i as u32)
}

/// Bounds on events of a sphere in the substep.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// By its own next impact or by a neighbour.
    pub any: VelocityBound,
    /// By a neighbour, before or after its own impact.
    pub others: VelocityBound,
}

/// The effects on a sphere of the next impacts of its neighbours. Threads widen the bound in any order.
pub struct SharedBound {
    // Bits of floats that are not negative, which have the order of the floats.
    time: AtomicU32,
    delta_v_bound: AtomicU32,
}

impl Default for SharedBound {
    fn default() -> Self {
        Self { time: AtomicU32::new(f32::INFINITY.to_bits()), delta_v_bound: AtomicU32::new(0) }
    }
}

impl SharedBound {
    /// Widens the bound by another event.
    pub fn widen(&self, VelocityBound { time, delta_v_bound }: VelocityBound) {
        // The sum turns -0 into 0.
        self.time.fetch_min((time + 0.0).to_bits(), Relaxed);
        self.delta_v_bound.fetch_max((delta_v_bound + 0.0).to_bits(), Relaxed);
    }

    fn get(&self) -> VelocityBound {
        let [time, delta_v_bound] =
            [&self.time, &self.delta_v_bound].map(|bits| f32::from_bits(bits.load(Relaxed)));
        VelocityBound { time, delta_v_bound }
    }
}

/// First propagation: calls `widen` with the effects of the next impact of sphere `p` on `p` itself and on its neighbours.
pub fn propagate(view: &View, events: &[Event], p: usize, widen: impl Fn(usize, VelocityBound)) {
    let (state, limit) = (view.state, view.frame.h);
    let own = VelocityBound::of(&events[p], limit);
    view.for_candidates(p, |q, _, shift| {
        // The impact of the two with each other is `own`; they meet again only if a third sphere turns one back.
        if is_mutual_pair(events, p, q) && own.delta_v_bound > 0.0 {
            return;
        }
        let theirs = VelocityBound::of(&events[q], limit);
        // A neighbour with an impact propagates it itself. An impact on undisturbed paths is a separate event.
        let is_passive = theirs.time >= limit;
        let returns = !is_passive || own.delta_v_bound > 0.0;
        let Some(time) = touch_before(view, p, q, shift, [own, theirs], limit) else { return };
        let (inverse_p, inverse_q) = (state.inverse_mass(p), state.inverse_mass(q));
        let speed =
            (state.velocity(q) - state.velocity(p)).length() + own.delta_v_bound + theirs.delta_v_bound;
        let change = view.world.delta_v_bound * speed;
        if returns {
            let delta_v_bound = own.delta_v_bound + change * inverse_p / (inverse_p + inverse_q);
            widen(p, VelocityBound { time, delta_v_bound });
        }
        if is_passive {
            widen(q, VelocityBound { time, delta_v_bound: change * inverse_q / (inverse_p + inverse_q) });
        }
    });
}

// Whether the next impact of each of two spheres is the one with the other.
#[inline]
fn is_mutual_pair(events: &[Event], p: usize, q: usize) -> bool {
    events[p].partner == q as u32 && events[q].partner == p as u32
}

/// Number of candidates above which a sphere is crowded. A large sphere among small ones has hundreds of candidates,
/// and each of these would examine all the others.
pub const CROWD: usize = 64;

/// A sphere with many candidates, and a bound on the effect of any of them on it in the substep.
#[derive(Clone, Copy)]
pub struct Crowded {
    pub sphere: u32,
    velocity_bound: VelocityBound,
}

/// The events, and the bounds from the earlier propagation steps.
#[derive(Clone, Copy)]
pub struct Propagation<'a> {
    pub events: &'a [Event],
    /// The spheres that have an impact.
    pub pending: &'a Bits,
    /// Effects of the impacts of neighbours, for the spheres in `widened`. The others have no such bounds.
    pub others: &'a [SharedBound],
    pub widened: &'a Bits,
    /// Bounds of crowded spheres, sorted by index.
    pub crowded: &'a [Crowded],
}

impl Propagation<'_> {
    /// Bounds on the events of a sphere in the substep, after the first propagation.
    #[inline]
    pub fn first(&self, k: usize, h: f32) -> Bounds {
        let others = if self.widened.contains(k) { self.others[k].get() } else { VelocityBound::NONE };
        let mut any = others;
        if self.pending.contains(k) {
            let own = VelocityBound::of(&self.events[k], h);
            any.time = own.time.min(others.time);
            any.delta_v_bound = own.delta_v_bound.max(others.delta_v_bound);
        }
        Bounds { any, others }
    }

    // Bound from the next impact of a sphere, if it happens before `limit`.
    #[inline]
    fn own(&self, k: usize, limit: f32) -> VelocityBound {
        if self.pending.contains(k) { VelocityBound::of(&self.events[k], limit) } else { VelocityBound::NONE }
    }

    // Whether a sphere has neither an impact nor a bound from its neighbours.
    #[inline]
    fn is_calm(&self, k: usize) -> bool {
        !self.pending.contains(k) && !self.widened.contains(k)
    }

    fn crowded(&self, k: usize) -> Option<VelocityBound> {
        let place = self.crowded.binary_search_by_key(&(k as u32), |crowded| crowded.sphere).ok()?;
        Some(self.crowded[place].velocity_bound)
    }
}

/// The bound for sphere `k`, if it is crowded.
pub fn crowded(view: &View, propagation: Propagation, k: usize) -> Option<Crowded> {
    if view.lists.of(k).len() <= CROWD || view.state.inverse_mass(k) == 0.0 {
        return None;
    }
    let (state, limit, events) = (view.state, view.frame.h, propagation.events);
    let own = VelocityBound::of(&events[k], limit);
    let mut velocity_bound = VelocityBound { time: own.time, delta_v_bound: own.delta_v_bound };
    view.for_candidates(k, |m, _, shift| {
        // `any` bounds the neighbour whether its own impact comes before or not.
        let theirs = propagation.first(m, limit).any;
        let mutual = is_mutual_pair(events, k, m);
        let touches = |own| touch(view, k, m, shift, own, theirs);
        let time = if mutual {
            touches(VelocityBound::NONE)
        } else {
            touches(own).min(touches(VelocityBound::NONE))
        };
        if time < limit || mutual {
            let (inverse_k, inverse_m) = (state.inverse_mass(k), state.inverse_mass(m));
            let speed =
                (state.velocity(m) - state.velocity(k)).length() + own.delta_v_bound + theirs.delta_v_bound;
            let delta_v_bound =
                own.delta_v_bound + view.world.delta_v_bound * speed * inverse_k / (inverse_k + inverse_m);
            velocity_bound.time = velocity_bound.time.min(time);
            velocity_bound.delta_v_bound = velocity_bound.delta_v_bound.max(delta_v_bound);
        }
    });
    Some(Crowded { sphere: k as u32, velocity_bound })
}

/// Whether no other sphere can precede the impact of sphere `i`.
///
/// `threats` are those of the round.
pub fn select(view: &View, propagation: Propagation, threats: &Threats, i: usize) -> bool {
    let event = propagation.events[i];
    if threats.any_strikes(view, i, event.toi) {
        return false;
    }
    let undisturbed = |i, j| undisturbed(view, propagation, i, j, event.toi);
    if event.wall().is_some() {
        return undisturbed(i, usize::MAX);
    }
    let j = event.partner as usize;
    undisturbed(i, j) && (view.state.inverse_mass(j) == 0.0 || undisturbed(j, i))
}

/// Whether only `partner` can reach `i` before `limit`, even after earlier impacts.
fn undisturbed(view: &View, propagation: Propagation, i: usize, partner: usize, limit: f32) -> bool {
    !view.any_candidate(i, |k, _, shift| {
        k != partner && view.state.inverse_mass(k) != 0.0 && reaches(view, propagation, i, k, shift, limit)
    })
}

/// Whether sphere `k` can touch `i` before `limit` while `i` stays on its present path: after an impact of `k`, or
/// after `k` touches another sphere.
fn reaches(view: &View, propagation: Propagation, i: usize, k: usize, shift: Vec3, limit: f32) -> bool {
    let own = propagation.own(k, limit);
    let touches = |velocity_bound| {
        touch_before(view, i, k, shift, [VelocityBound::NONE, velocity_bound], limit).is_some()
    };
    if own.delta_v_bound > 0.0 && touches(own) {
        return true;
    }
    if let Some(bound) = propagation.crowded(k) {
        // A margin, so that pairs within rounding of the limit are examined in detail.
        let speed = (view.state.velocity(i) - view.state.velocity(k)).length();
        let delta_v_bound = bound.delta_v_bound * 1.001 + 1e-5 * speed;
        if touch(view, i, k, shift, VelocityBound::NONE, VelocityBound { time: bound.time, delta_v_bound })
            >= limit
        {
            return false;
        }
    }
    any_velocity_bound(view, propagation, k, limit, touches)
}

/// Whether `is_wanted` accepts the bound of any touch with a neighbour that may turn sphere `k` before `limit`, after one of the two
/// was struck.
fn any_velocity_bound(
    view: &View,
    propagation: Propagation,
    k: usize,
    limit: f32,
    is_wanted: impl Fn(VelocityBound) -> bool,
) -> bool {
    let state = view.state;
    let own = propagation.own(k, limit);
    view.any_candidate(k, |m, _, shift| {
        if own.delta_v_bound == 0.0 && propagation.is_calm(m) {
            return false;
        }
        let mutual = own.delta_v_bound > 0.0 && is_mutual_pair(propagation.events, k, m);
        let first = propagation.first(m, view.frame.h);
        // The impact of the two with each other is `own`; they meet again only if a third sphere turns one back.
        let theirs = if mutual { first.others } else { first.any };
        // An impact on undisturbed paths is a separate event.
        if theirs.time >= limit && (mutual || own.delta_v_bound == 0.0) {
            return false;
        }
        let time = if mutual {
            Some(own.time.max(theirs.time)).filter(|&time| time < limit)
        } else {
            touch_before(view, k, m, shift, [own, theirs], limit)
        };
        let Some(time) = time else { return false };
        let (inverse_k, inverse_m) = (state.inverse_mass(k), state.inverse_mass(m));
        let speed =
            (state.velocity(m) - state.velocity(k)).length() + own.delta_v_bound + theirs.delta_v_bound;
        let delta_v_bound =
            own.delta_v_bound + view.world.delta_v_bound * speed * inverse_k / (inverse_k + inverse_m);
        is_wanted(VelocityBound { time, delta_v_bound })
    })
}

/// Earliest time at which two disturbed spheres can touch, if it is before `limit`.
fn touch_before(
    view: &View,
    i: usize,
    k: usize,
    shift: Vec3,
    [a, b]: [VelocityBound; 2],
    limit: f32,
) -> Option<f32> {
    let cones = Cones::new(view, i, k, shift, a, b);
    if cones.stay_apart(limit) {
        return None;
    }
    Some(cones.touch()).filter(|&time| time < limit)
}

/// Earliest time at which two disturbed spheres can touch: the gap of their paths against the sum of their cones.
fn touch(view: &View, i: usize, k: usize, shift: Vec3, a: VelocityBound, b: VelocityBound) -> f32 {
    Cones::new(view, i, k, shift, a, b).touch()
}

/// The cones around the paths of two disturbed spheres.
struct Cones {
    /// The later of the clocks and the first disturbance.
    t: f32,
    /// Centre of the first sphere relative to the other one at that time, and its velocity.
    d: Vec3,
    w: Vec3,
    /// Distance at which the cones touch at that time, and the rate at which it grows.
    reach: f32,
    delta_v_bound: f32,
}

impl Cones {
    #[inline]
    fn new(view: &View, i: usize, k: usize, shift: Vec3, a: VelocityBound, b: VelocityBound) -> Self {
        let state = view.state;
        let restless = a.time.min(b.time);
        let delta_v_bound = a.delta_v_bound + b.delta_v_bound;
        let t = restless.max(view.clock[i]).max(view.clock[k]);
        let d = (view.offset_at(i, t) - view.offset_at(k, t)) - shift;
        let w = state.velocity(i) - state.velocity(k);
        let reach = state.radius(i) + state.radius(k) + delta_v_bound * (t - restless);
        Self { t, d, w, reach, delta_v_bound }
    }

    /// Whether [`touch`](Self::touch) surely returns no time before `limit`: at the sum of all speeds the gap does not close by
    /// then. The margins are far above the rounding of the root; nearly all pairs end here.
    #[inline]
    fn stay_apart(&self, limit: f32) -> bool {
        let speed = self.w.length() + self.delta_v_bound;
        let far = self.reach + 1.05 * speed * (limit - self.t).max(0.0);
        self.d.length_squared() > far * far * (1.0 + 2e-5)
    }

    fn touch(&self) -> f32 {
        let Self { t, d, w, reach, delta_v_bound } = *self;
        // |d + w s| = reach + delta_v_bound s: the first root, as in the sweep.
        let b = d.dot(w) - reach * delta_v_bound;
        let a = w.length_squared() - delta_v_bound * delta_v_bound;
        let distance = d.length();
        let c = (distance - reach) * (distance + reach);
        if c <= 0.0 {
            return t;
        }
        let q = b * b - a * c;
        if q < 0.0 || (b >= 0.0 && a >= 0.0) {
            return f32::INFINITY;
        }
        // Slightly early, because the discriminant cancels here and an early time only costs a round.
        let s = c / (q.sqrt() - b);
        if s >= 0.0 { t + 0.999 * s } else { f32::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        cpu::{
            Stepper,
            collide::Recorder,
            core::Core,
            rounds::{Patience, Rounds},
            sweep,
        },
        scene::{Fill, Scene},
        state::{columns::NEVER, frame::Frame},
        step::plan::Work,
    };

    #[test]
    fn cones_that_stay_apart_do_not_touch() {
        let mut rng = Pcg64::seed_from_u64(6);
        let (mut apart, mut without_touch) = (0, 0);
        for _ in 0..400_000 {
            let mut draw = || 2.0 * rng.random::<f32>() - 1.0;
            let mut vector = || Vec3::new(draw(), draw(), draw());
            let (direction, mut w) = (vector().normalize_or_zero(), vector());
            // Gaps from rounding errors to a radius, and many pairs head-on.
            let gap = 10f32.powf(-8.0 * draw().abs());
            if draw() > 0.0 {
                w = -direction * draw().abs();
            }
            let reach = 1.0 + draw().abs();
            let cones = Cones {
                t: draw().abs(),
                d: direction * (reach + gap),
                w,
                reach,
                delta_v_bound: draw().max(0.0),
            };
            let nearly = gap / (cones.w.length() + cones.delta_v_bound);
            let limit = cones.t + nearly * (1.0 + 0.2 * draw());
            let touches = cones.touch() < limit;
            assert!(!(touches && cones.stay_apart(limit)), "{:?} {w:?} {reach} {limit}", cones.d);
            apart += u32::from(cones.stay_apart(limit));
            without_touch += u32::from(!touches);
        }
        assert!(apart > without_touch / 8 && apart > 10_000, "{apart} of {without_touch}");
    }

    // The bounds of sphere `k` by a test of all its candidates.
    fn first_of(view: &View, events: &[Event], k: usize) -> Bounds {
        let (state, limit) = (view.state, view.frame.h);
        let own = VelocityBound::of(&events[k], limit);
        let mut others = VelocityBound::NONE;
        view.for_candidates(k, |m, _, shift| {
            let theirs = VelocityBound::of(&events[m], limit);
            let is_own = is_mutual_pair(events, k, m) && own.delta_v_bound > 0.0;
            if is_own || (theirs.time >= limit && own.delta_v_bound == 0.0) {
                return;
            }
            let time = touch(view, k, m, shift, own, theirs);
            if time < limit {
                let speed = (state.velocity(m) - state.velocity(k)).length()
                    + own.delta_v_bound
                    + theirs.delta_v_bound;
                let share = view.world.delta_v_bound * speed * state.inverse_mass(k)
                    / (state.inverse_mass(k) + state.inverse_mass(m));
                others.time = others.time.min(time);
                others.delta_v_bound = others.delta_v_bound.max(own.delta_v_bound + share);
            }
        });
        let any = VelocityBound {
            time: own.time.min(others.time),
            delta_v_bound: own.delta_v_bound.max(others.delta_v_bound),
        };
        Bounds { any, others }
    }

    fn check_events(core: &Core, rounds: &Rounds, frame: Frame) {
        let view = core.view(frame);
        for i in 0..core.state.len() {
            let event = sweep::sweep(&view, i);
            assert_eq!(rounds.events[i], event, "sphere {i}, round {}", rounds.round);
            assert_eq!(rounds.pending.contains(i), event.is_some(), "sphere {i}, round {}", rounds.round);
        }
    }

    // A dense gas of two sizes with a fast sphere, in which no contact rests.
    #[test]
    fn events_and_bounds_of_a_gas_are_those_of_each_sphere() {
        let fill =
            Fill::random(3000).volume_fraction(0.35).diameters([(1.0, 0.7), (1.4, 0.3)]).temperature(2.0);
        let mut system = Scene::new(0.04).seed(5).periodic().fill(fill).build().unwrap();
        system.spheres[7].velocity.x = 80.0;
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        let (mut widened, mut rounds_of_all, mut fast) = (0, 0, 0);
        for k in 0..10 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
            let mut copy = Stepper::new(&stepper_system(&system, &stepper), |_| NEVER, 0.0).unwrap();
            let core = &mut copy.engine.core;
            let frame = Frame {
                h: 0.5 * core.domain.dt as f32,
                gravity: Vec3::ZERO,
                drift: Vec3::ZERO,
                drifted: Vec3::ZERO,
            };
            // Without a margin, all spheres would be fast.
            core.neighbors(core.domain.grid.margin_limit.min(0.1), 0.0);
            let mut rounds = Rounds::new(core.state.len());
            rounds.launch(core, frame).unwrap();
            rounds.sweep(core, frame);
            check_events(core, &rounds, frame);
            let patience =
                Patience { may_split: false, work: Work::most(core.state.len()), is_event_driven: false };
            let units = core.domain.units;
            while rounds.begin_round(core, patience).is_none() {
                rounds.select(core, frame);
                let view = core.view(frame);
                for i in 0..core.state.len() {
                    let (found, expected) =
                        (rounds.propagation().first(i, frame.h), first_of(&view, &rounds.events, i));
                    let bits = |bounds: Bounds| {
                        [bounds.any, bounds.others]
                            .map(|bound| [bound.time.to_bits(), bound.delta_v_bound.to_bits()])
                    };
                    assert_eq!(bits(found), bits(expected), "sphere {i}, round {}", rounds.round);
                    widened += u32::from(expected.others.time < frame.h);
                }
                let recorder = Recorder { units: &units, start: 0.0, on: false };
                rounds.carry_out(core, frame, recorder).unwrap();
                rounds.resweep(core, frame);
                check_events(core, &rounds, frame);
                rounds_of_all += 1;
            }
            fast += core.dynamic_candidates.fast_count();
        }
        let some_are_fast = (3..6000).contains(&fast);
        assert!(widened > 500 && rounds_of_all > 30 && some_are_fast, "{widened} {rounds_of_all} {fast}");
    }

    // The system with the spheres where the stepper has moved them.
    fn stepper_system(system: &crate::System, stepper: &Stepper) -> crate::System {
        use crate::step::engine::Engine;
        let mut moved = system.clone();
        moved.spheres.sort_by_key(|sphere| sphere.id);
        Engine::read(stepper, &mut moved.spheres).unwrap();
        moved
    }
}
