//! The world around the spheres: planes, periods, gravity and drag.

use glam::DVec3;

use crate::{Backend, Error, Materials, System};

/// All parts of a [`System`] except its spheres, in coordinates relative to `origin`.
#[derive(Default)]
pub(super) struct World {
    pub axes: usize,
    /// Lower corner on the bounded axes, so that coordinates are small wherever the scene lies.
    pub origin: DVec3,
    /// Length of the period on each axis; 0 on axes without one.
    pub periods: DVec3,
    pub gravity: DVec3,
    pub dt: f64,
    /// Fraction of a velocity that remains after half a step of drag.
    pub slowing: f64,
    /// t_c of the TC model.
    pub contact_time: f64,
    /// Position of zero potential energy.
    pub reference: DVec3,
    pub planes: Vec<Surface>,
    materials: usize,
    restitution: Vec<f64>,
}

/// A plane as `normal . x = offset`.
pub(super) struct Surface {
    pub normal: DVec3,
    pub offset: f64,
    pub material: u16,
    pub name: String,
}

impl Surface {
    /// Gap between the plane and a sphere.
    pub fn gap(&self, position: DVec3, radius: f64) -> f64 {
        self.normal.dot(position) - self.offset - radius
    }
}

impl World {
    pub fn new(system: &System) -> Result<Self, Error> {
        let axes = system.dimensions.count();
        Backend::Exact.supports(system)?;
        let mut world = Self {
            axes,
            gravity: system.gravity,
            dt: system.dt,
            slowing: (-0.5 * system.drag * system.dt).exp(),
            contact_time: system.contact_time(),
            materials: system.materials.len(),
            restitution: system.materials.surfaces().iter().map(|s| s.restitution).collect(),
            ..Self::default()
        };
        for axis in 0..axes {
            if system.bounds.sides[axis] != crate::Side::Open {
                world.origin[axis] = system.bounds.min[axis];
            }
            if let Some(period) = system.period(axis) {
                world.periods[axis] = period;
                if world.gravity[axis] != 0.0 {
                    return Err(Error::Unsupported(format!(
                        "exact: gravity along the periodic axis {}; no backend does this, use walls or an open \
                         side there",
                        ["x", "y", "z"][axis]
                    )));
                }
            }
        }
        world.reference = system.gravity_reference() - world.origin;
        world.planes = system
            .planes()
            .into_iter()
            .map(|plane| Surface {
                normal: plane.normal,
                offset: plane.normal.dot(plane.point - world.origin),
                material: plane.material,
                name: plane.name,
            })
            .collect();
        Ok(world)
    }

    pub fn restitution(&self, a: u16, b: u16) -> f64 {
        self.restitution[a as usize * self.materials + b as usize]
    }

    /// The shortest of the images of `d`.
    pub fn nearest_image(&self, mut d: DVec3) -> DVec3 {
        for axis in 0..self.axes {
            let period = self.periods[axis];
            if period > 0.0 {
                d[axis] -= period * (d[axis] / period).round();
            }
        }
        d
    }

    /// `position` wrapped into the periods; unchanged to the bit if it is inside already.
    pub fn wrap(&self, mut position: DVec3) -> DVec3 {
        for axis in 0..self.axes {
            let (period, x) = (self.periods[axis], position[axis]);
            if period > 0.0 && !(0.0..period).contains(&x) {
                let wrapped = x - period * (x / period).floor();
                position[axis] = if wrapped < period { wrapped } else { 0.0 };
            }
        }
        position
    }
}

// This engine supports only frictionless surfaces with one restitution for all speeds.
pub fn refuse_rough(materials: &Materials) -> Result<(), Error> {
    let indices = 0..materials.len() as u16;
    for (a, b) in indices.clone().flat_map(|a| indices.clone().map(move |b| (a, b))) {
        let surface = materials.surface(a, b);
        let others = [
            ("friction", surface.friction),
            ("rolling_friction", surface.rolling_friction),
            ("twisting_friction", surface.twisting_friction),
            ("restitution_threshold", surface.restitution_threshold),
        ];
        let Some((what, _)) = others.into_iter().find(|&(_, value)| value > 0.0) else { continue };
        let (a, b) = (materials.name(a), materials.name(b));
        return Err(Error::Unsupported(format!(
            "exact: {what} between {a} and {b}; this backend does restitution alone, use cpu or gpu"
        )));
    }
    Ok(())
}
