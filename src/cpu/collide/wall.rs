//! Impacts of spheres on walls.

use glam::Vec3;

use crate::{
    Partner,
    cpu::{
        collide::{
            Body, CollideOutput, Counts, Hit, Recorder, along_chord, convert_to_resting, count_hit, impulse,
            leave_support, loss, rebound, record, rests, rub, soften,
        },
        event::View,
    },
    state::constants::{REBOUND, WALL},
    walls::{
        features::{Instant, WallFeature},
        world::Surface,
    },
};

/// Impulse of a wall on a sphere in an impact.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// Wall number.
    pub wall: u32,
    /// Impulse on the sphere.
    pub impulse: Vec3,
    /// Angular impulse on the sphere against rolling and twisting.
    pub turn: Vec3,
    /// Cell and offset of the point of contact.
    pub cell: glam::IVec3,
    pub offset: Vec3,
}

impl Body {
    // The sphere in the lab frame at time `t` of the substep.
    fn instant(&self, view: &View, t: f32) -> Instant {
        let g = view.world.gravity;
        Instant {
            cell: view.cell(self.index),
            offset: self.offset() + g * (0.5 * t * t),
            velocity: self.velocity() + g * t,
            radius: self.radius(),
            t,
        }
    }
}

/// Geometry of a wall impact.
struct WallContact {
    /// Wall number.
    wall: u32,
    normal: Vec3,
    /// Velocity of the surface.
    wall_velocity: Vec3,
}

/// Resolves an impact on a wall. `wall` is an index that counts planes first, then wall features.
pub(super) fn wall_impact(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    wall: usize,
    t: f32,
    output: &mut CollideOutput,
) {
    // A sphere that a plane supports and that meets another wall continues from its true state.
    let supported = leave_support(view, a, t);
    let before = a.velocity();
    let wall_contact = match view.feature(wall) {
        Some(feature) => feature_impact(view, recorder, a, (wall, feature), t, output),
        None => plane_impact(view, recorder, a, (wall, supported), t, output),
    };
    let impulse = (a.velocity() - before) / a.inverse_mass();
    output.counts.wall_work += impulse.as_dvec3().dot(wall_contact.wall_velocity.as_dvec3());
    if view.world.is_watched {
        let at = a.instant(view, t);
        output.pushes.push(Push {
            wall: wall_contact.wall,
            impulse,
            turn: Vec3::ZERO,
            cell: at.cell,
            offset: at.offset - wall_contact.normal * at.radius,
        });
    }
}

fn plane_impact(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    (plane, supported): (usize, bool),
    t: f32,
    output: &mut CollideOutput,
) -> WallContact {
    let wall = &view.world.walls[plane];
    let (normal, g, h) = (wall.normal, wall.acceleration, view.frame.h);
    let counts = &mut output.counts;
    let wall_velocity = view.wall_velocity_of_plane(plane, &a.instant(view, t));
    let w = (a.velocity() + normal * (g * t)) - wall_velocity;
    let approach = normal.dot(w);
    let mass = 1.0 / a.inverse_mass();
    let wall_contact = WallContact { wall: wall.number, normal, wall_velocity };
    let surface = view.world.surface(view.state.material(a.index).into(), wall.material);
    let returns = if surface.is_lossy() { view.world.contact_time } else { 0.0 };
    if g < 0.0 && plane < usize::from(u8::MAX) && rests(-approach, -g, a.radius(), view, returns) {
        if surface.restitution < 1.0
            && convert_to_resting(view, a, WALL | plane as u32, normal, approach, counts)
        {
            return wall_contact;
        }
        if supported || wall.mover.is_some() {
            // In a groove, two simultaneous chords would follow the edge: the sphere hops off the second plane and
            // stays on the first. A moving wall supports no sphere along a chord.
            counts.dissipated -= rebound(a, normal, -approach, -g * h);
            return wall_contact;
        }
        // The plane accelerates in the falling frame; the sphere follows the chord until the end of the substep.
        let chord = -0.5 * g * (h + t);
        a.push(normal * (chord - normal.dot(a.velocity())));
        a.support = plane as u8 + 1;
        counts.dissipated += 0.5 * f64::from(mass) * f64::from(approach) * f64::from(approach);
        return wall_contact;
    }
    if approach >= 0.0 {
        return wall_contact;
    }
    let height = normal
        .dot(view.grid.shift(view.state.cell[a.index].truncate() - wall.cell) + (a.offset() - wall.offset));
    let gap = (height + (0.5 * g * t - wall.speed) * t) - a.radius();
    counts.late += u64::from(view.is_late(a.index, WALL, t, gap));
    let (e, friction) = soften_wall(view, surface, -approach, (t - a.spin.w, wall.mover.is_some()), counts);
    let j = impulse(normal, w, (a.inverse_mass(), 0.0), e, w.length());
    // The frame also falls along the plane.
    let slide = (a.velocity() + view.world.gravity * t) - wall_velocity;
    let push = rub(friction, j, (normal * a.radius(), slide, a.radius()), a, None, counts);
    count_hit(view, a.index, WALL | plane as u32, surface.restitution);
    finish(view, recorder, a, t, &wall_contact, (e, approach, j, push), output);
    wall_contact
}

fn feature_impact(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    (wall, feature): (usize, &WallFeature),
    t: f32,
    output: &mut CollideOutput,
) -> WallContact {
    let at = a.instant(view, t);
    let touch = view.touch(feature, &at);
    let (normal, wall_velocity) = (touch.normal, touch.wall_velocity);
    let counts = &mut output.counts;
    let w = at.velocity - wall_velocity;
    let approach = normal.dot(w);
    let partner = WALL | wall as u32;
    let surface = view.world.surface(view.state.material(a.index).into(), feature.material);
    // The surface accelerates towards the sphere, because of gravity and of its curvature.
    let towards = touch.bend - normal.dot(view.world.gravity);
    let wall_contact = WallContact { wall: feature.wall, normal, wall_velocity };
    if towards > 0.0 && rests(-approach, towards, a.radius(), view, 0.0) {
        if surface.restitution < 1.0 && convert_to_resting(view, a, partner, normal, approach, counts) {
            return wall_contact;
        }
        counts.dissipated -= turn_off(a, w, normal, approach, REBOUND * towards * view.frame.h);
        return wall_contact;
    }
    if approach >= 0.0 {
        return wall_contact;
    }
    counts.late += u64::from(view.is_late(a.index, WALL, t, touch.gap));
    let moves = view.world.features.mover_of(feature.wall).is_some();
    let (e, friction) = soften_wall(view, surface, -approach, (t - a.spin.w, moves), counts);
    let j = impulse(normal, w, (a.inverse_mass(), 0.0), e, w.length());
    let push = rub(friction, j, (normal * a.radius(), w, a.radius()), a, None, counts);
    count_hit(view, a.index, partner, surface.restitution);
    finish(view, recorder, a, t, &wall_contact, (e, approach, j, push), output);
    wall_contact
}

// `soften` without the TC model for moving walls: they squeeze confined spheres, and elastic impacts would add energy
// without limit.
fn soften_wall(
    view: &View,
    surface: &Surface,
    speed: f32,
    (age, moves): (f32, bool),
    counts: &mut Counts,
) -> (f32, f32) {
    if moves {
        return (surface.restitution_at(speed), surface.friction);
    }
    soften(view, surface, speed, age, counts)
}

// Applies a wall impact and records it. `j` is the impulse along the normal, `push` includes friction.
fn finish(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    t: f32,
    wall_contact: &WallContact,
    (e, approach, j, push): (f32, f32, Vec3, Vec3),
    output: &mut CollideOutput,
) {
    let counts = &mut output.counts;
    a.push(push * a.inverse_mass());
    counts.walls += 1;
    counts.dissipated += along_chord(view, a.index, push);
    counts.dissipated += loss(1.0 / a.inverse_mass(), e, approach, 1.0);
    if recorder.on {
        let normal = wall_contact.normal;
        let point = a.offset() - normal * a.radius();
        let (id, partner) = (view.state.id[a.index], Partner::Wall(wall_contact.wall));
        let (normal, impulse) = (normal.as_dvec3(), f64::from(j.length()));
        output.impacts.push(record(
            view,
            recorder,
            a,
            Hit { t, sphere: id, partner, point, normal, impulse },
        ));
    }
}

// Lets a sphere that slides along a wall leave at a speed so small that it returns soon. If the sphere is fast enough, its
// velocity is rotated, not increased. Returns the energy gained.
fn turn_off(a: &mut Body, w: Vec3, normal: Vec3, approach: f32, speed: f32) -> f64 {
    let along = w - normal * approach;
    let (square, gain) = (along.length_squared(), speed * speed - approach * approach);
    if gain <= 0.0 || square <= gain {
        a.push(normal * (speed - approach));
        return 0.5 * f64::from(gain) / f64::from(a.inverse_mass());
    }
    // sqrt(1 - x) - 1, in a form that does not cancel.
    let share = gain / square;
    let slower = -share / (1.0 + (1.0 - share).sqrt());
    a.push(normal * (speed - approach) + along * slower);
    0.0
}
