//! Stage 7: which impacts may happen now: those that are the earliest of both partners and that no third sphere can
//! forestall.
//!
//! Being each other's earliest is not enough: a third sphere k may be struck sooner and then reach i first. The guard
//! knows of every sphere's next impact when it comes and bounds by how much the velocity changes then: from there on
//! the sphere may be anywhere in a cone around its line. For a pair (i, j) it looks at every k near one of the two, and
//! (the second hop) at every m near k that could touch k first and turn it towards i. The globally earliest impact
//! always passes.

use glam::Vec3;

use super::event::{Event, View};

/// From `time` on, a sphere's velocity may differ by up to `jolt` from the one it has.
#[derive(Clone, Copy)]
pub struct Unrest {
    time: f32,
    jolt: f32,
}

impl Unrest {
    pub const NONE: Self = Self { time: f32::INFINITY, jolt: 0.0 };

    /// What the next impact of a sphere does, as far as it matters before `limit`.
    fn of(event: &Event, limit: f32) -> Self {
        if event.toi < limit { Self { time: event.toi, jolt: event.jolt } } else { Self::NONE }
    }
}

/// Whether the impact of sphere `i` is the earliest of both partners. Of two spheres the one with the smaller index
/// answers; a sphere that meets something fixed answers for itself.
pub fn is_mutual(view: &View, events: &[Event], i: usize) -> bool {
    let event = events[i];
    if !event.is_some() {
        return false;
    }
    let j = event.partner as usize;
    event.wall().is_some() || view.state.inverse_mass(j) == 0.0 || (i < j && events[j].partner == i as u32)
}

/// All that may happen to sphere `k` in the substep up to and including its second impact, as one bound.
pub fn unrest(view: &View, events: &[Event], k: usize) -> Unrest {
    let limit = view.frame.h;
    let mut bound = Unrest::of(&events[k], limit);
    for_unrest(view, events, k, limit, |unrest| {
        bound.time = bound.time.min(unrest.time);
        bound.jolt = bound.jolt.max(unrest.jolt);
    });
    bound
}

/// Whether nobody can forestall the impact of sphere `i`; `bounds` holds the [`unrest`] of all candidates of the two.
pub fn select(view: &View, events: &[Event], bounds: &[Unrest], i: usize) -> bool {
    let event = events[i];
    let undisturbed = |i, j| undisturbed(view, events, bounds, i, j, event.toi);
    if event.wall().is_some() {
        return undisturbed(i, usize::MAX);
    }
    let j = event.partner as usize;
    undisturbed(i, j) && (view.state.inverse_mass(j) == 0.0 || undisturbed(j, i))
}

/// Whether nobody but `partner` can reach `i` before `limit` once earlier impacts have happened.
fn undisturbed(
    view: &View,
    events: &[Event],
    bounds: &[Unrest],
    i: usize,
    partner: usize,
    limit: f32,
) -> bool {
    let mut free = true;
    view.for_candidates(i, |k, _, shift| {
        if free && k != partner && view.state.inverse_mass(k) != 0.0 {
            let bound = bounds[k];
            free = bound.time >= limit
                || touch(view, i, k, shift, Unrest::NONE, bound) >= limit
                || !reaches(view, events, i, k, shift, limit);
        }
    });
    free
}

/// Whether sphere `k` can touch `i`, which keeps its line, before `limit`: after its own impact, or after touching one
/// more sphere.
fn reaches(view: &View, events: &[Event], i: usize, k: usize, shift: Vec3, limit: f32) -> bool {
    let own = Unrest::of(&events[k], limit);
    let touches = |unrest| touch(view, i, k, shift, Unrest::NONE, unrest) < limit;
    if own.jolt > 0.0 && touches(own) {
        return true;
    }
    let mut found = false;
    for_unrest(view, events, k, limit, |unrest| found = found || touches(unrest));
    found
}

/// Calls `visit` for every touch with a neighbour that may turn sphere `k` before `limit`, one of the two having been
/// struck before.
fn for_unrest(view: &View, events: &[Event], k: usize, limit: f32, mut visit: impl FnMut(Unrest)) {
    let state = view.state;
    let own = Unrest::of(&events[k], limit);
    view.for_candidates(k, |m, _, shift| {
        // Two lines that meet are an impact of their own, and so is each other's earliest.
        let theirs = Unrest::of(&events[m], limit);
        let mutual = events[m].partner == k as u32 && events[k].partner == m as u32;
        if mutual || (own.jolt == 0.0 && theirs.jolt == 0.0) {
            return;
        }
        let time = touch(view, k, m, shift, own, theirs);
        if time < limit {
            let (inverse_k, inverse_m) = (state.inverse_mass(k), state.inverse_mass(m));
            let speed = (state.velocity(m) - state.velocity(k)).length() + own.jolt + theirs.jolt;
            let jolt = own.jolt + 2.0 * speed * inverse_k / (inverse_k + inverse_m);
            visit(Unrest { time, jolt });
        }
    });
}

/// The earliest time at which two restless spheres can touch: the gap of their lines against the sum of the cones.
fn touch(view: &View, i: usize, k: usize, shift: Vec3, a: Unrest, b: Unrest) -> f32 {
    let state = view.state;
    let restless = a.time.min(b.time);
    let jolt = a.jolt + b.jolt;
    let t = restless.max(view.clock[i]).max(view.clock[k]);
    let d = (view.offset_at(i, t) - view.offset_at(k, t)) - shift;
    let w = state.velocity(i) - state.velocity(k);
    // |d + w s| = reach + jolt s, the first root as in the sweep.
    let reach = state.radius(i) + state.radius(k) + jolt * (t - restless);
    let distance = d.length();
    let c = (distance - reach) * (distance + reach);
    if c <= 0.0 {
        return t;
    }
    let b = d.dot(w) - reach * jolt;
    let a = w.length_squared() - jolt * jolt;
    let q = b * b - a * c;
    if q < 0.0 || (b >= 0.0 && a >= 0.0) {
        return f32::INFINITY;
    }
    // A little sooner than computed: here the discriminant cancels, and too early only costs a round.
    let s = c / (q.sqrt() - b);
    if s >= 0.0 { t + 0.999 * s } else { f32::INFINITY }
}
