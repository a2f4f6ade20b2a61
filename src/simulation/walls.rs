//! Forces on walls in the last step.

use crate::{Simulation, WallLoad};

impl Simulation {
    /// Force and torque on each wall in the last step, from impacts and resting contacts, in the order of
    /// [`System::all_walls`](crate::System::all_walls); empty on `exact`, which does not measure them.
    ///
    /// ```
    /// use carom::{Materials, Options, Simulation, Sphere, Surface, System, Wall, WallShape};
    /// use glam::DVec3;
    ///
    /// let mut system = System { gravity: DVec3::NEG_Z, dt: 0.1, materials: Materials::empty(), ..System::default() };
    /// system.materials.add("stone", Surface { restitution: 0.5, ..Surface::default() }, 1.0);
    /// let floor = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius: 2.0, hole: 0.0 };
    /// system.walls.push(Wall::new(floor, 0, "floor"));
    /// system.spheres.push(Sphere { position: DVec3::new(1.0, 0.0, 0.5), ..Sphere::default() });
    /// let mut simulation = Simulation::new(system, Options::default())?;
    /// for _ in 0..10 {
    ///     simulation.step()?;
    /// }
    /// let load = simulation.wall_loads()[0];
    /// assert!((load.force - DVec3::NEG_Z).length() < 1e-5);
    /// assert!((load.torque - DVec3::Y).length() < 1e-5);
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn wall_loads(&self) -> Vec<WallLoad> {
        self.engine.wall_loads()
    }
}
