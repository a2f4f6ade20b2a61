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
struct Unrest {
    time: f32,
    jolt: f32,
}

impl Unrest {
    /// What the next impact of a sphere does, as far as it matters before `limit`.
    fn of(event: &Event, limit: f32) -> Self {
        if event.toi < limit { Self { time: event.toi, jolt: event.jolt } } else { Self::NONE }
    }

    const NONE: Self = Self { time: f32::INFINITY, jolt: 0.0 };
}

/// Whether the impact of sphere `i` happens in this round. Of two spheres the one with the smaller index answers;
/// a sphere that meets something fixed answers for itself.
pub fn select(view: &View, events: &[Event], i: usize) -> bool {
    let event = events[i];
    if !event.is_some() {
        return false;
    }
    if event.wall().is_some() || view.state.inverse_mass(event.partner as usize) == 0.0 {
        return undisturbed(view, events, i, usize::MAX, event.toi);
    }
    let j = event.partner as usize;
    i < j
        && events[j].partner == i as u32
        && undisturbed(view, events, i, j, event.toi)
        && undisturbed(view, events, j, i, event.toi)
}

/// Whether nobody but `partner` can reach `i` before `limit` once earlier impacts have happened.
fn undisturbed(view: &View, events: &[Event], i: usize, partner: usize, limit: f32) -> bool {
    let mut free = true;
    view.for_candidates(i, |k, _, shift| {
        if free && k != partner && view.state.inverse_mass(k) != 0.0 {
            free = !reaches(view, events, i, k, shift, limit);
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
    let state = view.state;
    let mut found = false;
    view.for_candidates(k, |m, _, shift| {
        // Two lines that meet are an impact of their own, and so is each other's earliest.
        let theirs = Unrest::of(&events[m], limit);
        let mutual = events[m].partner == k as u32 && events[k].partner == m as u32;
        if found || mutual || m == i || (own.jolt == 0.0 && theirs.jolt == 0.0) {
            return;
        }
        let time = touch(view, k, m, shift, own, theirs);
        if time < limit {
            let (inverse_k, inverse_m) = (state.inverse_mass(k), state.inverse_mass(m));
            let speed = (state.velocity(m) - state.velocity(k)).length() + own.jolt + theirs.jolt;
            let jolt = own.jolt + 2.0 * speed * inverse_k / (inverse_k + inverse_m);
            found = touches(Unrest { time, jolt });
        }
    });
    found
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
