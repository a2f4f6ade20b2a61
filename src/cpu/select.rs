//! Stage 7: which impacts may happen now: those that are the earliest of both partners and that no third sphere can
//! forestall.
//!
//! Being each other's earliest is not enough: a third sphere k may be struck sooner and then reach i first. The guard
//! bounds k's motion after its own impact by the jolt of that impact, and (the second hop) lets k be disturbed by
//! its neighbours in the same way. The globally earliest impact always passes.

use glam::Vec3;

use super::event::{Event, View};

/// From when on a sphere may deviate from its line, and by how much its velocity may have changed.
#[derive(Clone, Copy)]
struct Unrest {
    time: f32,
    jolt: f32,
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
            let unrest = unrest(view, events, k, limit);
            free = unrest.time >= limit || arrival(view, i, k, shift, unrest) >= limit;
        }
    });
    free
}

/// When sphere `k` may first leave its line before `limit`: by its own impact or by a neighbour that had one.
fn unrest(view: &View, events: &[Event], k: usize, limit: f32) -> Unrest {
    let own = &events[k];
    let mut unrest = if own.toi < limit {
        Unrest { time: own.toi, jolt: own.jolt }
    } else {
        Unrest { time: f32::INFINITY, jolt: 0.0 }
    };
    view.for_candidates(k, |m, _, shift| {
        let event = &events[m];
        if event.toi < limit && m as u32 != own.partner {
            let theirs = Unrest { time: event.toi, jolt: event.jolt };
            let time = arrival(view, k, m, shift, theirs);
            if time < limit {
                let state = view.state;
                let (inverse_k, inverse_m) = (state.inverse_mass(k), state.inverse_mass(m));
                let speed = (state.velocity(m) - state.velocity(k)).length() + theirs.jolt;
                unrest.time = unrest.time.min(time);
                unrest.jolt = unrest.jolt.max(2.0 * speed * inverse_k / (inverse_k + inverse_m));
            }
        }
    });
    unrest
}

/// The earliest time at which sphere `k`, restless as given, can touch sphere `i`, which keeps its line.
fn arrival(view: &View, i: usize, k: usize, shift: Vec3, unrest: Unrest) -> f32 {
    let state = view.state;
    let t = unrest.time.max(view.clock[i]).max(view.clock[k]);
    let d = (view.offset_at(i, t) - view.offset_at(k, t)) - shift;
    let w = state.velocity(i) - state.velocity(k);
    let strayed = unrest.jolt * (t - unrest.time);
    let gap = d.length() - (state.radius(i) + state.radius(k)) - strayed;
    if gap <= 0.0 { t } else { t + gap / (w.length() + unrest.jolt) }
}
