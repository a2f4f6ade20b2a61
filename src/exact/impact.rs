//! Computes and applies the impulses of impacts.

use glam::DVec3;

use super::{body::Body, world::World};
use crate::{Error, Impact, Partner};

// An impact is immediate if it follows the last one of its sphere within this share of a step. Regular impacts are far
// rarer: even at a packing of .73, spheres that collide a million times a step are 1000 times slower.
const AT_ONCE: f64 = 1e-9;

// A series of this many immediate impacts is assumed to have no end. A sphere inside a dense clump takes some hundreds when
// a shock passes through; a sphere at rest on a plane would take any number.
const ENDLESS: u32 = 20_000;

/// Contribution of an impact to the ledger.
pub(super) struct Blow {
    pub record: Impact,
    /// Distance of the centres times impulse; 0 for a wall.
    pub virial: f64,
    pub dissipated: f64,
    /// Whether the TC model made the impact elastic.
    pub softened: bool,
}

// Impulse along `normal`, energy lost, and whether the contact time made it elastic.
// `speed`: relative velocity along `normal`, negative when approaching.
fn restitute(
    speed: f64,
    reduced_mass: f64,
    restitution: f64,
    age: f64,
    contact_time: f64,
) -> (f64, f64, bool) {
    let softened = restitution < 1.0 && age < contact_time;
    let e = if softened { 1.0 } else { restitution };
    // Rounding may turn a grazing contact into a separating one.
    let approach = (-speed).max(0.0);
    ((1.0 + e) * reduced_mass * approach, 0.5 * reduced_mass * (1.0 - e * e) * approach * approach, softened)
}

fn touch(body: &mut Body, time: f64, dt: f64) {
    if body.fixed() {
        // Like a wall, a fixed sphere has no contact time: impacts on one side do not affect impacts on another.
        return;
    }
    body.hasty = if time - body.last_contact <= AT_ONCE * dt { body.hasty + 1 } else { 0 };
    body.last_contact = time;
    body.impacts = body.impacts.wrapping_add(1);
}

/// Resolves an impact of two spheres, both at `time`; the first has the smaller id.
pub(super) fn strike_pair(
    world: &World,
    bodies: &mut [Body],
    ids: &[u32],
    (i, j): (usize, usize),
    time: f64,
    start_time: f64,
) -> Result<Blow, Error> {
    let (a, b) = (bodies[i], bodies[j]);
    let d = world.nearest_image(a.position - b.position);
    let distance = d.length();
    // Coinciding centres define no normal: any direction conserves momentum and energy.
    let normal = if distance > 0.0 { d / distance } else { DVec3::X };
    let reduced_mass = 1.0 / (a.inverse_mass + b.inverse_mass);
    let restitution = world.restitution(a.material, b.material);
    let age = time - a.last_contact.max(b.last_contact);
    let (impulse, dissipated, softened) =
        restitute((a.velocity - b.velocity).dot(normal), reduced_mass, restitution, age, world.contact_time);
    bodies[i].velocity += normal * (impulse * a.inverse_mass);
    bodies[j].velocity -= normal * (impulse * b.inverse_mass);
    for k in [i, j] {
        touch(&mut bodies[k], time, world.dt);
        check(&bodies[k], ids)?;
        if bodies[k].hasty >= ENDLESS {
            let partner = format!("sphere {}", ids[bodies[i + j - k].number as usize]);
            return Err(endless(ids[bodies[k].number as usize], &partner, start_time + time));
        }
    }
    let share = a.radius / (a.radius + b.radius);
    let record = Impact {
        time: start_time + time,
        sphere: ids[a.number as usize],
        partner: Partner::Sphere(ids[b.number as usize]),
        point: world.origin + world.wrap(a.position - d * share),
        normal,
        impulse,
    };
    Ok(Blow { record, virial: distance * impulse, dissipated, softened })
}

/// Resolves an impact of a sphere, which is at `time`, on a plane.
pub(super) fn strike_wall(
    world: &World,
    bodies: &mut [Body],
    ids: &[u32],
    (i, wall): (usize, usize),
    time: f64,
    start_time: f64,
) -> Result<Blow, Error> {
    let plane = &world.planes[wall];
    let body = bodies[i];
    let restitution = world.restitution(body.material, plane.material);
    let (impulse, dissipated, softened) = restitute(
        body.velocity.dot(plane.normal),
        1.0 / body.inverse_mass,
        restitution,
        time - body.last_contact,
        world.contact_time,
    );
    bodies[i].velocity += plane.normal * (impulse * body.inverse_mass);
    touch(&mut bodies[i], time, world.dt);
    check(&bodies[i], ids)?;
    if bodies[i].hasty >= ENDLESS {
        return Err(endless(
            ids[body.number as usize],
            &format!("the wall {}", plane.name),
            start_time + time,
        ));
    }
    let record = Impact {
        time: start_time + time,
        sphere: ids[body.number as usize],
        partner: Partner::Wall(wall as u32),
        point: world.origin + world.wrap(body.position - plane.normal * body.radius),
        normal: plane.normal,
        impulse,
    };
    Ok(Blow { record, virial: 0.0, dissipated, softened })
}

pub(super) fn check(body: &Body, ids: &[u32]) -> Result<(), Error> {
    if body.finite() {
        return Ok(());
    }
    // The caller fills in the number of the last good step.
    Err(Error::NonFinite { id: ids[body.number as usize], last_good_step: 0 })
}

fn endless(id: u32, partner: &str, time: f64) -> Error {
    Error::NoProgress(format!(
        "exact: sphere {id} strikes {partner} without end at time {time}: {ENDLESS} impacts in a row, each within \
         {AT_ONCE:e} of a step of the one before. Spheres at rest are not modelled by this backend; use the backend cpu, \
         a longer contact time or a restitution nearer to 1"
    ))
}
