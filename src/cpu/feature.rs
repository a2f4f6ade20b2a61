//! When spheres meet patches of walls, which are neither flat nor still, and how. Twins: shaders/shared/touch.wgsl and
//! shaders/shared/approach.wgsl.

use crate::state::constants::{BLUR, LOOK_AGAIN};
use glam::Vec3;

use crate::{
    cpu::{
        event::{Event, View},
        sweep::precedes,
    },
    state::constants::{ADVANCES, TOUCHING, WALL},
    walls::features::{
        Instant, Sight, WallFeature,
        shape::{FeatureShape, Near},
    },
};

/// How a sphere lies to a wall.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    pub gap: f32,
    /// Unit vector from the wall, in the lab.
    pub normal: Vec3,
    /// Velocity of the surface there.
    pub wall_velocity: Vec3,
    /// Acceleration towards the sphere that the surface has by its curvature, for the sphere's velocity.
    pub bend: f32,
    /// Whether another patch of the same surface is nearer.
    pub is_shadowed: bool,
}

impl View<'_> {
    /// Sphere `i` at time `t` on its present line, in the lab.
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

    /// Sphere `i` at the end of the substep, where its place is in the lab already.
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

    /// The patch that a number among walls stands for; planes come first.
    #[inline]
    pub fn feature(&self, wall: usize) -> Option<&WallFeature> {
        self.world.features.all.get(wall.wrapping_sub(self.world.walls.len()))
    }

    /// How a sphere lies to a patch.
    pub fn touch(&self, feature: &WallFeature, at: &Instant) -> Touch {
        let sight = self.sight(feature, at);
        let near = self.world.features.near(feature, sight.x);
        self.touch_at(feature, at, &sight, &near)
    }

    /// The same on another side of a narrow pipe, if it is one.
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

    /// Velocity of a plane where a sphere is next to it.
    pub fn wall_velocity_of_plane(&self, plane: usize, at: &Instant) -> Vec3 {
        let wall = &self.world.walls[plane];
        let Some(mover) = wall.mover else { return Vec3::ZERO };
        let mover = &self.world.features.movers[mover as usize];
        mover.wall_velocity(mover.arm(self.grid, at.cell, at.offset, at.t) - wall.normal * at.radius)
    }

    /// By how much sphere `i` will overlap a patch at the end of the substep if it goes on as it does (diameters).
    pub fn overlap_of_feature_ahead(&self, i: usize, feature: &WallFeature) -> f32 {
        let touch = self.touch(feature, &self.instant(i, self.frame.h));
        if touch.is_shadowed { 0.0 } else { -touch.gap / (2.0 * self.state.radius(i)) }
    }

    /// Calls `visit(number among walls, feature)` for every patch that is there and that sphere `i` could meet in the substep.
    #[inline]
    pub fn for_features(&self, i: usize, mut visit: impl FnMut(usize, &WallFeature)) {
        if !self.dynamic_candidates.is_fast(i) {
            self.for_listed_features(i, visit);
        } else if !self.world.features.is_empty() {
            self.features_on_way(i, |k| self.see(k, &mut visit));
        }
    }

    /// The same for those in the list of the sphere, also if it is fast.
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

    // Those near the way of a sphere from its clock to the end of the substep.
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
            // The path falls below its chord, and what turns meets it sooner or later.
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

/// Replaces `best` if sphere `i` meets a patch sooner.
pub fn consider_features(view: &View, i: usize, best: &mut Event) {
    view.for_features(i, |wall, feature| {
        let partner = WALL | wall as u32;
        if view.world.rests {
            if view.is_converted(i, partner) {
                return;
            }
            if view.constraints.contains(view.state.id, i, partner) {
                let at = view.instant(i, view.clock[i]);
                let touch = view.touch(feature, &at);
                let rate = touch.normal.dot(at.velocity - touch.wall_velocity);
                // What leaves fast, or runs round fast, may meet the other side of a pipe.
                if rate >= -view.constraints.shock
                    && rate + touch.bend * view.frame.h <= view.constraints.shock
                {
                    return;
                }
            }
        }
        let Some((toi, speed)) = feature_contact(view, i, feature) else { return };
        if toi < view.frame.h
            && (toi < best.toi || (toi == best.toi && precedes(view.state, i, partner, best.partner)))
        {
            *best = Event { toi, partner, link: 0, delta_v_bound: view.world.delta_v_bound * speed };
        }
    });
}

/// When sphere `i` meets a patch before the end of the substep, and how fast: conservative advancement. Each step goes as far as the
/// form says that nothing is met, less what the acceleration may do on the way.
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
    // So near and still approaching: it is a contact.
    last
}

// A time in which nothing is met; none if that is so for all of `left`.
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
        // Met after the time for which the fall was counted: nothing is.
        return (step < left).then_some(step);
    }
    let step = shape.safe_time(sight.x, sight.w, near, radius + 0.5 * gap).min((gap / k).sqrt());
    (step < left).then_some(step)
}

// When what touches a patch and leaves it is back, 0 for what does neither; none if it never is.
fn return_time(view: &View, feature: &WallFeature, sight: &Sight, near: &Near, rate: f32) -> Option<f32> {
    let set = &view.world.features.sets[feature.set as usize];
    let pull = if set.turns { sight.acceleration } else { -near.normal.dot(view.world.gravity) };
    let chord = feature.shape.chord_time(sight.x, sight.w, near);
    if rate == 0.0 {
        // It lies on the surface: pressed to it, or not at all.
        return (pull > 0.0 || chord == 0.0).then_some(0.0);
    }
    let back = if pull > 0.0 { rate / (rate / chord + 0.5 * pull) } else { chord };
    (back < f32::INFINITY).then_some(back)
}
