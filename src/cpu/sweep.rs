//! Stage `sweep`: finds the earliest impact of every sphere with its candidates and the walls.

use crate::state::constants::ADVANCES;
use crate::state::constants::{FAR, TOUCHING};
use std::ops::Range;

use glam::{Vec3, Vec4};

use crate::{
    cpu::{
        bits::Bits,
        event::{Event, View},
        feature::consider_features,
        pairs::{Four, Vectors, for_lanes, wide},
    },
    state::{
        columns::Columns,
        constants::{WALL, wall_bit},
        grid::{CODES, Grid},
    },
    walls::world::Wall,
};

/// The earliest impact of sphere `i` before the end of the substep.
pub fn sweep(view: &View, i: usize) -> Event {
    let mut best = Event::NONE;
    if view.state.inverse_mass(i) == 0.0 {
        // A pair with a fixed sphere is found from the side of the other sphere.
        return best;
    }
    view.for_candidates(i, |j, link, shift| consider(view, i, j, link, shift, &mut best));
    consider_walls(view, i, &mut best);
    consider_features(view, i, &mut best);
    best
}

/// [`sweep`] where no contact rests and no sphere is fixed. Calls `visit` with each candidate, and with the impact of the
/// candidate with sphere `i` if there is one.
pub fn sweep_freely(view: &View, i: usize, mut visit: impl FnMut(usize, Option<Event>)) -> Event {
    let mut best = Event::NONE;
    view.for_candidates(i, |j, link, shift| {
        let Some((toi, delta_v_bound)) = pair(view, i, j, shift) else { return visit(j, None) };
        Event { toi, partner: j as u32, link, delta_v_bound }.replace_later(view.state, i, &mut best);
        let other = pair(view, j, i, -shift);
        debug_assert!(other.is_some(), "both sides of a pair agree to the bit");
        let bound_of_other = other.map_or(0.0, |(_, bound)| bound);
        let link = if link < CODES { CODES - 1 - link } else { link };
        visit(j, Some(Event { toi, partner: i as u32, link, delta_v_bound: bound_of_other }));
    });
    consider_walls(view, i, &mut best);
    consider_features(view, i, &mut best);
    best
}

/// Inserts into `pending` every sphere of `range` that has an impact with a candidate of its list before the end of the substep,
/// and its partner.
///
/// Each pair is tested once, from the sphere that owns it: both sides give the same result to the last bit. All clocks are 0.
/// `has_fixed` says whether any sphere is fixed.
pub fn seek(view: &View, range: Range<usize>, has_fixed: bool, pending: &Bits) {
    let shifts = wide(view.shifts);
    let tests =
        |range| view.lists.for_fours(range, |four, lanes| seek_four(view, &four, lanes, &shifts, pending));
    if has_fixed {
        tests(range);
    } else {
        // Two spheres that sleep do not move.
        view.sleep.for_restless_runs(range, tests);
    }
}

/// Inserts into `pending` every sphere of `range` that has an impact with a wall before the end of the substep.
pub fn seek_walls(view: &View, range: Range<usize>, pending: &Bits) {
    view.for_near_walls(range, |i| {
        // A quiet sphere meets no wall.
        if !view.sleep.is_quiet(i) && view.state.inverse_mass(i) != 0.0 && meets_wall(view, i) {
            pending.insert(i);
        }
    });
}

/// An impact of two spheres on their present paths.
#[derive(Clone, Copy, Debug)]
pub struct PairImpact {
    spheres: [u32; 2],
    /// Code of the second sphere as a candidate of the first one.
    code: u32,
    toi: f32,
    delta_v_bounds: [f32; 2],
}

impl PairImpact {
    /// The event of each of the two spheres.
    pub fn events(&self) -> [(usize, Event); 2] {
        let Self { spheres: [i, j], code, toi, delta_v_bounds: [bound_i, bound_j] } = *self;
        [
            (i as usize, Event { toi, partner: j, link: code, delta_v_bound: bound_i }),
            (j as usize, Event { toi, partner: i, link: CODES - 1 - code, delta_v_bound: bound_j }),
        ]
    }
}

/// Appends the impacts of the pairs that the spheres of `range` own. All clocks are 0, no contact rests and no sphere is fixed.
pub fn seek_freely(view: &View, range: Range<usize>, impacts: &mut Vec<PairImpact>) {
    let shifts = wide(view.shifts);
    let (place, motion, h) = (view.state.place, view.state.motion, view.frame.h);
    view.lists.for_fours(range, |four, lanes| {
        let pair_of = |lane: usize| {
            let (i, j, code) = four.pair(lane);
            let (here, there) = (place[i], place[j]);
            ((here - there) - shifts[code as usize], here + there, motion[i] - motion[j])
        };
        let pairs = [pair_of(0), pair_of(1), pair_of(2), pair_of(3)];
        let d = Vectors::new(|lane| pairs[lane].0);
        let w = Vectors::new(|lane| pairs[lane].2);
        let sum = Vec4::new(pairs[0].1.w, pairs[1].1.w, pairs[2].1.w, pairs[3].1.w);
        let end = d.plus(&w, h);
        let is_far = end.dot(&w).cmplt(Vec4::ZERO) & end.dot(&end).cmpgt(sum * sum * (1.0 + 1e-6));
        let recedes = d.dot(&w).cmpge(Vec4::ZERO);
        for_lanes(lanes & !(is_far | recedes).bitmask(), |lane| {
            let (i, j, code) = four.pair(lane);
            impacts.extend(impact(view, i, j, code));
        });
    });
}

#[inline(never)]
fn impact(view: &View, i: usize, j: usize, code: u32) -> Option<PairImpact> {
    let shift = view.shifts[code as usize];
    let (toi, bound) = pair(view, i, j, shift)?;
    let (_, bound_of_other) = pair(view, j, i, -shift)?;
    Some(PairImpact { spheres: [i as u32, j as u32], code, toi, delta_v_bounds: [bound, bound_of_other] })
}

// A quiet sphere can meet dynamic candidates only.
fn is_idle(view: &View, i: usize) -> bool {
    view.sleep.is_quiet(i) && view.dynamic_candidates.of(i).next().is_none()
}

// Inserts the spheres of four pairs that have an impact. The test of `stays_apart` rejects most pairs.
#[inline(always)]
fn seek_four(view: &View, four: &Four, lanes: u32, shifts: &[Vec4; 32], pending: &Bits) {
    let (d, w) = (four.offsets(view, shifts), four.velocities(view));
    let end = d.plus(&w, view.frame.h);
    let sum = four.radius_sums(view);
    let is_far = end.dot(&w).cmplt(Vec4::ZERO) & end.dot(&end).cmpgt(sum * sum * (1.0 + 1e-6));
    let (b, square) = (d.dot(&w), d.dot(&d));
    let recedes = b.cmpge(Vec4::ZERO);
    let fixed = four.fixed(view);
    // Pairs that a constraint of the owner holds are left without a further test; `meet` decides the others.
    let (shock, farthest) = (view.constraints.shock, sum * FAR);
    let is_slow = (b * b).cmple(square * (shock * shock)) & square.cmplt(farthest * farthest);
    let may_rest = is_slow.bitmask() & !fixed;
    for_lanes(lanes & (fixed | !(is_far | recedes).bitmask()), |lane| {
        let (i, j, code) = four.pair(lane);
        let rests = (may_rest >> lane & 1 != 0 && view.constraints.partners(i).contains(&(j as u32)))
            || (fixed >> lane & 1 != 0 && is_idle(view, i.min(j)));
        if !rests && meet(view, i, j, view.shifts[code as usize]) {
            pending.insert(i);
            pending.insert(j);
        }
    });
}

/// Whether two spheres have an impact with each other. If one is fixed, the pair is evaluated from the other sphere.
#[inline(never)]
fn meet(view: &View, i: usize, j: usize, shift: Vec3) -> bool {
    if view.state.inverse_mass(i) == 0.0 {
        pair(view, j, i, -shift).is_some()
    } else {
        pair(view, i, j, shift).is_some()
    }
}

/// Whether a sphere has an impact with a wall.
fn meets_wall(view: &View, i: usize) -> bool {
    let mut best = Event::NONE;
    consider_walls(view, i, &mut best);
    if !best.is_some() {
        consider_features(view, i, &mut best);
    }
    best.is_some()
}

/// Replaces `best` if `i` meets `j` sooner; `link` and `shift` identify the periodic image of `j`.
#[inline(always)]
pub fn consider(view: &View, i: usize, j: usize, link: u32, shift: Vec3, best: &mut Event) {
    let Some((toi, delta_v_bound)) = pair(view, i, j, shift) else { return };
    Event { toi, partner: j as u32, link, delta_v_bound }.replace_later(view.state, i, best);
}

impl Event {
    /// Replaces `best` if this event of sphere `i` comes first.
    #[inline(always)]
    pub fn replace_later(self, state: Columns, i: usize, best: &mut Self) {
        if self.toi < best.toi || (self.toi == best.toi && precedes(state, i, self.partner, best.partner)) {
            *best = self;
        }
    }
}

/// Time of impact of two spheres in the substep, and a bound on the velocity change of `i`.
#[inline(always)]
fn pair(view: &View, i: usize, j: usize, shift: Vec3) -> Option<(f32, f32)> {
    let state = view.state;
    let (mut d, mut w, now) = view.relative(i, j, shift);
    let radius_sum = state.radius(i) + state.radius(j);
    let (inverse_i, inverse_j) = (state.inverse_mass(i), state.inverse_mass(j));
    let is_held =
        move || view.world.rests && is_constrained(view, (i, j), (d, w), radius_sum, (inverse_j == 0.0, now));
    let (t, speed) = if view.world.has_gravity && inverse_j == 0.0 {
        if is_held() {
            return None;
        }
        // In the lab frame the fixed sphere rests and the other one falls.
        let g = view.world.gravity;
        (d, w) = (d + g * (0.5 * now * now), w + g * now);
        against_fixed(d, w, g, radius_sum, view.frame.h - now)?
    } else {
        // Constraints are checked last, because most pairs are rejected without them.
        if stays_apart(d, w, radius_sum, view.frame.h - now) || is_held() {
            return None;
        }
        first_contact(d, w, radius_sum)?
    };
    let toi = now + t;
    let is_late = || view.is_late(i, j as u32, toi, d.length() - radius_sum);
    if toi < view.frame.h
        && view.world.rests
        && view.converts_crowded(i, j as u32, (speed, toi, is_late()), radius_sum)
    {
        return None;
    }
    (toi < view.frame.h)
        .then(|| (toi, view.world.delta_v_bound * speed * inverse_i / (inverse_i + inverse_j)))
}

/// Whether a contact constraint holds the pair. Such a pair has no impact unless it approaches too fast.
#[inline]
fn is_constrained(
    view: &View,
    (i, j): (usize, usize),
    (d, w): (Vec3, Vec3),
    radius_sum: f32,
    (fixed, now): (bool, f32),
) -> bool {
    let (d, w) = if fixed {
        let g = view.world.gravity;
        (d + g * (0.5 * now * now), w + g * now)
    } else {
        (d, w)
    };
    let (square, b) = (d.length_squared(), d.dot(w));
    let farthest = radius_sum * FAR;
    let slow = b >= 0.0 || b * b <= view.constraints.shock * view.constraints.shock * square;
    square < farthest * farthest
        && ((slow && view.constraints.contains(view.state.id, i, j as u32))
            || view.is_held(i, j as u32, -b / square.sqrt(), radius_sum))
}

/// Whether a pair recedes, or is still apart and approaching at the end of the substep. This rejects most candidates
/// without a root or a division.
#[inline]
fn stays_apart(d: Vec3, w: Vec3, radius_sum: f32, left: f32) -> bool {
    let end = d + w * left;
    d.dot(w) >= 0.0 || is_far(end.dot(w), end.length_squared(), radius_sum)
}

/// Whether two spheres that still approach each other at the end of the substep have not met. `approach` is the product of
/// offset and relative velocity at the end, `square` the squared distance.
#[inline(always)]
fn is_far(approach: f32, square: f32, radius_sum: f32) -> bool {
    // A small margin, so that rounding decides nothing here.
    (approach < 0.0) & (square > radius_sum * radius_sum * (1.0 + 1e-6))
}

/// Time of first contact and the approach speed at that time. d, w: offset and velocity of one centre relative to the other.
/// With p the offset at the closest approach, the form avoids b^2 - a c, which cancels.
#[inline]
pub fn first_contact(d: Vec3, w: Vec3, radius_sum: f32) -> Option<(f32, f32)> {
    let b = d.dot(w);
    if b >= 0.0 {
        return None;
    }
    let distance = d.length();
    let c = (distance - radius_sum) * (distance + radius_sum);
    if c <= 0.0 {
        return Some((0.0, -b / distance));
    }
    let a = w.length_squared();
    let p = d - w * (b / a);
    let q = a * (radius_sum * radius_sum - p.length_squared());
    // NaN if a underflows.
    if q <= 0.0 || q.is_nan() {
        return None;
    }
    let root = q.sqrt();
    let mut t = c / (root - b);
    if distance > 4.0 * radius_sum {
        // One Newton step: over a long path the rounding of q moves the contact by more than the rounding of t does.
        let at = d + w * t;
        let length = at.length();
        let slope = at.dot(w);
        if slope < 0.0 {
            t -= (length - radius_sum) * (length + radius_sum) / (2.0 * slope);
        }
    }
    Some((t.max(0.0), root / radius_sum))
}

/// Time of first contact and approach speed under constant acceleration `g`, within `left`, by conservative advancement
/// against the tangent plane.
///
/// With the unit vector n from the fixed sphere to the other one now, |x| >= n.x. The plane through the nearest point is
/// therefore met no later than the sphere, and stepping to the plane never passes a root.
fn against_fixed(d: Vec3, v: Vec3, g: Vec3, radius_sum: f32, left: f32) -> Option<(f32, f32)> {
    let mut t = 0.0;
    for _ in 0..ADVANCES {
        let at = d + v * t + g * (0.5 * t * t);
        let distance = at.length();
        let normal = at / distance;
        let speed = normal.dot(v + g * t);
        let gap = distance - radius_sum;
        let touching = gap <= TOUCHING * radius_sum;
        if touching && speed < 0.0 {
            return Some((t, -speed));
        }
        let step = plane_contact(if touching { 0.0 } else { gap }, speed, normal.dot(g))?;
        if step == 0.0 {
            return Some((t, 0.0));
        }
        t += step;
        if t >= left {
            return None;
        }
    }
    // A grazing pass: the remaining gap is below the rounding of the path.
    None
}

/// Time until a point at height `gap` with speed `v` and acceleration `a` along the normal reaches the plane. For a
/// point that leaves the plane, this is the time of its return.
#[inline]
pub fn plane_contact(gap: f32, v: f32, a: f32) -> Option<f32> {
    if v < 0.0 {
        if gap <= 0.0 {
            return Some(0.0);
        }
        let q = v * v - 2.0 * a * gap;
        (q >= 0.0).then(|| 2.0 * gap / (q.sqrt() - v))
    } else if a < 0.0 {
        let gap = gap.max(0.0);
        Some((v + (v * v - 2.0 * a * gap).sqrt()) / -a)
    } else {
        None
    }
}

/// Vector from the plane's point to the centre of sphere `i` at its clock.
#[inline]
pub fn from_wall(grid: &Grid, state: Columns, wall: &Wall, i: usize) -> Vec3 {
    let cells = state.cell[i].truncate() - wall.cell;
    grid.shift(cells) + (state.offset(i) - wall.offset)
}

/// Replaces `best` if `i` meets a plane sooner.
#[inline]
fn consider_walls(view: &View, i: usize, best: &mut Event) {
    let walls = if view.dynamic_candidates.is_fast(i) { u32::MAX } else { view.lists.walls(i) };
    if walls != 0 {
        for plane in (0..view.world.walls.len()).filter(|&plane| walls & wall_bit(plane) != 0) {
            consider_wall(view, i, plane, best);
        }
    }
}

/// Replaces `best` if `i` meets this plane sooner.
pub fn consider_wall(view: &View, i: usize, plane: usize, best: &mut Event) {
    if usize::from(view.support[i]) == plane + 1 {
        return;
    }
    let wall = &view.world.walls[plane];
    if !wall.there {
        return;
    }
    let (gap, v) = wall_gap(view, i, plane);
    let diameter = 2.0 * view.state.radius(i);
    if view.world.rests {
        let partner = WALL | plane as u32;
        if (v >= -view.constraints.shock && view.constraints.contains(view.state.id, i, partner))
            || view.is_held(i, partner, -v, diameter)
        {
            return;
        }
    }
    let Some(t) = plane_contact(gap, v, wall.acceleration) else { return };
    let toi = view.clock[i] + t;
    let partner = WALL | plane as u32;
    let speed = v + wall.acceleration * t;
    // A sphere that first leaves a plane which it overlaps returns to the same depth.
    let is_late = view.is_late(i, partner, toi, gap);
    if toi < view.frame.h && view.converts_crowded(i, partner, (speed.abs(), toi, is_late), diameter) {
        return;
    }
    if toi < view.frame.h
        && (toi < best.toi || (toi == best.toi && precedes(view.state, i, partner, best.partner)))
    {
        *best = Event { toi, partner, link: 0, delta_v_bound: view.world.delta_v_bound * speed.abs() };
    }
}

/// Gap between sphere `i` and a plane at the sphere's clock, and the rate of the gap, in the lab frame.
#[inline]
pub fn wall_gap(view: &View, i: usize, plane: usize) -> (f32, f32) {
    let wall = &view.world.walls[plane];
    let t = view.clock[i];
    let height = wall.normal.dot(view.wall_to(plane, i)) + (0.5 * wall.acceleration * t - wall.speed) * t;
    let speed = wall.normal.dot(view.state.velocity(i)) + wall.acceleration * t - wall.speed;
    (height - view.state.radius(i), speed)
}

// Order of simultaneous impacts of sphere i: by (smaller id, larger id); walls last.
#[cold]
pub fn precedes(state: Columns, i: usize, a: u32, b: u32) -> bool {
    let key = |partner: u32| {
        if partner & WALL != 0 {
            (u64::from(u32::MAX), u64::from(partner))
        } else {
            let (x, y) = (state.id[i], state.id[partner as usize]);
            (u64::from(x.min(y)), u64::from(x.max(y)))
        }
    };
    key(a) < key(b)
}
