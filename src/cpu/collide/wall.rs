//! What happens where spheres meet walls.

use glam::Vec3;

use super::{
    super::event::{View, WALL},
    Body, Counts, HOP, Recorder, Tally, along_chord, count_hit, hop, impulse, lay_down, leave_support, loss,
    record, rests, rub, soften,
};
use crate::{
    Partner,
    model::{
        patches::{Instant, Patch},
        world::Surface,
    },
};

/// What a wall gave a sphere in an impact.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// Number of the wall.
    pub wall: u32,
    /// Impulse on the sphere.
    pub impulse: Vec3,
    /// Angular impulse on it against rolling and twisting.
    pub turn: Vec3,
    /// Cell and offset of the point of contact.
    pub cell: glam::IVec3,
    pub offset: Vec3,
}

impl Body {
    // In the lab, at a time of the substep.
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

/// How an impact on a wall came about.
struct Blow {
    /// Number of the wall.
    wall: u32,
    normal: Vec3,
    /// Velocity of the surface.
    drive: Vec3,
}

/// `wall` counts the planes first, then the patches.
pub(super) fn strike_wall(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    wall: usize,
    t: f32,
    tally: &mut Tally,
) {
    // A sphere that rests on one plane and meets another goes on from its true state.
    let supported = leave_support(view, a, t);
    let before = a.velocity();
    let blow = match view.patch(wall) {
        Some(patch) => strike_patch(view, recorder, a, (wall, patch), t, tally),
        None => strike_plane(view, recorder, a, (wall, supported), t, tally),
    };
    let impulse = (a.velocity() - before) / a.inverse_mass();
    tally.counts.wall_work += impulse.as_dvec3().dot(blow.drive.as_dvec3());
    if view.world.is_watched {
        let at = a.instant(view, t);
        tally.pushes.push(Push {
            wall: blow.wall,
            impulse,
            turn: Vec3::ZERO,
            cell: at.cell,
            offset: at.offset - blow.normal * at.radius,
        });
    }
}

fn strike_plane(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    (plane, supported): (usize, bool),
    t: f32,
    tally: &mut Tally,
) -> Blow {
    let wall = &view.world.walls[plane];
    let (normal, g, h) = (wall.normal, wall.acceleration, view.frame.h);
    let counts = &mut tally.counts;
    let drive = view.drive_of_plane(plane, &a.instant(view, t));
    let w = (a.velocity() + normal * (g * t)) - drive;
    let approach = normal.dot(w);
    let mass = 1.0 / a.inverse_mass();
    let blow = Blow { wall: wall.number, normal, drive };
    let surface = view.world.surface(view.state.material(a.index).into(), wall.material);
    let returns = if surface.is_lossy() { view.world.contact_time } else { 0.0 };
    if g < 0.0 && plane < usize::from(u8::MAX) && rests(-approach, -g, a.radius(), view, returns) {
        if surface.restitution < 1.0 && lay_down(view, a, WALL | plane as u32, normal, approach, counts) {
            return blow;
        }
        if supported || wall.mover.is_some() {
            // In a groove: two chords at once would need their edge. Hopping off the second, it stays on the first. And nothing
            // that moves carries along a chord.
            counts.dissipated -= hop(a, normal, -approach, -g * h);
            return blow;
        }
        // In the falling frame the plane accelerates; the chord of its way to the end of the substep.
        let chord = -0.5 * g * (h + t);
        a.push(normal * (chord - normal.dot(a.velocity())));
        a.support = plane as u8 + 1;
        counts.dissipated += 0.5 * f64::from(mass) * f64::from(approach) * f64::from(approach);
        return blow;
    }
    if approach >= 0.0 {
        return blow;
    }
    let height = normal
        .dot(view.grid.shift(view.state.cell[a.index].truncate() - wall.cell) + (a.offset() - wall.offset));
    if a.radius() - (height + (0.5 * g * t - wall.speed) * t) > view.world.slop {
        counts.late += 1;
    }
    let (e, friction) = soften_wall(view, surface, -approach, (t - a.spin.w, wall.mover.is_some()), counts);
    let j = impulse(normal, w, (a.inverse_mass(), 0.0), e, w.length());
    // Along the plane too the frame falls.
    let slide = (a.velocity() + view.world.gravity * t) - drive;
    let push = rub(friction, j, (normal * a.radius(), slide, a.radius()), a, None, counts);
    count_hit(view, a.index, WALL | plane as u32, surface.restitution);
    finish(view, recorder, a, t, &blow, (e, approach, j, push), tally);
    blow
}

fn strike_patch(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    (wall, patch): (usize, &Patch),
    t: f32,
    tally: &mut Tally,
) -> Blow {
    let at = a.instant(view, t);
    let touch = view.touch(patch, &at);
    let (normal, drive) = (touch.normal, touch.drive);
    let counts = &mut tally.counts;
    let w = at.velocity - drive;
    let approach = normal.dot(w);
    let partner = WALL | wall as u32;
    let surface = view.world.surface(view.state.material(a.index).into(), patch.material);
    // Towards the sphere the surface accelerates as gravity has it, and by its own curvature.
    let towards = touch.bend - normal.dot(view.world.gravity);
    let blow = Blow { wall: patch.wall, normal, drive };
    if towards > 0.0 && rests(-approach, towards, a.radius(), view, 0.0) {
        if surface.restitution < 1.0 && lay_down(view, a, partner, normal, approach, counts) {
            return blow;
        }
        counts.dissipated -= turn_off(a, w, normal, approach, HOP * towards * view.frame.h);
        return blow;
    }
    if approach >= 0.0 {
        return blow;
    }
    if -touch.gap > view.world.slop {
        counts.late += 1;
    }
    let moves = view.world.patches.mover_of(patch.wall).is_some();
    let (e, friction) = soften_wall(view, surface, -approach, (t - a.spin.w, moves), counts);
    let j = impulse(normal, w, (a.inverse_mass(), 0.0), e, w.length());
    let push = rub(friction, j, (normal * a.radius(), w, a.radius()), a, None, counts);
    count_hit(view, a.index, partner, surface.restitution);
    finish(view, recorder, a, t, &blow, (e, approach, j, push), tally);
    blow
}

// As between spheres. But a wall that moves presses what has no room, and elastic impacts on it would pump energy into that without end.
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

// `j` is the impulse along the normal, `push` that with friction.
fn finish(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    t: f32,
    blow: &Blow,
    (e, approach, j, push): (f32, f32, Vec3, Vec3),
    tally: &mut Tally,
) {
    let counts = &mut tally.counts;
    a.push(push * a.inverse_mass());
    counts.walls += 1;
    counts.dissipated += along_chord(view, a.index, push);
    counts.dissipated += loss(1.0 / a.inverse_mass(), e, approach, 1.0);
    if recorder.on {
        let normal = blow.normal;
        let point = a.offset() - normal * a.radius();
        let (id, partner) = (view.state.id[a.index], Partner::Wall(blow.wall));
        tally.impacts.push(record(
            view,
            recorder,
            a,
            t,
            id,
            partner,
            point,
            normal.as_dvec3(),
            f64::from(j.length()),
        ));
    }
}

// Lets a sphere that slides along a wall leave it at this speed, so little that it is soon back: its way is turned, not sped up, as far as
// it is fast enough for that. Returns the energy it got.
fn turn_off(a: &mut Body, w: Vec3, normal: Vec3, approach: f32, speed: f32) -> f64 {
    let along = w - normal * approach;
    let (square, gain) = (along.length_squared(), speed * speed - approach * approach);
    if gain <= 0.0 || square <= gain {
        a.push(normal * (speed - approach));
        return 0.5 * f64::from(gain) / f64::from(a.inverse_mass());
    }
    // sqrt(1 - x) - 1, without the cancellation.
    let share = gain / square;
    let slower = -share / (1.0 + (1.0 - share).sqrt());
    a.push(normal * (speed - approach) + along * slower);
    0.0
}
