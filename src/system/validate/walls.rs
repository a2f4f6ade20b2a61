//! Validation of walls.

use std::f64::consts::PI;

use glam::DVec3;

use crate::{
    Dimensions, System, Wall, WallShape,
    system::{
        limits::{MOST_SUBSTEPS, MOST_TURN},
        validate::{AXES, finite, require},
        validation_error::ValidationError,
    },
};

/// Tolerance on the length of a normal. An impact on the wall changes the energy by this relative error.
const UNIT_SLACK: f64 = 1e-12;

/// Largest deviation of a direction that must lie along another.
const ALONG: f64 = 1e-9;

impl System {
    pub(super) fn inspect_wall_shapes(&self) -> Result<(), ValidationError> {
        for (index, wall) in self.walls.iter().enumerate() {
            let path = format!("walls[{index}]");
            self.inspect_shape(wall, &format!("{path}.{}", wall.shape.kind()))?;
            inspect_motion(wall, &path)?;
            self.inspect_pace(wall, &path)?;
            if self.dimensions == Dimensions::Two {
                inspect_flat(wall, &path)?;
            }
            let [from, until] = wall.span;
            let right = from < until;
            require(right, &format!("{path}.until"), until, "a wall is gone after it has appeared")?;
            let exists = usize::from(wall.material) < self.materials.len();
            require(exists, &format!("{path}.material"), wall.material, &self.material_range())?;
        }
        Ok(())
    }

    /// Rejects motion too fast for substeps to follow, and motion that does not map the periodic images of a wall onto each
    /// other.
    fn inspect_pace(&self, wall: &Wall, path: &str) -> Result<(), ValidationError> {
        let motion = &wall.motion;
        let swing = motion.oscillation.map_or(0.0, |o| std::f64::consts::TAU * o.frequency);
        let turn = motion.rotation.map_or(0.0, |r| r.speed.abs());
        let most = MOST_TURN * MOST_SUBSTEPS / self.dt;
        for (what, rate) in [("oscillation", swing), ("rotation", turn)] {
            if rate > most {
                return Err(ValidationError::field(
                    format!("{path}.{what}"),
                    format!("{path}.{what} advances by {} radian in a step", rate * self.dt),
                    format!("at most {} is possible: choose a smaller world.dt", MOST_TURN * MOST_SUBSTEPS),
                ));
            }
        }
        for (axis, name) in AXES.into_iter().enumerate().filter(|(axis, _)| self.period(*axis).is_some()) {
            let leaves = motion.velocity[axis] != 0.0;
            let turns = motion
                .rotation
                .is_some_and(|r| r.speed != 0.0 && r.axis.normalize()[axis].abs() < 1.0 - ALONG);
            if leaves || turns {
                return Err(ValidationError::field(
                    path,
                    format!("{path} moves along {name} or turns across it, and {name} is periodic"),
                    format!("make bounds.{name} \"wall\" or \"open\", or let the wall swing instead"),
                ));
            }
        }
        Ok(())
    }

    fn inspect_shape(&self, wall: &Wall, path: &str) -> Result<(), ValidationError> {
        let positive = |name: &str, value: f64| {
            let right = value > 0.0 && value.is_finite();
            require(right, &format!("{path}.{name}"), value, "a length is finite and > 0")
        };
        let direction = |name: &str, v: DVec3| {
            finite(&format!("{path}.{name}"), v)?;
            let right = v.length() > 0.0 && v.length().is_finite();
            require(right, &format!("{path}.{name}"), v, "a direction is not zero")
        };
        match &wall.shape {
            WallShape::Plane { point, normal } => {
                finite(&format!("{path}.point"), *point)?;
                finite(&format!("{path}.normal"), *normal)?;
                let length = normal.length();
                require(
                    (length - 1.0).abs() <= UNIT_SLACK,
                    &format!("{path}.normal"),
                    format!("{length} long"),
                    "a normal has length 1",
                )?;
                self.flat(&format!("{path}.normal"), *normal)?;
                for (axis, name) in AXES.into_iter().enumerate() {
                    if self.period(axis).is_some() && normal[axis] != 0.0 {
                        return Err(ValidationError::field(
                            path.replace(".plane", ".normal"),
                            format!("the plane lies across {name}, and {name} is periodic"),
                            format!("make bounds.{name} \"wall\" or \"open\", or turn the plane along it"),
                        ));
                    }
                }
                let tilts =
                    wall.motion.rotation.is_some_and(|r| r.axis.normalize().dot(*normal).abs() < 1.0 - ALONG);
                if tilts {
                    return Err(ValidationError::field(
                        path.replace(".plane", ".rotation"),
                        "the plane turns about an axis that is not its normal".to_owned(),
                        "far away it would move at any speed: use a box or a disc".to_owned(),
                    ));
                }
            }
            WallShape::Box { center, size, turn } => {
                finite(&format!("{path}.center"), *center)?;
                finite(&format!("{path}.turn"), *turn)?;
                AXES.into_iter()
                    .zip(size.to_array())
                    .try_for_each(|(name, edge)| positive(&format!("size.{name}"), edge))?;
            }
            WallShape::Cone { from, to, radii, .. } => {
                finite(&format!("{path}.from"), *from)?;
                direction("to", *to - *from)?;
                for (k, radius) in radii.iter().enumerate() {
                    let right = *radius >= 0.0 && radius.is_finite();
                    require(right, &format!("{path}.radii[{k}]"), radius, "a radius is finite and >= 0")?;
                }
                positive("radii", radii[0].max(radii[1]))?;
            }
            WallShape::Disc { center, normal, radius, hole } => {
                finite(&format!("{path}.center"), *center)?;
                direction("normal", *normal)?;
                positive("radius", *radius)?;
                let right = (0.0..*radius).contains(hole);
                require(
                    right,
                    &format!("{path}.hole"),
                    hole,
                    "the radius of a hole is >= 0 and smaller than the radius",
                )?;
            }
            WallShape::Sphere { center, radius, axis, angle } => {
                finite(&format!("{path}.center"), *center)?;
                positive("radius", *radius)?;
                direction("axis", *axis)?;
                let right = *angle > 0.0 && *angle <= PI + ALONG;
                require(right, &format!("{path}.angle"), angle, "an angle is > 0 and at most pi")?;
            }
            // The coordinates of a mesh are finite by construction.
            WallShape::Mesh(_) => {}
        }
        Ok(())
    }
}

fn inspect_motion(wall: &Wall, path: &str) -> Result<(), ValidationError> {
    let motion = &wall.motion;
    finite(&format!("{path}.velocity"), motion.velocity)?;
    if let Some(oscillation) = motion.oscillation {
        finite(&format!("{path}.oscillation.amplitude"), oscillation.amplitude)?;
        let frequency = oscillation.frequency;
        let right = frequency > 0.0 && frequency.is_finite();
        require(right, &format!("{path}.oscillation.frequency"), frequency, "a frequency is finite and > 0")?;
        let phase = oscillation.phase;
        require(phase.is_finite(), &format!("{path}.oscillation.phase"), phase, "an angle is finite")?;
    }
    if let Some(rotation) = motion.rotation {
        finite(&format!("{path}.rotation.point"), rotation.point)?;
        finite(&format!("{path}.rotation.axis"), rotation.axis)?;
        let right = rotation.axis.length() > 0.0;
        require(right, &format!("{path}.rotation.axis"), rotation.axis, "a direction is not zero")?;
        let speed = rotation.speed;
        require(speed.is_finite(), &format!("{path}.rotation.speed"), speed, "a speed is finite")?;
    }
    Ok(())
}

/// In 2D, rejects walls that are not upright on the plane, because they would push spheres out of the plane.
fn inspect_flat(wall: &Wall, path: &str) -> Result<(), ValidationError> {
    let upright = |v: DVec3| v.normalize().z.abs() > 1.0 - ALONG;
    let level = |v: DVec3| v.z == 0.0;
    let right = match &wall.shape {
        WallShape::Plane { .. } => true,
        WallShape::Box { center, size, turn } => {
            turn.x == 0.0 && turn.y == 0.0 && center.z == 0.0 && size.z > size.x.max(size.y)
        }
        WallShape::Cone { from, to, radii, closed } => {
            radii[0] == radii[1] && upright(*to - *from) && *closed == [false; 2] && from.z * to.z < 0.0
        }
        WallShape::Sphere { center, angle, .. } => center.z == 0.0 && *angle >= PI,
        WallShape::Disc { .. } | WallShape::Mesh(_) => false,
    };
    let motion = &wall.motion;
    let moves = level(motion.velocity)
        && motion.oscillation.is_none_or(|o| level(o.amplitude))
        && motion.rotation.is_none_or(|r| upright(r.axis));
    if right && moves {
        return Ok(());
    }
    Err(ValidationError::field(
        path,
        format!("{path} would push spheres out of the plane z = 0"),
        "in 2D use planes, boxes and cylinders that stand upright on both sides of it, or whole spheres in it, and move them along it",
    ))
}
