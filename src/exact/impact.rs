//! Computes and applies the impulses of impacts.

use glam::DVec3;

use super::{ExactEngine, body::Properties};
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

impl ExactEngine {
    /// Resolves an impact of two spheres, both at `time`; the first has the smaller id.
    pub(super) fn strike_pair(
        &mut self,
        (i, j): (usize, usize),
        time: f64,
        start_time: f64,
    ) -> Result<Blow, Error> {
        let world = &self.world;
        let (a, b) = (self.bodies[i], self.bodies[j]);
        let (a_is, b_is) = (self.properties[i], self.properties[j]);
        let d = world.nearest_image(a.position - b.position);
        let distance = d.length();
        // Coinciding centres define no normal: any direction conserves momentum and energy.
        let normal = if distance > 0.0 { d / distance } else { DVec3::X };
        let reduced_mass = 1.0 / (a_is.inverse_mass + b_is.inverse_mass);
        let restitution = world.restitution(a_is.material, b_is.material);
        let age = time - self.slots[i].last_contact.max(self.slots[j].last_contact);
        let speed = (a.velocity - b.velocity).dot(normal);
        let (impulse, dissipated, softened) =
            restitute(speed, reduced_mass, restitution, age, world.contact_time);
        self.bodies[i].velocity += normal * (impulse * a_is.inverse_mass);
        self.bodies[j].velocity -= normal * (impulse * b_is.inverse_mass);
        for k in [i, j] {
            self.touch(k, time);
            self.check(k)?;
            if self.properties[k].hasty >= ENDLESS {
                let partner = format!("sphere {}", self.id(i + j - k));
                return Err(endless(self.id(k), &partner, start_time + time));
            }
        }
        let share = a.radius / (a.radius + b.radius);
        let record = Impact {
            time: start_time + time,
            sphere: self.id(i),
            partner: Partner::Sphere(self.id(j)),
            point: self.world.origin + self.world.wrap(a.position - d * share),
            normal,
            impulse,
        };
        Ok(Blow { record, virial: distance * impulse, dissipated, softened })
    }

    /// Resolves an impact of a sphere, which is at `time`, on a plane.
    pub(super) fn strike_wall(
        &mut self,
        (i, wall): (usize, usize),
        time: f64,
        start_time: f64,
    ) -> Result<Blow, Error> {
        let plane = &self.world.planes[wall];
        let normal = plane.normal;
        let body = self.bodies[i];
        let Properties { inverse_mass, material, .. } = self.properties[i];
        let (impulse, dissipated, softened) = restitute(
            body.velocity.dot(normal),
            1.0 / inverse_mass,
            self.world.restitution(material, plane.material),
            time - self.slots[i].last_contact,
            self.world.contact_time,
        );
        self.bodies[i].velocity += normal * (impulse * inverse_mass);
        self.touch(i, time);
        self.check(i)?;
        if self.properties[i].hasty >= ENDLESS {
            let partner = format!("the wall {}", self.world.planes[wall].name);
            return Err(endless(self.id(i), &partner, start_time + time));
        }
        let record = Impact {
            time: start_time + time,
            sphere: self.id(i),
            partner: Partner::Wall(wall as u32),
            point: self.world.origin + self.world.wrap(body.position - normal * body.radius),
            normal,
            impulse,
        };
        Ok(Blow { record, virial: 0.0, dissipated, softened })
    }

    fn touch(&mut self, i: usize, time: f64) {
        let (properties, slot) = (&mut self.properties[i], &mut self.slots[i]);
        if properties.fixed() {
            // Like a wall, a fixed sphere has no contact time: impacts on one side do not affect impacts on another.
            return;
        }
        let at_once = time - slot.last_contact <= AT_ONCE * self.world.dt;
        properties.hasty = if at_once { properties.hasty + 1 } else { 0 };
        slot.last_contact = time;
        properties.impacts = properties.impacts.wrapping_add(1);
    }

    /// An error if the state of a sphere is not finite.
    pub(super) fn check(&self, i: usize) -> Result<(), Error> {
        if self.bodies[i].finite() {
            return Ok(());
        }
        // The caller fills in the number of the last good step.
        Err(Error::NonFinite { id: self.id(i), last_good_step: 0 })
    }
}

fn endless(id: u32, partner: &str, time: f64) -> Error {
    Error::NoProgress(format!(
        "exact: sphere {id} strikes {partner} without end at time {time}: {ENDLESS} impacts in a row, each within \
         {AT_ONCE:e} of a step of the one before. Spheres at rest are not modelled by this backend; use the backend cpu, \
         a longer contact time or a restitution nearer to 1"
    ))
}
