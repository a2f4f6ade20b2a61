//! Stage `audit`: sums kinetic energy and momentum over all spheres, classifies their speeds and counts non-finite states.

use glam::{DVec3, Vec3};

use crate::{
    cpu::parallel::Outputs,
    state::{
        columns::State,
        grid::Grid,
        sums::{CLASS_SHIFT, CLASSES, SAMPLE, Sums, median},
    },
};

/// Spheres summed by one task.
const PART: usize = 16 * 1024;

/// Sums of one task.
struct Part {
    kinetic: f64,
    spin: f64,
    mass_position: DVec3,
    momentum: DVec3,
    nonfinite: u64,
    first_nonfinite: u32,
    speeds: [u32; CLASSES],
}

impl Default for Part {
    fn default() -> Self {
        Self {
            kinetic: 0.0,
            spin: 0.0,
            mass_position: DVec3::ZERO,
            momentum: DVec3::ZERO,
            nonfinite: 0,
            first_nonfinite: u32::MAX,
            speeds: [0; CLASSES],
        }
    }
}

/// Buffers of the stage.
#[derive(Default)]
pub struct Audit {
    parts: Outputs<Part>,
    sample: Vec<f32>,
}

impl Audit {
    /// Sums over the state; speeds are relative to `drift`.
    pub fn run(&mut self, grid: &Grid, state: &State, drift: DVec3) -> Sums {
        let drift = drift.as_vec3();
        self.parts.run(state.len(), PART, |range, part| {
            *part = Part::default();
            for i in range {
                let velocity = state.velocity(i);
                // A speed whose square overflows counts as non-finite.
                let finite = velocity.length_squared().is_finite() && state.offset(i).is_finite();
                if !(finite && state.spin[i].is_finite()) {
                    part.nonfinite += 1;
                    part.first_nonfinite = part.first_nonfinite.min(state.id[i]);
                    continue;
                }
                // The leading bits of the square are its class, so no scale is needed. Fixed spheres count too, because
                // they move relative to the drift.
                part.speeds[((velocity - drift).length_squared().to_bits() >> CLASS_SHIFT) as usize] += 1;
                if state.inverse_mass(i) == 0.0 {
                    continue;
                }
                let mass = 1.0 / f64::from(state.inverse_mass(i));
                let center =
                    state.cell[i].truncate().as_dvec3() * grid.exact_edge + state.offset(i).as_dvec3();
                part.mass_position += center * mass;
                if velocity == Vec3::ZERO && state.spin[i].truncate() == Vec3::ZERO {
                    // It adds 0 to the other sums.
                    continue;
                }
                let v = velocity.as_dvec3();
                let spin = state.spin[i].truncate().as_dvec3();
                let inertia = 0.4 * f64::from(state.radius(i)) * f64::from(state.radius(i));
                part.kinetic += 0.5 * mass * (v.length_squared() + inertia * spin.length_squared());
                part.spin += 0.5 * mass * inertia * spin.length_squared();
                part.momentum += v * mass;
            }
        });
        let mut total = Part::default();
        for part in self.parts.iter() {
            total.kinetic += part.kinetic;
            total.spin += part.spin;
            total.momentum += part.momentum;
            total.mass_position += part.mass_position;
            total.nonfinite += part.nonfinite;
            total.first_nonfinite = total.first_nonfinite.min(part.first_nonfinite);
            total.speeds.iter_mut().zip(&part.speeds).for_each(|(a, b)| *a += b);
        }
        let sums = Sums {
            kinetic: total.kinetic,
            spin: total.spin,
            mass_position: total.mass_position,
            momentum: total.momentum,
            drift: self.median_velocity(state),
            nonfinite: total.nonfinite,
            first_nonfinite: total.first_nonfinite,
            ..Sums::default()
        };
        sums.with_speeds(&total.speeds, state.len() as u64)
    }
}

impl Audit {
    // Median of an even sample: the drift affects only the cost of a step, not its result.
    fn median_velocity(&mut self, state: &State) -> DVec3 {
        let stride = state.len().div_ceil(SAMPLE).max(1);
        DVec3::from_array(std::array::from_fn(|axis| {
            self.sample.clear();
            self.sample.extend((0..state.len()).step_by(stride).map(|i| state.motion[i][axis]));
            median(&mut self.sample)
        }))
    }
}
