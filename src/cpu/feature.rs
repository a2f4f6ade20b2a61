//! Contact and time of impact of spheres and wall features, which may be curved and may move. Shader twins:
//! shaders/shared/touch.wgsl and shaders/shared/approach.wgsl.

use crate::state::constants::{BLUR, LOOK_AGAIN};
use glam::Vec3;

use crate::{
    cpu::{
        event::{Deepening, Event, View},
        sweep::precedes,
    },
    state::constants::{ADVANCES, TOUCHING, WALL},
    walls::features::{
        Instant, Sight, WallFeature,
        shape::{FeatureShape, Near},
    },
};

/// Contact geometry of a sphere and a wall feature.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub gap: f32,
    /// Unit vector from the wall, in the lab frame.
    pub normal: Vec3,
    /// Velocity of the surface at the contact.
    pub wall_velocity: Vec3,
    /// Centripetal acceleration from the curvature of the surface, for the sphere's velocity.
    pub bend: f32,
    /// Whether another feature of the same surface is nearer.
    pub is_shadowed: bool,
}

impl View<'_> {
    /// Sphere `i` at time `t` on its present path, in the lab frame.
    #[inline]
    pub fn instant(&self, i: usize, t: f32) -> Instant {
        let g = self.world.gravity;
        Instant {
            cell: self.cell(i),
            offset: self.offset_at(i, t) + g * (0.5 * t * t),
            velocity: self.state.velocity(i) + g * t,
            radius: self.state.radius(i),
            t,
        }
    }

    /// Sphere `i` at the end of the substep, after its position has been converted to the lab frame.
    #[inline]
    pub fn at_end(&self, i: usize) -> Instant {
        Instant {
            cell: self.cell(i),
            offset: self.state.offset(i),
            velocity: self.state.velocity(i),
            radius: self.state.radius(i),
            t: self.frame.h,
        }
    }

    fn sight(&self, feature: &WallFeature, at: &Instant) -> Sight {
        self.world.features.sight(self.grid, feature, at, self.world.gravity)
    }

    /// The feature with this index among all walls; planes come first.
    #[inline]
    pub fn feature(&self, wall: usize) -> Option<&WallFeature> {
        self.world.features.all.get(wall.wrapping_sub(self.world.walls.len()))
    }

    /// Contact geometry of a sphere and a feature.
    pub fn touch(&self, feature: &WallFeature, at: &Instant) -> Touch {
        let sight = self.sight(feature, at);
        let near = self.world.features.near(feature, sight.x);
        self.touch_at(feature, at, &sight, &near)
    }

    /// Contact geometry on another side of a narrow pipe; `None` if the feature has no such side.
    pub fn touch_side(&self, feature: &WallFeature, at: &Instant, side: u32) -> Option<Touch> {
        if side == 0 {
            return Some(self.touch(feature, at));
        }
        let sight = self.sight(feature, at);
        feature.shape.side(sight.x, side).map(|near| self.touch_at(feature, at, &sight, &near))
    }

    fn touch_at(&self, feature: &WallFeature, at: &Instant, sight: &Sight, near: &Near) -> Touch {
        let features = &self.world.features;
        let normal = features.out(feature, near.normal, at.t);
        let wall_velocity = features.mover_of(feature.wall).map_or(Vec3::ZERO, |mover| {
            let r = mover.arm(self.grid, at.cell, at.offset, at.t);
            mover.wall_velocity(r - normal * near.distance)
        });
        Touch {
            gap: near.distance - at.radius,
            normal,
            wall_velocity,
            bend: feature.shape.bend(sight.x, sight.w, near, at.radius),
            is_shadowed: near.is_shadowed,
        }
    }

    /// Velocity of a plane at the point nearest to a sphere.
    pub fn wall_velocity_of_plane(&self, plane: usize, at: &Instant) -> Vec3 {
        let wall = &self.world.walls[plane];
        let Some(mover) = wall.mover else { return Vec3::ZERO };
        let mover = &self.world.features.movers[mover as usize];
        mover.wall_velocity(mover.arm(self.grid, at.cell, at.offset, at.t) - wall.normal * at.radius)
    }

    /// Deepening of sphere `i` with a feature, in diameters.
    pub fn overlap_of_feature_ahead(&self, i: usize, feature: &WallFeature) -> Deepening {
        let at = |t: f32| {
            let touch = self.touch(feature, &self.instant(i, t));
            if touch.is_shadowed { 0.0 } else { -touch.gap / (2.0 * self.state.radius(i)) }
        };
        Deepening { now: at(self.clock[i]), ahead: at(self.frame.h) }
    }

    /// Calls `visit(index among walls, feature)` for every existing feature that sphere `i` could meet in the substep.
    #[inline]
    pub fn for_features(&self, i: usize, mut visit: impl FnMut(usize, &WallFeature)) {
        if !self.dynamic_candidates.is_fast(i) {
            self.for_listed_features(i, visit);
        } else if !self.world.features.is_empty() {
            self.features_on_way(i, |k| self.see(k, &mut visit));
        }
    }

    /// `for_features` restricted to the list of the sphere, even if the sphere is fast.
    #[inline]
    pub fn for_listed_features(&self, i: usize, mut visit: impl FnMut(usize, &WallFeature)) {
        if !self.world.features.is_empty() {
            self.lists.features(i).iter().for_each(|&k| self.see(k, &mut visit));
        }
    }

    #[inline]
    fn see(&self, k: u32, visit: &mut impl FnMut(usize, &WallFeature)) {
        let features = &self.world.features;
        let feature = &features.all[k as usize];
        if features.there[feature.wall as usize] {
            visit(self.world.walls.len() + k as usize, feature);
        }
    }

    // Features near the path of a sphere from its clock to the end of the substep.
    fn features_on_way(&self, i: usize, mut visit: impl FnMut(u32)) {
        let features = &self.world.features;
        let (from, to) = (self.instant(i, self.clock[i]), self.instant(i, self.frame.h));
        let h = self.frame.h;
        for set in &features.sets {
            let reach = self.state.radius(i) + self.world.slop;
            let seen = |at: &Instant| match set.mover {
                None => self.grid.shift(at.cell - set.cell) + (at.offset - set.offset),
                Some(mover) => {
                    let mover = &features.movers[mover as usize];
                    let r = mover.arm(self.grid, at.cell, at.offset, at.t);
                    if set.turns { mover.turn.transpose() * r } else { r }
                }
            };
            let (a, b) = (seen(&from), seen(&to));
            // The path may curve below its chord, and a rotating feature may meet the sphere at any time.
            let mut slack = reach * 1.001 + 0.125 * self.world.gravity.length() * h * h;
            if let Some(mover) = set.mover
                && set.turns
            {
                slack += features.movers[mover as usize].spin.length() * h * (a.length().max(b.length()));
            }
            set.tree.visit(a.min(b) - slack, a.max(b) + slack, &mut visit);
        }
    }
}

/// Replaces `best` if sphere `i` meets a feature sooner.
pub fn consider_features(view: &View, i: usize, best: &mut Event) {
    let diameter = 2.0 * view.state.radius(i);
    view.for_features(i, |wall, feature| {
        let partner = WALL | wall as u32;
        if view.world.rests {
            let is_constrained = view.constraints.contains(view.state.id, i, partner);
            if is_constrained || view.is_converted(i, partner) {
                let at = view.instant(i, view.clock[i]);
                let touch = view.touch(feature, &at);
                let rate = touch.normal.dot(at.velocity - touch.wall_velocity);
                if view.is_held(i, partner, -rate, diameter) {
                    return;
                }
                // A sphere that leaves fast, or circles fast, may meet the other side of a pipe.
                if is_constrained
                    && rate >= -view.constraints.shock
                    && rate + touch.bend * view.frame.h <= view.constraints.shock
                {
                    return;
                }
            }
        }
        let Some((toi, speed)) = feature_contact(view, i, feature) else { return };
        let is_late = || {
            let gap = || view.touch(feature, &view.instant(i, view.clock[i])).gap;
            view.world.rests && toi > 0.0 && view.is_late(i, partner, toi, gap())
        };
        if toi < view.frame.h && view.converts_crowded(i, partner, (speed, toi, is_late()), diameter) {
            return;
        }
        if toi < view.frame.h
            && (toi < best.toi || (toi == best.toi && precedes(view.state, i, partner, best.partner)))
        {
            *best = Event { toi, partner, link: 0, delta_v_bound: view.world.delta_v_bound * speed };
        }
    });
}

/// Time and approach speed of the impact of sphere `i` with a feature before the end of the substep, by conservative
/// advancement. Each step is the time without contact according to the shape, reduced for the acceleration.
pub fn feature_contact(view: &View, i: usize, feature: &WallFeature) -> Option<(f32, f32)> {
    let h = view.frame.h;
    let mut t = view.clock[i];
    let mut last = None;
    for _ in 0..ADVANCES {
        let at = view.instant(i, t);
        let sight = view.sight(feature, &at);
        let near = view.world.features.near(feature, sight.x);
        let rate = near.normal.dot(sight.w);
        let gap = near.distance - at.radius;
        let is_touching = gap <= TOUCHING * at.radius + BLUR * sight.x.length();
        let step = if is_touching && near.is_shadowed {
            LOOK_AGAIN * at.radius / sight.w.length().max(f32::MIN_POSITIVE)
        } else if is_touching {
            if rate < 0.0 {
                return Some((t, -rate));
            }
            return_time(view, feature, &sight, &near, rate)?
        } else {
            let step = advance(&feature.shape, &sight, &near, at.radius, h - t)?;
            last = (rate < 0.0 && !near.is_shadowed && gap < view.world.slop.max(1e-3 * at.radius))
                .then_some((t, -rate));
            step
        };
        if step == 0.0 {
            return Some((t, 0.0));
        }
        t += step;
        if t >= h {
            return None;
        }
    }
    // Very near and still approaching after all steps: a contact.
    last
}

// A time without contact; `None` if there is no contact within `left`.
fn advance(shape: &FeatureShape, sight: &Sight, near: &Near, radius: f32, left: f32) -> Option<f32> {
    let gap = near.distance - radius;
    let free = shape.safe_time(sight.x, sight.w, near, radius);
    let k = sight.acceleration;
    if k == 0.0 {
        return (free < left).then_some(free);
    }
    let span = free.min(left);
    let fall = 0.5 * k * span * span;
    if fall <= 0.5 * gap {
        let step = shape.safe_time(sight.x, sight.w, near, radius + fall);
        // The step is longer than the time for which the fall was computed: no contact within that time.
        return (step < left).then_some(step);
    }
    let step = shape.safe_time(sight.x, sight.w, near, radius + 0.5 * gap).min((gap / k).sqrt());
    (step < left).then_some(step)
}

// Time until a sphere that touches a feature and leaves it returns; 0 if it stays on the surface; `None` if it never
// returns.
fn return_time(view: &View, feature: &WallFeature, sight: &Sight, near: &Near, rate: f32) -> Option<f32> {
    let set = &view.world.features.sets[feature.set as usize];
    let pull = if set.turns { sight.acceleration } else { -near.normal.dot(view.world.gravity) };
    let chord = feature.shape.chord_time(sight.x, sight.w, near);
    if rate == 0.0 {
        // On the surface: either pressed against it, or free.
        return (pull > 0.0 || chord == 0.0).then_some(0.0);
    }
    let back = if pull > 0.0 { rate / (rate / chord + 0.5 * pull) } else { chord };
    (back < f32::INFINITY).then_some(back)
}
