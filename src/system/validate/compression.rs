//! Validation of a compression.

use crate::{
    Compression, Dimensions, Side, System,
    system::{
        validate::{AXES, PERIOD_IN_RADII, require},
        validation_error::ValidationError,
    },
};

/// Largest relative shrinkage in a step. The distances of neighbours shrink by the same share; above this value most spheres
/// would overlap, not a few.
const MOST_SHARE: f64 = 0.01;

/// Densest packing of equal spheres, pi / sqrt(18), and of equal discs, pi / sqrt(12).
const DENSEST: [f64; 2] = [0.7405, 0.9069];

/// Relative tolerance for rounding in the packing fraction.
const SLACK: f64 = 1e-6;

impl System {
    /// The checks that need no spheres.
    pub(super) fn inspect_compression(&self) -> Result<(), ValidationError> {
        let Some(Compression { rate, fraction, pressure }) = self.compression else { return Ok(()) };
        let positive = |x: f64| x > 0.0 && x.is_finite();
        require(positive(rate), "compression.rate", rate, "a rate (1/time) is finite and > 0")?;
        let share = rate * self.dt;
        if share > MOST_SHARE {
            return Err(ValidationError::field(
                "compression.rate",
                format!("the box would lose {share} of its length in a step"),
                format!("at most {MOST_SHARE}: choose a smaller rate or world.dt"),
            ));
        }
        if fraction.is_none() && pressure.is_none() {
            return Err(ValidationError::field(
                "compression",
                "compression has no target",
                "give fraction or pressure",
            ));
        }
        if let Some(pressure) = pressure {
            require(
                positive(pressure),
                "compression.pressure",
                pressure,
                "a pressure (energy/volume) is finite and > 0",
            )?;
        }
        if let Some(fraction) = fraction {
            let densest = DENSEST[usize::from(self.dimensions == Dimensions::Two)];
            let right = fraction > 0.0 && fraction <= densest;
            let remedy = format!(
                "a packing fraction is > 0 and at most {densest}, that of equal spheres in perfect order"
            );
            require(right, "compression.fraction", fraction, &remedy)?;
        }
        let sides = &self.bounds.sides[..self.dimensions.count()];
        if let Some(axis) = sides.iter().position(|side| *side != Side::Periodic) {
            return Err(ValidationError::field(
                format!("bounds.{}", AXES[axis]),
                format!("the box is to be compressed, and {} is not periodic", AXES[axis]),
                "make every axis \"periodic\", or leave compression out",
            ));
        }
        if let Some(wall) = self.walls.first() {
            return Err(ValidationError::field(
                "walls[0]",
                format!("the box is to be compressed, and the wall {} stands in it", wall.name),
                "take the walls out, or leave compression out",
            ));
        }
        if self.has_flow() {
            let field = if self.sources.is_empty() { "sinks[0]" } else { "compression" };
            return Err(ValidationError::field(
                field,
                "the box is to be compressed, and spheres come or go",
                "take sources and sinks out, or leave compression out",
            ));
        }
        Ok(())
    }

    /// The checks that need the spheres.
    pub(super) fn inspect_squeezed(&self) -> Result<(), ValidationError> {
        let Some(compression) = self.compression else { return Ok(()) };
        if let Some(index) = self.spheres.iter().position(|s| s.fixed) {
            return Err(ValidationError::sphere(
                index,
                format!("the box is to be compressed, and sphere {} is fixed", self.spheres[index].id),
                "release it, or leave compression out",
            ));
        }
        let present = self.packing_fraction();
        if let Some(fraction) = compression.fraction {
            let ratio = (present / fraction).powf(1.0 / self.dimensions.count() as f64).min(1.0);
            let least = PERIOD_IN_RADII * self.spheres.iter().map(|s| s.radius).fold(0.0, f64::max);
            for (axis, name) in AXES.into_iter().enumerate() {
                let Some(period) = self.period(axis).filter(|period| period * ratio < least) else {
                    continue;
                };
                return Err(ValidationError::field(
                    "compression.fraction",
                    format!(
                        "at a packing fraction of {fraction} the period in {} is {}, too short for such spheres",
                        name,
                        period * ratio
                    ),
                    format!("it must be at least {least} (2.1 diameters): take more spheres"),
                ));
            }
        }
        match compression.fraction {
            Some(fraction) if fraction < present * (1.0 - SLACK) => Err(ValidationError::field(
                "compression.fraction",
                format!(
                    "compression.fraction is {fraction}, and spheres fill {present:.4} of the box from the start"
                ),
                "a box only shrinks: choose a larger one",
            )),
            _ => Ok(()),
        }
    }
}
