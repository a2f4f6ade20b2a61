//! Validation of drag, sources and sinks.

use crate::{
    Sink, Source, System,
    system::{
        region::Region,
        validate::{AXES, finite, inspect_diameters, require},
        validation_error::ValidationError,
    },
};

impl System {
    pub(super) fn inspect_flow(&self) -> Result<(), ValidationError> {
        let right = self.drag >= 0.0 && self.drag.is_finite();
        require(right, "world.drag", self.drag, "a drag (1/time) is finite and >= 0")?;
        for (index, source) in self.sources.iter().enumerate() {
            self.inspect_source(source, &format!("sources[{index}]"))?;
        }
        for (index, sink) in self.sinks.iter().enumerate() {
            self.inspect_sink(sink, &format!("sinks[{index}]"))?;
            if self.sinks[..index].iter().any(|other| other.name == sink.name) {
                return Err(ValidationError::field(
                    format!("sinks[{index}].name"),
                    format!("there are two sinks called {:?}", sink.name),
                    "give each a unique name",
                ));
            }
        }
        Ok(())
    }

    /// Rejects an invalid source; messages call it `path`.
    pub(crate) fn inspect_source(&self, source: &Source, path: &str) -> Result<(), ValidationError> {
        finite(&format!("{path}.min"), source.min)?;
        finite(&format!("{path}.max"), source.max)?;
        self.inspect_box(path, |axis| (source.min[axis], source.max[axis]))?;
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let rate = source.rate;
        require(positive(rate), &format!("{path}.rate"), rate, "a rate (spheres/time) is finite and > 0")?;
        let [from, until] = [source.from, source.until];
        require(from.is_finite(), &format!("{path}.from"), from, "a time is finite")?;
        require(until > from, &format!("{path}.until"), until, "a source ends after it has begun")?;
        inspect_diameters(path, &source.diameters)?;
        finite(&format!("{path}.velocity"), source.velocity)?;
        self.flat(&format!("{path}.velocity"), source.velocity)?;
        let right = source.spread >= 0.0 && source.spread.is_finite();
        require(right, &format!("{path}.spread"), source.spread, "a speed is finite and >= 0")?;
        let exists = usize::from(source.material) < self.materials.len();
        require(exists, &format!("{path}.material"), source.material, &self.material_range())?;
        self.inspect_periods(source.largest_radius())?;
        self.inspect_place(source, path)?;
        self.inspect_source_rate(source, path)
    }

    fn inspect_sink(&self, sink: &Sink, path: &str) -> Result<(), ValidationError> {
        self.inspect_box(path, |axis| (sink.min[axis], sink.max[axis]))?;
        require(sink.every > 0, &format!("{path}.every"), sink.every, "a number of steps is >= 1")
    }

    fn inspect_box(&self, path: &str, ends: impl Fn(usize) -> (f64, f64)) -> Result<(), ValidationError> {
        for (axis, name) in AXES.into_iter().enumerate().take(self.dimensions.count()) {
            let (low, high) = ends(axis);
            // NaN compares above nothing, and is rejected too.
            if low.partial_cmp(&high).is_none_or(|order| order.is_ge()) {
                return Err(ValidationError::field(
                    format!("{path}.max"),
                    format!("{path} runs from {low} to {high} in {name}"),
                    "its upper corner lies above its lower corner",
                ));
            }
        }
        Ok(())
    }

    /// Rejects a source whose largest sphere does not fit even into an empty box.
    fn inspect_place(&self, source: &Source, path: &str) -> Result<(), ValidationError> {
        for (axis, name) in AXES.into_iter().enumerate().filter(|&(axis, _)| self.period(axis).is_some()) {
            let (low, high) = (self.bounds.min[axis], self.bounds.max[axis]);
            if source.min[axis] < low || source.max[axis] > high {
                return Err(ValidationError::field(
                    format!("{path}.min"),
                    format!(
                        "{path} runs from {} to {} in {name}, and the bounds from {low} to {high}",
                        source.min[axis], source.max[axis]
                    ),
                    format!("keep it inside the bounds, because {name} is periodic"),
                ));
            }
        }
        let radius = source.largest_radius();
        let diameter = 2.0 * radius;
        let region = Region::new(self, Some((source.min, source.max)));
        let Some((low, high)) = region.centers(radius) else {
            return Err(ValidationError::field(
                format!("{path}.max"),
                format!("{path} is too small for spheres of diameter {diameter}"),
                "on every axis it is longer than the largest diameter",
            ));
        };
        for plane in self.planes() {
            // The corner of the box furthest in front of the plane.
            let mut corner = low;
            for axis in 0..3 {
                if plane.normal[axis] > 0.0 {
                    corner[axis] = high[axis];
                }
            }
            if plane.normal.dot(corner - plane.point) <= radius {
                return Err(ValidationError::field(
                    format!("{path}.min"),
                    format!(
                        "{path} has no room for spheres of diameter {diameter} in front of the wall {}",
                        plane.name
                    ),
                    "move it to the free side, inside the bounds",
                ));
            }
        }
        Ok(())
    }
}
