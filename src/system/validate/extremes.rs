//! Validation of magnitudes: refuses input that is valid but that no engine could step in reasonable time.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Side, Source, System,
    system::{
        limits::{
            COLLISIONS_PER_SUBSTEP, LEAST_STRIDE, LONGEST_PATH, MAGNITUDES, MOST_NEEDED, MOST_POURED,
            MOST_RATIO, MOST_SUBSTEPS, WIDEST, rest_need,
        },
        region::{Region, content},
        validate::{AXES, require},
        validation_error::{Place, ValidationError},
    },
};

/// Fast spheres that engines follow along their paths, each for itself; only a larger number counts as fast.
const FEW: usize = 8;

/// A diameter, and the place where it is given.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    pub diameter: f64,
    pub place: Place,
    /// Name in messages, for example `sphere 7`.
    pub name: String,
}

impl System {
    /// Rejects magnitudes of the world that no engine can handle.
    pub(super) fn inspect_scales(&self) -> Result<(), ValidationError> {
        let right = MAGNITUDES.contains(&self.dt);
        require(right, "world.dt", format!("{:e}", self.dt), "a step lies between 1e-70 and 1e70")?;
        let right = f64::from(self.solver.substeps) <= MOST_SUBSTEPS;
        require(
            right,
            "solver.substeps",
            self.solver.substeps,
            &format!("at most {MOST_SUBSTEPS} are possible: choose a smaller world.dt"),
        )?;
        Ok(())
    }

    /// Rejects a gravity in which resting contacts would need too many substeps; all radii are valid.
    pub(crate) fn inspect_need(&self, gravity: DVec3) -> Result<(), ValidationError> {
        inspect_need(self.dt, gravity, &self.sizes().collect::<Vec<_>>())
    }

    /// Rejects sizes too far apart, boxes too wide for the spheres, walls, sources and spheres too fast; all radii are valid.
    pub(super) fn inspect_extremes(&self) -> Result<(), ValidationError> {
        inspect_ratio(self.sizes())?;
        let Some(largest) = self.sizes().map(|size| size.diameter).reduce(f64::max) else { return Ok(()) };
        for (axis, name) in AXES.into_iter().enumerate().take(self.dimensions.count()) {
            let extent = self.bounds.max[axis] - self.bounds.min[axis];
            if self.bounds.sides[axis] != Side::Open && extent > WIDEST * largest {
                return Err(ValidationError::field(
                    "bounds.max",
                    format!(
                        "the box is {extent:e} long in {name}, {:.1e} diameters of the largest sphere",
                        extent / largest
                    ),
                    format!(
                        "at most {WIDEST:e} diameters are possible: make bounds.{name} \"open\" or the box smaller"
                    ),
                ));
            }
        }
        let unit = self.length_scale().unwrap_or(largest);
        self.inspect_wall_speeds(unit)?;
        self.inspect_speeds(unit)?;
        self.inspect_collisions()
    }

    /// Rejects a gas in a box in which spheres collide more often in a step than a step can resolve.
    fn inspect_collisions(&self) -> Result<(), ValidationError> {
        let Some(between) = self.enskog_time() else { return Ok(()) };
        // A few fast spheres collide often, but not the others: the estimate is that of the bulk.
        let bulk = self.bulk_speed() / self.velocity_spread();
        let collisions = self.dt / between * bulk.min(1.0);
        let most = COLLISIONS_PER_SUBSTEP * MOST_SUBSTEPS;
        // Without motion the time is infinite; where the box is absurd, it may be NaN.
        if collisions.is_nan() || collisions <= most {
            return Ok(());
        }
        Err(ValidationError::field(
            "world.dt",
            format!("each sphere collides about {collisions:.1e} times in a step of {:e}", self.dt),
            format!("at most {most:.0} are accepted: choose a smaller world.dt or lower speeds"),
        ))
    }

    // The diameters of all spheres that exist or may come.
    fn sizes(&self) -> impl Iterator<Item = Size> {
        let index = |a: &usize, b: &usize| self.spheres[*a].radius.total_cmp(&self.spheres[*b].radius);
        let all = || 0..self.spheres.len();
        let ends = [all().min_by(index), all().max_by(index)].into_iter().flatten();
        let standing = ends.map(|index| Size {
            diameter: 2.0 * self.spheres[index].radius,
            place: Place::Sphere(index),
            name: format!("sphere {}", self.spheres[index].id),
        });
        let coming = self.sources.iter().enumerate().flat_map(|(number, source)| {
            source.diameters.iter().map(move |&(diameter, _)| Size {
                diameter,
                place: Place::Field(format!("sources[{number}].diameters")),
                name: format!("a sphere of {}", source.name),
            })
        });
        standing.chain(coming)
    }

    // The mean diameter, as for the units of the engines; `None` without spheres.
    fn length_scale(&self) -> Option<f64> {
        let movable = self.spheres.iter().filter(|sphere| !sphere.fixed);
        let (count, sum) = movable.fold((0usize, 0.0), |(n, sum), sphere| (n + 1, sum + 2.0 * sphere.radius));
        (count > 0).then(|| sum / count as f64)
    }

    fn inspect_wall_speeds(&self, unit: f64) -> Result<(), ValidationError> {
        for (index, wall) in self.walls.iter().enumerate() {
            let path = self.dt * wall.motion.top_speed(0.0) / unit;
            if path > LONGEST_PATH {
                return Err(ValidationError::field(
                    format!("walls[{index}]"),
                    format!("the wall {} moves by {path:.1e} sphere diameters in a step", wall.name),
                    format!(
                        "at most {LONGEST_PATH:e} are accepted: move it more slowly, or choose a smaller world.dt"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Rejects a source that would pour too many or too fast spheres; its other fields are valid.
    pub(super) fn inspect_source_rate(&self, source: &Source, path: &str) -> Result<(), ValidationError> {
        // A source that began before the run pours everything due since then in the first step.
        let first = source.due(self.dt) as f64;
        let each = source.count.map_or(f64::INFINITY, |count| count as f64).min(source.rate * self.dt);
        let smallest = source.diameters.iter().map(|&(d, _)| d).fold(f64::INFINITY, f64::min);
        let volume = Region::new(self, Some((source.min, source.max))).volume();
        let room = volume / content(self.dimensions, 0.5 * smallest);
        let due = first.max(each);
        if due.min(room) > MOST_POURED {
            return Err(ValidationError::field(
                format!("{path}.rate"),
                format!("{path} pours {due:.1e} spheres in a step, into a box with room for {room:.1e}"),
                format!(
                    "at most {MOST_POURED:e} in a step are accepted: choose a smaller rate, count or box"
                ),
            ));
        }
        let strides = (source.velocity.length() + source.spread) * self.dt / (2.0 * source.largest_radius());
        if strides > LONGEST_PATH {
            return Err(ValidationError::field(
                format!("{path}.velocity"),
                format!("the spheres of {path} move by {strides:.1e} diameters in a step"),
                format!("at most {LONGEST_PATH:e} are accepted: choose a lower speed or a smaller world.dt"),
            ));
        }
        Ok(())
    }

    // Median velocity of the spheres that are not fixed, axis by axis.
    fn median_velocity(&self) -> DVec3 {
        let movable = self.spheres.par_iter().filter(|sphere| !sphere.fixed);
        let median = |axis: usize| {
            let mut values: Vec<f64> = movable.clone().map(|sphere| sphere.velocity[axis]).collect();
            let middle = values.len() / 2;
            if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
        };
        DVec3::from_array([0, 1, 2].map(median))
    }

    // Speed relative to the median that a few spheres exceed, one in ten of many.
    fn bulk_speed(&self) -> f64 {
        let median = self.median_velocity();
        let movable = self.spheres.par_iter().filter(|sphere| !sphere.fixed);
        let mut speeds: Vec<f64> = movable.map(|sphere| (sphere.velocity - median).length()).collect();
        let few = FEW.max(speeds.len() / 10);
        match speeds.len().checked_sub(few + 1) {
            Some(place) => *speeds.select_nth_unstable_by(place, f64::total_cmp).1,
            None => 0.0,
        }
    }

    /// Rejects systems in which many spheres are too fast relative to their median velocity, as engines measure it. Engines follow a few fast spheres
    /// along their paths, and report a path that is too long.
    fn inspect_speeds(&self, unit: f64) -> Result<(), ValidationError> {
        let movable = || self.spheres.par_iter().filter(|sphere| !sphere.fixed);
        let count = movable().count();
        let median = self.median_velocity();
        let needed = |v: DVec3| (v - median).length() * self.dt / (LEAST_STRIDE * unit);
        let fast = movable().filter(|sphere| needed(sphere.velocity) > MOST_NEEDED).count();
        if fast <= FEW.max(count / 10) {
            return Ok(());
        }
        let fastest = (0..self.spheres.len())
            .filter(|&index| !self.spheres[index].fixed)
            .max_by(|&a, &b| needed(self.spheres[a].velocity).total_cmp(&needed(self.spheres[b].velocity)))
            .unwrap_or(0);
        Err(ValidationError::sphere(
            fastest,
            format!(
                "{fast} of {count} spheres are so fast relative to the others that a step needs more than \
                 {MOST_NEEDED:e} substeps; sphere {} needs {:.1e}",
                self.spheres[fastest].id,
                needed(self.spheres[fastest].velocity)
            ),
            "choose a smaller world.dt or lower speeds",
        ))
    }
}

/// Rejects a gravity that would need too many substeps for spheres of these sizes in steps of `dt`.
pub(crate) fn inspect_need(dt: f64, gravity: DVec3, sizes: &[Size]) -> Result<(), ValidationError> {
    let order = |a: &&Size, b: &&Size| a.diameter.total_cmp(&b.diameter);
    let (Some(smallest), Some(largest)) = (sizes.iter().min_by(order), sizes.iter().max_by(order)) else {
        return Ok(());
    };
    // For resting contacts, and for the speed that a fall reaches within the step.
    let fall = gravity.length() * dt * dt / (LEAST_STRIDE * smallest.diameter);
    let needed = rest_need(dt, gravity.length(), [smallest.diameter, largest.diameter]).max(fall);
    // NaN comes from values that other checks refuse.
    if needed.is_nan() || needed <= MOST_NEEDED {
        return Ok(());
    }
    Err(ValidationError::field(
        "world.gravity",
        format!(
            "gravity of {:e} in steps of {dt:e} needs {needed:.1e} substeps in each for {} of diameter {:e}",
            gravity.length(),
            smallest.name,
            smallest.diameter
        ),
        format!(
            "at most {MOST_NEEDED:e} are accepted: choose a smaller world.dt, less gravity or larger spheres"
        ),
    ))
}

/// Rejects diameters out of range or too far apart.
pub(crate) fn inspect_ratio(sizes: impl Iterator<Item = Size>) -> Result<(), ValidationError> {
    let (mut least, mut most): (Option<Size>, Option<Size>) = (None, None);
    for size in sizes {
        if !MAGNITUDES.contains(&size.diameter) {
            return Err(ValidationError {
                problem: format!("{} has the diameter {:e}", size.name, size.diameter),
                remedy: "a diameter lies between 1e-70 and 1e70".to_owned(),
                place: size.place,
            });
        }
        if least.as_ref().is_none_or(|least| size.diameter < least.diameter) {
            least = Some(size.clone());
        }
        if most.as_ref().is_none_or(|most| size.diameter > most.diameter) {
            most = Some(size);
        }
    }
    let (Some(least), Some(most)) = (least, most) else { return Ok(()) };
    let ratio = most.diameter / least.diameter;
    // Rounding of the diameters must not refuse a ratio of just this value.
    if ratio <= MOST_RATIO * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(ValidationError {
        problem: format!(
            "{} has the diameter {:e}, and {} has {:e}: a ratio of {ratio:.1e}",
            least.name, least.diameter, most.name, most.diameter
        ),
        remedy: format!(
            "diameters may be at most {MOST_RATIO:e} times as large as others: leave out the smallest, or make them larger"
        ),
        place: least.place,
    })
}
