//! Stage `collide`: applies the impulses of the selected impacts. Both partners move to the time of impact, and no other
//! sphere changes. Momentum, angular momentum and energy therefore balance for each pair.

mod convert;
pub mod friction;
mod wall;

use crate::state::constants::{LEAST_REBOUND, LOWEST_BOUNCE, REBOUND, RESTING};
use glam::{DVec3, Vec3, Vec4};

pub use self::wall::Push;
use self::{
    convert::{along_chord, convert_to_resting, count_hit, hold_heavy},
    friction::rub,
    wall::wall_impact,
};
use crate::{
    Impact, Partner,
    cpu::{
        bits::Bits,
        event::{Event, View},
        parallel::Disjoint,
    },
    state::units::Units,
    toolbox,
    walls::world::Surface,
};

/// Output of the stage; only the task that resolves an impact writes its entries.
pub struct Outputs<'a> {
    pub place: Disjoint<'a, Vec4>,
    pub motion: Disjoint<'a, Vec4>,
    pub spin: Disjoint<'a, Vec4>,
    pub clock: Disjoint<'a, f32>,
    pub motion_margin: Disjoint<'a, f32>,
    pub support: Disjoint<'a, u8>,
}

/// State of a sphere before its first impact of the substep.
#[derive(Clone, Copy)]
pub struct Undo {
    pub index: u32,
    pub place: Vec4,
    pub motion: Vec4,
    pub spin: Vec4,
    pub motion_margin: f32,
    pub support: u8,
}

/// Counts and sums of impacts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub pairs: u64,
    pub walls: u64,
    pub contact_time: u64,
    pub late: u64,
    /// Energy lost to restitution and friction.
    pub dissipated: f64,
    /// Sum of distance * impulse over pairs.
    pub virial: f64,
    /// Work done by moving walls.
    pub wall_work: f64,
    /// Impacts applied one by one.
    pub event_driven: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.walls += other.walls;
        self.contact_time += other.contact_time;
        self.late += other.late;
        self.dissipated += other.dissipated;
        self.virial += other.virial;
        self.wall_work += other.wall_work;
        self.event_driven += other.event_driven;
    }
}

/// Output of one task.
#[derive(Default)]
pub struct CollideOutput {
    pub counts: Counts,
    pub impacts: Vec<Impact>,
    pub touched: Vec<u32>,
    /// Spheres whose path may leave the reach of their candidate lists.
    pub fast: Vec<u32>,
    /// Spheres to stop in place.
    pub frozen: Vec<u32>,
    pub undo: Vec<Undo>,
    /// Impulses of walls on spheres, if there are walls.
    pub pushes: Vec<Push>,
}

impl CollideOutput {
    pub fn bytes(&self) -> usize {
        4 * (self.touched.capacity() + self.fast.capacity() + self.frozen.capacity())
            + size_of::<Impact>() * self.impacts.capacity()
            + size_of::<Undo>() * self.undo.capacity()
            + size_of::<Push>() * self.pushes.capacity()
    }

    pub fn clear(&mut self) {
        self.counts = Counts::default();
        self.impacts.clear();
        self.touched.clear();
        self.fast.clear();
        self.frozen.clear();
        self.undo.clear();
        self.pushes.clear();
    }
}

/// Settings of the impact log.
#[derive(Clone, Copy)]
pub struct Recorder<'a> {
    pub units: &'a Units,
    /// Start of the substep in the user's time.
    pub start: f64,
    pub on: bool,
}

/// State of one sphere during an impact.
struct Body {
    index: usize,
    place: Vec4,
    motion: Vec4,
    spin: Vec4,
    motion_margin: f32,
    support: u8,
}

impl Body {
    fn offset(&self) -> Vec3 {
        self.place.truncate()
    }

    fn velocity(&self) -> Vec3 {
        self.motion.truncate()
    }

    fn radius(&self) -> f32 {
        self.place.w
    }

    fn inverse_mass(&self) -> f32 {
        self.motion.w
    }

    /// Angular velocity times radius.
    fn rim(&self) -> Vec3 {
        self.spin.truncate() * self.radius()
    }

    fn push(&mut self, dv: Vec3) {
        self.motion += dv.extend(0.0);
    }

    fn turn(&mut self, twist: Vec3) {
        self.spin += (twist * (self.inverse_mass() / self.radius())).extend(0.0);
    }
}

/// Resolves the impact `event` of sphere `i`. Reads only cells and ids from `view.state`; `bodies` holds the rest.
///
/// # Safety
/// No other thread may read or write the two spheres in `bodies` at the same time.
pub unsafe fn collide(
    view: &View,
    bodies: &Outputs,
    first_touch: &Bits,
    recorder: Recorder,
    i: usize,
    event: Event,
    output: &mut CollideOutput,
) {
    let t = event.toi;
    // SAFETY: guaranteed by the caller.
    let mut a = unsafe { load(view, bodies, first_touch, i, t, output) };
    if let Some(wall) = event.wall() {
        wall_impact(view, recorder, &mut a, wall, t, output);
    } else {
        let j = event.partner as usize;
        // SAFETY: the stage only reads fixed spheres, and no thread writes them; the caller guarantees the rest.
        unsafe {
            if bodies.motion.get(j).w == 0.0 {
                fixed_impact(view, recorder, &mut a, j, bodies.place.get(j), event, output);
            } else {
                let mut b = load(view, bodies, first_touch, j, t, output);
                pair_impact(view, recorder, &mut a, &mut b, event, output);
                store(view, bodies, b, t, output);
            }
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { store(view, bodies, a, t, output) };
}

unsafe fn load(
    view: &View,
    bodies: &Outputs,
    first_touch: &Bits,
    i: usize,
    t: f32,
    output: &mut CollideOutput,
) -> Body {
    // SAFETY: guaranteed by the caller.
    let mut body = unsafe {
        Body {
            index: i,
            place: bodies.place.get(i),
            motion: bodies.motion.get(i),
            spin: bodies.spin.get(i),
            motion_margin: bodies.motion_margin.get(i),
            support: bodies.support.get(i),
        }
    };
    if !first_touch.contains(i) {
        first_touch.insert(i);
        let Body { place, motion, spin, motion_margin, support, .. } = body;
        output.undo.push(Undo { index: i as u32, place, motion, spin, motion_margin, support });
    }
    // SAFETY: guaranteed by the caller.
    let clock = unsafe { bodies.clock.get(i) };
    let path = body.velocity() * (t - clock);
    body.place += path.extend(0.0);
    body.motion_margin -= (path - view.frame.drift * (t - clock)).length();
    body
}

unsafe fn store(view: &View, bodies: &Outputs, mut body: Body, t: f32, output: &mut CollideOutput) {
    let i = body.index;
    let ahead = view.frame.path(body.velocity(), body.inverse_mass(), t);
    if view.dynamic_candidates.is_fast(i) || ahead > body.motion_margin {
        output.fast.push(i as u32);
    }
    body.spin.w = t;
    output.touched.push(i as u32);
    // SAFETY: guaranteed by the caller.
    unsafe {
        bodies.place.set(i, body.place);
        bodies.motion.set(i, body.motion);
        bodies.spin.set(i, body.spin);
        bodies.clock.set(i, t);
        bodies.motion_margin.set(i, body.motion_margin);
        bodies.support.set(i, body.support);
    }
}

/// Ends the support by a plane: puts the sphere on the plane and removes its normal velocity, which on the chord differs
/// from 0. Returns whether the sphere was supported.
fn leave_support(view: &View, body: &mut Body, t: f32) -> bool {
    if body.support == 0 {
        return false;
    }
    let wall = &view.world.walls[usize::from(body.support) - 1];
    let cells = view.state.cell[body.index].truncate() - wall.cell;
    let height = wall.normal.dot(view.grid.shift(cells) + (body.offset() - wall.offset));
    let gap = height - body.radius() + 0.5 * wall.acceleration * t * t;
    body.place -= (wall.normal * gap).extend(0.0);
    body.motion_margin -= gap.abs();
    let speed = wall.normal.dot(body.velocity()) + wall.acceleration * t;
    body.push(-wall.normal * speed);
    body.support = 0;
    true
}

/// Restitution and friction by the TC model: an impact loses no energy if one of the partners had another contact less than
/// the contact time before.
pub fn soften(view: &View, surface: &Surface, speed: f32, age: f32, counts: &mut Counts) -> (f32, f32) {
    let (e, friction) = (surface.restitution_at(speed), surface.friction);
    if (e < 1.0 || friction > 0.0) && age < view.world.contact_time && !view.world.rests {
        counts.contact_time += 1;
        return (1.0, 0.0);
    }
    (e, friction)
}

/// The impulse on the first sphere, along d. `speed` is the sum of the two speeds.
fn impulse(d: Vec3, w: Vec3, inverse_masses: (f32, f32), e: f32, speed: f32) -> Vec3 {
    let impulse = toolbox::bounce_impulse(d, w, inverse_masses.0, inverse_masses.1, e);
    let approach = -d.dot(w);
    let least = LEAST_REBOUND * speed * d.length();
    if e * approach < least && approach > 0.0 {
        impulse * ((1.0 + least / approach) / (1.0 + e))
    } else {
        impulse
    }
}

fn pair_impact(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    b: &mut Body,
    event: Event,
    output: &mut CollideOutput,
) {
    let t = event.toi;
    let shift = view.shift(event.link);
    let supported = leave_support(view, a, t) | leave_support(view, b, t);
    let d = (a.offset() - b.offset()) - shift;
    let w = a.velocity() - b.velocity();
    let (approach, square) = (d.dot(w), d.length_squared());
    let distance = square.sqrt();
    if supported && -approach <= RESTING * view.frame.h * view.frame.gravity.length() * distance {
        output.frozen.extend([a.index as u32, b.index as u32]);
        return;
    }
    if approach >= 0.0 {
        return;
    }
    let counts = &mut output.counts;
    let gap = distance - (a.radius() + b.radius());
    counts.late += u64::from(view.is_late(a.index, b.index as u32, t, gap));
    let surface =
        view.world.surface(view.state.material(a.index).into(), view.state.material(b.index).into());
    let (e, friction) = soften(view, surface, -approach / distance, t - a.spin.w.max(b.spin.w), counts);
    let reduced_mass = 1.0 / (a.inverse_mass() + b.inverse_mass());
    let speed = a.velocity().length() + b.velocity().length();
    let j = impulse(d, w, (a.inverse_mass(), b.inverse_mass()), e, speed);
    let push = rub(friction, j, (d, w, a.radius() + b.radius()), a, Some(b), counts);
    a.push(push * a.inverse_mass());
    b.push(-push * b.inverse_mass());
    counts.pairs += 1;
    if count_hit(view, a.index, b.index as u32, surface.restitution) {
        hold_heavy(view, a, b);
    }
    counts.dissipated += along_chord(view, a.index, push) - along_chord(view, b.index, push);
    // The virial is the distance times the normal impulse, which is parallel to d.
    counts.virial += f64::from(j.dot(d));
    counts.dissipated += loss(reduced_mass, e, approach, square);
    if recorder.on {
        let point = a.offset() - d * (a.radius() / (a.radius() + b.radius()));
        let (ida, idb) = (view.state.id[a.index], view.state.id[b.index]);
        let normal = d.as_dvec3().normalize_or(DVec3::X) * if ida < idb { 1.0 } else { -1.0 };
        let impulse = f64::from(j.length());
        let partner = Partner::Sphere(ida.max(idb));
        output.impacts.push(record(
            view,
            recorder,
            a,
            Hit { t, sphere: ida.min(idb), partner, point, normal, impulse },
        ));
    }
}

fn fixed_impact(
    view: &View,
    recorder: Recorder,
    a: &mut Body,
    other: usize,
    place: Vec4,
    event: Event,
    output: &mut CollideOutput,
) {
    let t = event.toi;
    let (offset, radius) = (place.truncate(), place.w);
    let g = view.world.gravity;
    leave_support(view, a, t);
    let d = (a.offset() - offset) - view.shift(event.link) + g * (0.5 * t * t);
    let w = a.velocity() + g * t;
    let (approach, square) = (d.dot(w), d.length_squared());
    let distance = square.sqrt();
    let towards = -d.dot(g) / distance;
    if towards > 0.0 && rests(-approach / distance, towards, a.radius(), view, 0.0) {
        let surface =
            view.world.surface(view.state.material(a.index).into(), view.state.material(other).into());
        let (normal, speed) = (d / distance, approach / distance);
        if surface.restitution < 1.0
            && convert_to_resting(view, a, other as u32, normal, speed, &mut output.counts)
        {
            return;
        }
        // The chord that supports a sphere on a plane would leave a curved surface: the sphere hops instead.
        let gain = rebound(a, d / distance, -approach / distance, towards * view.frame.h);
        output.counts.dissipated -= gain;
        return;
    }
    if approach >= 0.0 {
        return;
    }
    let counts = &mut output.counts;
    let gap = distance - (a.radius() + radius);
    counts.late += u64::from(view.is_late(a.index, other as u32, t, gap));
    let surface = view.world.surface(view.state.material(a.index).into(), view.state.material(other).into());
    let (e, friction) = soften(view, surface, -approach / distance, t - a.spin.w, counts);
    let mass = 1.0 / a.inverse_mass();
    let j = impulse(d, w, (a.inverse_mass(), 0.0), e, w.length());
    let push = rub(friction, j, (d, w, a.radius() + radius), a, None, counts);
    a.push(push * a.inverse_mass());
    counts.pairs += 1;
    count_hit(view, a.index, other as u32, surface.restitution);
    counts.dissipated += along_chord(view, a.index, push);
    counts.virial += f64::from(j.dot(d));
    counts.dissipated += loss(mass, e, approach, square);
    if recorder.on {
        let point = a.offset() - d * (a.radius() / (a.radius() + radius));
        let (ida, idj) = (view.state.id[a.index], view.state.id[other]);
        let normal = d.as_dvec3().normalize_or(DVec3::X) * if ida < idj { 1.0 } else { -1.0 };
        let impulse = f64::from(j.length());
        let partner = Partner::Sphere(ida.max(idj));
        output.impacts.push(record(
            view,
            recorder,
            a,
            Hit { t, sphere: ida.min(idj), partner, point, normal, impulse },
        ));
    }
}

// Gives a sphere the least separation speed along `normal` with which it returns at most a few times in a substep. `gain`
// is the speed that gravity adds in a substep. Returns the energy gained.
fn rebound(a: &mut Body, normal: Vec3, approach: f32, gain: f32) -> f64 {
    let speed = REBOUND * gain;
    a.push(normal * (approach + speed));
    let (before, after) = (f64::from(approach), f64::from(speed));
    0.5 * (after * after - before * before) / f64::from(a.inverse_mass())
}

// Whether a sphere with this approach speed and acceleration towards its partner stays there.
fn rests(approach: f32, acceleration: f32, radius: f32, view: &View, returns: f32) -> bool {
    let slow = acceleration * (RESTING * view.frame.h).max(0.5 * returns);
    approach <= slow || approach * approach <= 2.0 * acceleration * radius * LOWEST_BOUNCE
}

// 1/2 mu (1 - e^2) times the square of the normal speed, with mu the reduced mass.
fn loss(reduced_mass: f32, e: f32, approach: f32, square: f32) -> f64 {
    let (m, e, approach) = (f64::from(reduced_mass), f64::from(e), f64::from(approach));
    0.5 * m * (1.0 - e * e) * approach * approach / f64::from(square)
}

/// An impact in scaled units, as the log records it.
struct Hit {
    t: f32,
    sphere: u32,
    partner: Partner,
    /// Offset in the cell of the sphere that resolved the impact, in the falling frame.
    point: Vec3,
    normal: DVec3,
    impulse: f64,
}

fn record(view: &View, recorder: Recorder, a: &Body, hit: Hit) -> Impact {
    let Hit { t, sphere, partner, point, normal, impulse } = hit;
    let fallen = view.world.gravity * (0.5 * t * t);
    let units = recorder.units;
    Impact {
        time: recorder.start + f64::from(t) * units.time,
        sphere,
        partner,
        point: view.grid.world(view.cell(a.index), point + fallen) * units.length,
        normal,
        impulse: impulse * units.mass * units.velocity(),
    }
}
