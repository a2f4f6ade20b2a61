//! Converts resting contacts to the user's units.

use crate::state::warm_start::ContactImpulse;
use glam::{DVec3, Vec3};

use crate::{
    Contact, Partner,
    state::{
        columns::State,
        constants::{side_of, wall_of},
        grid::Grid,
        units::Units,
    },
    walls::{features::Instant, world::World},
};

/// The geometry that a contact is computed from.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub units: &'a Units,
    pub grid: &'a Grid,
    pub world: &'a World,
    pub state: &'a State,
}

/// The other side of a contact: the index of a sphere, or a wall as contact constraints encode it.
#[derive(Clone, Copy, Debug)]
pub enum Other {
    Sphere(usize),
    Wall(u32),
}

impl Ground<'_> {
    /// The contact of sphere `i` with `other` at the current positions; `impulse` acted over a substep of length `h`.
    pub fn contact(&self, i: usize, other: Other, impulse: ContactImpulse, h: f32) -> Contact {
        let Self { units, grid, world, state } = *self;
        let (cell, offset) = (state.cell[i].truncate(), state.offset(i));
        let radius = f64::from(state.radius(i));
        let (partner, branch, normal, gap, share) = match other {
            Other::Wall(partner) => {
                let k = wall_of(partner);
                let (number, normal, height) = match world.walls.get(k) {
                    Some(wall) => {
                        let normal = wall.normal.as_dvec3();
                        let from = grid.shift(cell - wall.cell) + (offset - wall.offset);
                        (wall.number, normal, normal.dot(from.as_dvec3()))
                    }
                    None => {
                        let features = &world.features;
                        let feature = &features.all[k - world.walls.len()];
                        let velocity = Vec3::ZERO;
                        let at = Instant { cell, offset, velocity, radius: radius as f32, t: 0.0 };
                        let sight = features.sight(grid, feature, &at, Vec3::ZERO);
                        let near = feature.shape.side(sight.x, side_of(partner));
                        let near = near.unwrap_or_else(|| features.near(feature, sight.x));
                        let normal = features.out(feature, near.normal, 0.0).as_dvec3();
                        (feature.wall, normal, f64::from(near.distance))
                    }
                };
                (Partner::Wall(number), normal * height, normal, height - radius, radius)
            }
            Other::Sphere(j) => {
                let cells = grid.nearest(cell - state.cell[j].truncate());
                let branch = (grid.shift(cells) + (offset - state.offset(j))).as_dvec3();
                let (distance, sum) = (branch.length(), radius + f64::from(state.radius(j)));
                let normal = branch.normalize_or(DVec3::X);
                (Partner::Sphere(state.id[j]), branch, normal, distance - sum, radius * distance / sum)
            }
        };
        let force = units.mass * units.velocity() / units.time;
        let pressed = normal * f64::from(impulse.normal) + impulse.tangent.as_dvec3();
        let (cell, offset) = grid.settle(cell, offset);
        Contact {
            sphere: state.id[i],
            partner,
            point: (grid.world(cell, offset) - normal * share) * units.length,
            normal,
            branch: branch * units.length,
            gap: gap * units.length,
            force: pressed * (force / f64::from(h)),
            torque: impulse.moment.as_dvec3() * (force * units.length / f64::from(h)),
        }
    }
}

/// Sorts contacts by id.
pub fn sort(contacts: &mut [Contact]) {
    contacts.sort_by_key(|contact| (contact.sphere, contact.partner));
}
