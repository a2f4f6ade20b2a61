//! The complete state of the engine, and an engine that goes on from it.
//!
//! Predictions are part of the state: made anew from the same bodies, at other times, they would differ by rounding.

use glam::I64Vec3;

use super::{
    ExactEngine,
    body::{Body, Properties},
    grid::Grid,
    queue::Queue,
    slot::{Alone, Slot},
    world::World,
};
use crate::{
    Error, System,
    step::checkpoint::{ExactHead, ExactState},
};

impl ExactEngine {
    pub(super) fn state(&self) -> ExactState {
        let mut head = ExactHead {
            reference: self.world.reference,
            contact_time: self.world.contact_time,
            spin_energy: self.spin_energy,
            crossings: self.crossings,
            ..ExactHead::default()
        };
        self.grid.store(&mut head);
        let of_slot = |slot: &Slot| {
            let mut slot = *slot;
            slot.follow(self.steps, self.world.dt);
            slot.predictions()
        };
        ExactState {
            head,
            number: self.properties.iter().map(|p| p.number).collect(),
            position: self.bodies.iter().map(|body| body.position).collect(),
            velocity: self.bodies.iter().map(|body| body.velocity).collect(),
            clock: self.bodies.iter().map(|body| body.clock).collect(),
            cell: (0..self.bodies.len()).map(|i| I64Vec3::from_array(self.grid.cell(i))).collect(),
            impacts: self.properties.iter().map(|p| p.impacts).collect(),
            hasty: self.properties.iter().map(|p| p.hasty).collect(),
            predictions: self.slots.iter().map(of_slot).collect(),
        }
    }

    /// The engine that goes on from the state of another one with the same spheres, sorted by id.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub(crate) fn resume(system: &System, state: &ExactState) -> Result<Self, Error> {
        let ExactHead { reference, contact_time, spin_energy, crossings, .. } = state.head;
        let count = state.number.len();
        let sphere = |i: usize| &system.spheres[state.number[i] as usize];
        let mut world = World::new(system)?;
        (world.reference, world.contact_time) = (reference, contact_time);
        let mut engine = Self {
            spins: system.spheres.iter().map(|s| s.spin).collect(),
            spin_energy,
            world,
            bodies: (0..count)
                .map(|i| Body {
                    position: state.position[i],
                    velocity: state.velocity[i],
                    clock: state.clock[i],
                    radius: sphere(i).radius,
                })
                .collect(),
            properties: (0..count)
                .map(|i| Properties {
                    impacts: state.impacts[i],
                    hasty: state.hasty[i],
                    ..Properties::new(sphere(i), state.number[i])
                })
                .collect(),
            grid: Grid::resume(&state.head, system.dimensions.count(), count),
            queue: Queue::new(count),
            crossings,
            ..Self::default()
        };
        engine.slots = state.predictions.iter().map(|made| Slot::of(made, &state.number)).collect();
        for (i, cell) in state.cell.iter().enumerate() {
            engine.grid.insert_into(i, cell.to_array());
            engine.enqueue(i);
        }
        Ok(engine)
    }
}

impl Alone {
    /// Number of the event; see `Predictions::alone`.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Cross(axis, way) => 1 + 2 * u32::from(axis) + u32::from(way > 0),
            Self::Wall(wall) => 7 + wall,
        }
    }

    pub(super) fn of(code: u32) -> Self {
        match code {
            0 => Self::Nothing,
            1..7 => Self::Cross((code as u8 - 1) / 2, if code.is_multiple_of(2) { 1 } else { -1 }),
            _ => Self::Wall(code - 7),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn events_without_another_sphere_have_numbers_of_their_own() {
        let crossings = (0..3).flat_map(|axis| [-1, 1].map(|way| Alone::Cross(axis, way)));
        let all = [Alone::Nothing, Alone::Wall(0), Alone::Wall(9)].into_iter().chain(crossings);
        for event in all {
            assert_eq!(Alone::of(event.code()), event);
        }
    }

    // Predictions made by an earlier step are kept, so a resumed engine takes the same steps to the bit.
    #[test]
    fn a_resumed_engine_takes_the_same_steps() {
        use crate::{Bounds, Side, Sphere, step::engine::Engine};
        for gravity in [DVec3::ZERO, DVec3::new(0.0, 0.0, -0.3)] {
            let open = if gravity == DVec3::ZERO { Side::Periodic } else { Side::Open };
            let mut system = System {
                dt: 0.05,
                gravity,
                bounds: Bounds {
                    max: DVec3::splat(12.0),
                    sides: [Side::Periodic, Side::Wall, open],
                    ..Bounds::default()
                },
                ..System::default()
            };
            for k in 0..216_u32 {
                let place = glam::UVec3::new(k % 6, k / 6 % 6, k / 36).as_dvec3() * 2.0 + 0.7;
                let velocity =
                    DVec3::new(f64::from(k * 7 % 11) - 5.0, f64::from(k * 5 % 13) - 6.0, f64::from(k % 3));
                system.spheres.push(Sphere { id: 3 * k, position: place, velocity, ..Sphere::default() });
            }
            let mut whole = ExactEngine::new(&system).unwrap();
            let step =
                |engine: &mut ExactEngine, k: u32| engine.step(f64::from(k) * 0.05, None, false).unwrap();
            (0..60).for_each(|k| drop(step(&mut whole, k)));
            whole.read(&mut system.spheres).unwrap();
            let mut resumed = ExactEngine::resume(&system, &whole.state()).unwrap();
            let mut impacts = 0;
            for k in 60..120 {
                let reports = [&mut whole, &mut resumed].map(|engine| step(engine, k));
                assert_eq!(reports[0], reports[1], "step {k}");
                impacts += reports[0].pair_impacts;
                let spheres = [&whole, &resumed].map(|engine| {
                    let mut spheres = system.spheres.clone();
                    engine.read(&mut spheres).unwrap();
                    spheres
                });
                assert_eq!(spheres[0], spheres[1], "step {k}");
            }
            assert!(impacts > 100, "{impacts}");
        }
    }
}
