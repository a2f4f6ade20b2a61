//! Error bounds for a step that two engines take from equal states, and the comparison of the results within these bounds.
//!
//! The n-th impact of a pair (sphere, partner) in one engine is compared with the n-th impact of the same pair in the
//! other. The two times may differ by the position error of the pair divided by its normal speed; [`ErrorBounds`] tracks
//! the growth of this error from impact to impact. If the times differ by more, or if only one engine has the impact,
//! the impact is
//! - a near-tie, if the error leaves open whether the two spheres touch, or whether they touch before the end of the step;
//! - a follower of a near-tie, if one of its spheres took part in an earlier near-tie, because all later impacts of such a
//!   sphere may differ;
//! - a difference otherwise.
//!
//! After the step, the positions and velocities of all spheres have to agree, except for spheres of near-ties.

use std::collections::HashMap;

use glam::DVec3;

use super::{Agreement, Difference};
use crate::{Bounds, Impact, Partner, Sphere, System};

/// Rounding of a position, relative to a few cells and the path of the step: times and positions are f32 (6e-8), and a
/// handful of operations lead from one to the other, some of them fused on a device. A smaller value reports rounding as an
/// error; a larger one hides small errors.
pub const ROUNDING: f64 = 5e-7;

/// Rounding of a velocity at an impact, as a share of the speeds that meet and of [`ROUNDING`]: the impulse is a quotient
/// of two sums of three products times a quotient of masses.
const SPEED: f64 = 4.0;

/// Rounding of a sum of energies, as a share of the sum and of [`ROUNDING`]: 64 f32 in a row and then six times by halves,
/// each addition good to 6e-8.
const SUM: f64 = 8.0;

/// Speed whose square may underflow on a device, in largest diameters per step.
const SLOWEST: f64 = 1e-15;

/// The result of a step on one side.
pub struct Step {
    /// The impacts; their times count from the start of the step.
    pub impacts: Vec<Impact>,
    /// The spheres afterwards, by id.
    pub spheres: Vec<Sphere>,
    /// The box afterwards.
    pub bounds: Bounds,
    /// Kinetic energy in the report.
    pub kinetic_energy: f64,
}

/// Bounds on the errors of positions and velocities in the course of a step.
pub struct ErrorBounds<'a> {
    system: &'a System,
    is_rough: bool,
    rounding: f64,
    layout: HashMap<u32, usize>,
    velocity: Vec<DVec3>,
    /// Error of each position at the end of the step, as far as impacts have made it larger.
    error: Vec<f64>,
    /// Error of each velocity, and of the speed of each rim.
    speed_error: Vec<f64>,
    /// Bound on the part of spin and friction in each sphere's speed at the point of contact.
    rim: Vec<f64>,
    /// Spheres that took part in a near-tie.
    is_open: Vec<bool>,
    largest: f64,
}

pub struct Meeting {
    error: f64,
    /// Error of the time.
    pub time: f64,
    /// Whether the spheres may miss each other.
    pub grazes: bool,
    relative: f64,
    normal: f64,
    radius_sum: f64,
}

impl<'a> ErrorBounds<'a> {
    /// At the start of a step.
    pub fn new(system: &'a System, rounding: f64) -> Self {
        let spheres = &system.spheres;
        let is_rough = system.materials.surfaces().iter().any(|s| s.friction > 0.0);
        Self {
            system,
            is_rough,
            rounding,
            layout: spheres.iter().enumerate().map(|(k, s)| (s.id, k)).collect(),
            velocity: spheres.iter().map(|s| s.velocity).collect(),
            error: vec![0.0; spheres.len()],
            speed_error: vec![0.0; spheres.len()],
            rim: spheres.iter().map(|s| if is_rough { s.spin.length() * s.radius } else { 0.0 }).collect(),
            is_open: vec![false; spheres.len()],
            largest: spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max),
        }
    }

    fn knows(&self, impact: &Impact) -> bool {
        let has = |id: &u32| self.layout.contains_key(id);
        has(&impact.sphere) && !matches!(&impact.partner, Partner::Sphere(id) if !has(id))
    }

    fn members(&self, impact: &Impact) -> (usize, Option<usize>) {
        let other = match impact.partner {
            Partner::Sphere(id) => Some(self.layout[&id]),
            Partner::Wall(_) => None,
        };
        (self.layout[&impact.sphere], other)
    }

    /// The error bounds of an impact.
    pub fn meeting(&self, impact: &Impact) -> Meeting {
        let (a, b) = self.members(impact);
        let spheres = &self.system.spheres;
        let of_other = |value: &dyn Fn(usize) -> f64| b.map_or(0.0, value);
        let dt = self.system.dt;
        let fall = self.system.gravity.length() * dt;
        let rims = self.rim[a] + of_other(&|b| self.rim[b]);
        let way = (self.velocity[a].length() + of_other(&|b| self.velocity[b].length()) + fall + rims) * dt;
        let rounding = self.rounding * (4.0 * self.largest + way);
        let error = self.error[a] + of_other(&|b| self.error[b]) + rounding;
        // The impact reverses the normal speed; with a restitution below 1 it was larger than this.
        let inverse = spheres[a].inverse_mass() + of_other(&|b| spheres[b].inverse_mass());
        let normal = 0.5 * impact.impulse * inverse;
        let relative = (self.velocity[a] - b.map_or(DVec3::ZERO, |b| self.velocity[b])).length() + fall;
        let relative = relative.max(normal) + rims;
        let radius_sum = b.map_or(f64::INFINITY, |b| spheres[a].radius + spheres[b].radius);
        // Depth to which passing centres would come inside the radius sum: R (1 - sqrt(1 - (normal/relative)^2)).
        let depth = b.map_or(f64::INFINITY, |_| 0.5 * radius_sum * (normal / relative).powi(2));
        Meeting {
            error,
            time: error / normal.max(1e-6 * relative) + 0.4 * self.rounding * dt,
            grazes: depth <= error,
            relative,
            normal,
            radius_sum,
        }
    }

    // An impact changes velocities and increases their errors: an offset e across the line of approach turns the normal by
    // e / (R cos), and the velocities by up to twice that times the speed.
    fn pair_impact(&mut self, impact: &Impact) {
        let m = self.meeting(impact);
        let (a, b) = self.members(impact);
        let angle = m.error / m.radius_sum * (m.relative / m.normal.max(1e-6 * m.relative));
        let turned = 2.0 * m.relative * angle.min(1.0);
        let error = m.error + turned * (self.system.dt - impact.time).max(0.0);
        let met = self.speed_error[a] + b.map_or(0.0, |b| self.speed_error[b]);
        // Friction moves rims up to 5/2 times as far as centres, and the slip has the errors of both centres and both rims.
        let passed_on = if self.is_rough { 4.0 } else { 2.0 };
        let speed_error = passed_on * met + turned + SPEED * self.rounding * m.relative;
        let push = impact.normal * impact.impulse;
        let friction = self.friction(impact);
        for (k, push) in [(Some(a), push), (b, -push)] {
            if let Some(k) = k {
                let inverse_mass = self.system.spheres[k].inverse_mass();
                self.velocity[k] += push * inverse_mass;
                self.rim[k] += 3.5 * friction * impact.impulse * inverse_mass;
                self.error[k] = error;
                self.speed_error[k] = speed_error;
            }
        }
    }

    fn friction(&self, impact: &Impact) -> f64 {
        if !self.is_rough {
            return 0.0;
        }
        let (a, b) = self.members(impact);
        let system = self.system;
        let other = match (b, impact.partner) {
            (Some(b), _) => system.spheres[b].material,
            (None, Partner::Wall(wall)) => system.all_walls()[wall as usize].material,
            (None, Partner::Sphere(_)) => unreachable!("a sphere is a member"),
        };
        system.materials.surface(system.spheres[a].material, other).friction
    }

    fn is_open(&self, impact: &Impact) -> bool {
        let (a, b) = self.members(impact);
        self.is_open[a] || b.is_some_and(|b| self.is_open[b])
    }

    fn open(&mut self, impact: &Impact) {
        let (a, b) = self.members(impact);
        self.is_open[a] = true;
        b.into_iter().for_each(|b| self.is_open[b] = true);
    }
}

/// Compares the step of the device with that of the twin, and counts near-ties; `rounding` as [`ROUNDING`].
pub fn compare(
    system: &System,
    device: &Step,
    twin: &Step,
    rounding: f64,
) -> Result<Agreement, Box<Difference>> {
    if device.bounds != twin.bounds {
        let [device, twin] =
            [device, twin].map(|step| (step.bounds.max - step.bounds.min).to_array().to_vec());
        return Err(Box::new(Difference {
            id: None,
            what: "lengths of the box".to_owned(),
            device,
            twin,
            allowed: 0.0,
        }));
    }
    let entered;
    let system = if twin.bounds == system.bounds {
        system
    } else {
        entered = System { bounds: twin.bounds.clone(), ..system.clone() };
        &entered
    };
    let mut bounds = ErrorBounds::new(system, rounding);
    let mut agreement = Agreement { impacts: twin.impacts.len() as u64, ..Agreement::default() };
    compare_impacts(&mut bounds, &device.impacts, &twin.impacts, &mut agreement)?;
    compare_spheres(&bounds, &device.spheres, &twin.spheres, &mut agreement)?;
    compare_energy(system, device, rounding)?;
    Ok(agreement)
}

/// Compares the device's sum of the kinetic energies with the device's own spheres, because near-ties may change the energy.
pub fn compare_energy(system: &System, device: &Step, rounding: f64) -> Result<(), Box<Difference>> {
    let energy = device.spheres.iter().filter(|s| !s.fixed).map(kinetic_energy).sum::<f64>();
    // The squares of the slowest speeds underflow in f32.
    let largest = system.spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max);
    let slowest = SLOWEST * largest / system.dt;
    let underflow = 0.5 * slowest * slowest * system.spheres.iter().map(|s| s.mass).sum::<f64>();
    let allowed = SUM * rounding * energy + underflow;
    if (device.kinetic_energy - energy).abs() <= allowed {
        return Ok(());
    }
    let what = "sum of the kinetic energies".to_owned();
    let (device, twin) = (vec![device.kinetic_energy], vec![energy]);
    Err(Box::new(Difference { id: None, what, device, twin, allowed }))
}

fn kinetic_energy(s: &Sphere) -> f64 {
    0.5 * s.mass * (s.velocity.length_squared() + 0.4 * s.radius * s.radius * s.spin.length_squared())
}

fn compare_impacts(
    bounds: &mut ErrorBounds,
    device: &[Impact],
    twin: &[Impact],
    agreement: &mut Agreement,
) -> Result<(), Box<Difference>> {
    // The impacts of both sides by key; the n-th impact on one side belongs to the n-th on the other.
    let mut pairs: HashMap<(u32, Partner), [Vec<Impact>; 2]> = HashMap::new();
    for (side, impacts) in [device, twin].into_iter().enumerate() {
        for impact in impacts {
            pairs.entry((impact.sphere, impact.partner)).or_default()[side].push(*impact);
        }
    }
    let mut impacts: Vec<[Option<Impact>; 2]> = vec![];
    for [device, twin] in pairs.into_values() {
        impacts.extend(
            (0..device.len().max(twin.len())).map(|k| [device.get(k).copied(), twin.get(k).copied()]),
        );
    }
    // In the order of time: earlier impacts change the bounds of later ones.
    let time = |sides: &[Option<Impact>; 2]| sides.iter().flatten().map(|i| i.time).fold(f64::MAX, f64::min);
    let key = |sides: &[Option<Impact>; 2]| sides.iter().flatten().map(|i| (i.sphere, i.partner)).next();
    impacts.sort_by(|a, b| time(a).total_cmp(&time(b)).then_with(|| key(a).cmp(&key(b))));
    for sides in impacts {
        let impact = sides[1].or(sides[0]).expect("of one side at least");
        let differs = |allowed: f64| {
            let times = sides.map(|side| side.map_or(vec![], |impact| vec![impact.time]));
            Err(Box::new(Difference::of_impact(&impact, times, allowed)))
        };
        if !bounds.knows(&impact) {
            return differs(0.0);
        }
        let meeting = bounds.meeting(&impact);
        let agree = match sides {
            [Some(a), Some(b)] => {
                let share = (a.time - b.time).abs() / meeting.time;
                if share <= 1.0 {
                    agreement.worst = agreement.worst.max(share);
                }
                share <= 1.0
            }
            _ => false,
        };
        if !agree {
            let at_end = bounds.system.dt - time(&sides) <= meeting.time;
            if !(at_end || meeting.grazes || bounds.is_open(&impact)) {
                return differs(meeting.time);
            }
            if bounds.is_open(&impact) {
                agreement.followers += 1;
            } else {
                agreement.near_ties += 1;
            }
            bounds.open(&impact);
        }
        if sides[1].is_some() {
            bounds.pair_impact(&impact);
        }
    }
    Ok(())
}

// Compares positions and velocities after the step, except for spheres of near-ties.
fn compare_spheres(
    bounds: &ErrorBounds,
    device: &[Sphere],
    twin: &[Sphere],
    agreement: &mut Agreement,
) -> Result<(), Box<Difference>> {
    let system = bounds.system;
    let fall = system.gravity.length() * system.dt;
    for (k, (a, b)) in device.iter().zip(twin).enumerate() {
        if bounds.is_open[k] {
            continue;
        }
        agreement.spheres += 1;
        let speed = system.spheres[k].velocity.length().max(b.velocity.length()) + fall;
        let place = bounds.error[k] + bounds.rounding * (4.0 * bounds.largest + speed * system.dt);
        let rim = if bounds.is_rough { bounds.rim[k] } else { 0.0 };
        let velocity = bounds.speed_error[k] + SPEED * bounds.rounding * (speed + rim);
        // Impacts of smooth spheres do not change the spin.
        let spin = if bounds.is_rough { 3.0 * velocity / system.spheres[k].radius } else { 0.0 };
        for (what, apart, allowed, values) in [
            ("place", system.separation(a.position, b.position), place, [a.position, b.position]),
            ("velocity", a.velocity - b.velocity, velocity, [a.velocity, b.velocity]),
            ("spin", a.spin - b.spin, spin, [a.spin, b.spin]),
        ] {
            let share = apart.length() / allowed;
            if apart == DVec3::ZERO || share <= 1.0 {
                agreement.worst = agreement.worst.max(if apart == DVec3::ZERO { 0.0 } else { share });
                continue;
            }
            let [device, twin] = values.map(|v| v.to_array().to_vec());
            return Err(Box::new(Difference {
                id: Some(a.id),
                what: what.to_owned(),
                device,
                twin,
                allowed,
            }));
        }
    }
    Ok(())
}
