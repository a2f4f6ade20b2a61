//! Lasting contacts, their forces, and the stress tensor computed from the forces.

use glam::{DMat3, DVec3};

use crate::{Error, Partner, Sphere, System};

/// A lasting contact: two spheres, or a sphere and a wall, that pressed on each other throughout the last substep of a
/// step. [`Simulation::contacts`](crate::Simulation::contacts) lists them.
///
/// The opposite of `force` and `torque` acts on the partner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Id of the sphere; of two spheres the smaller id.
    pub sphere: u32,
    /// The other side of the contact.
    pub partner: Partner,
    /// Contact point (length). Between two spheres it divides the line of centres in the ratio of the radii. With periodic
    /// axes this is the image next to `sphere`, which may lie outside the box.
    pub point: DVec3,
    /// Unit vector from the partner to `sphere`.
    pub normal: DVec3,
    /// Branch vector (length): from the centre of the partner to the centre of `sphere`, by the shortest path across
    /// periodic axes; for a wall, from the nearest point of the wall to the centre.
    pub branch: DVec3,
    /// Distance of the surfaces (length); negative where they overlap.
    pub gap: f64,
    /// Mean force on `sphere` (mass * length / time^2): >= 0 along `normal`; the component across it is friction.
    pub force: DVec3,
    /// Mean torque on `sphere` from rolling and twisting resistance (mass * length^2 / time^2). The torque of `force` is
    /// not included.
    pub torque: DVec3,
}

impl Contact {
    /// Force times branch (energy): the contribution of the contact to stress times volume. Column k is the force times the
    /// k-th component of the branch.
    pub fn moment(&self) -> DMat3 {
        let Self { force, branch, .. } = *self;
        DMat3::from_cols(force * branch.x, force * branch.y, force * branch.z)
    }
}

/// Mean stress of contacts in a volume (mass / (length * time^2), pressure positive): the sum of [`Contact::moment`]
/// divided by the volume (> 0), usually that of the whole box. Entry (i, k) is the i-th component of the force per unit
/// area through a plane normal to axis k. At rest, without torques, the tensor is symmetric. A contact with a wall
/// counts with the path from the wall to the centre. The kinetic part of the stress is not included.
///
/// ```
/// use carom::{Materials, Options, Plane, Simulation, Sphere, Surface, System, contact_stress};
/// use glam::DVec3;
///
/// // Three spheres of mass 1 on top of each other on a floor.
/// let mut system = System { gravity: -DVec3::Z, dt: 0.05, ..System::default() };
/// system.materials = Materials::empty();
/// let surface = Surface { restitution: 0.5, friction: 0.5, ..Surface::default() };
/// system.materials.add("stone", surface, 1.0);
/// system.walls.push(Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() }.into());
/// for id in 0..3 {
///     system.spheres.push(Sphere { id, position: DVec3::Z * (f64::from(id) + 0.5), ..Sphere::default() });
/// }
/// let mut simulation = Simulation::new(system, Options::default())?;
/// simulation.run(40, |_| std::ops::ControlFlow::Continue(()))?;
///
/// let contacts = simulation.contacts()?;
/// // In the order of the ids, spheres before planes: 0 on 1, 0 on the floor, 1 on 2.
/// let carried: Vec<f64> = contacts.iter().map(|contact| contact.force.length()).collect();
/// assert!(carried.iter().zip([2.0, 3.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-3), "{carried:?}");
/// // In a box of 1 x 1 x 2.5, up to the highest centre: (3 * 0.5 + 2 * 1 + 1 * 1) / 2.5.
/// assert!((contact_stress(&contacts, 2.5).z_axis.z - 1.8).abs() < 1e-2);
/// # Ok::<(), carom::Error>(())
/// ```
pub fn contact_stress(contacts: &[Contact], volume: f64) -> DMat3 {
    contacts.iter().map(Contact::moment).sum::<DMat3>() * (1.0 / volume)
}

/// Largest number of cells in a grid: 9.7 GB of tensors. A larger number is almost certainly a mistake.
const MOST_CELLS: usize = 1 << 27;

/// A box divided into equal cells, for averages over each cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis. In 2D the third extent is the thickness and must contain z =
    /// 0. Along a periodic axis the extent is at most the period.
    pub max: DVec3,
    /// Cells along x, y and z, each at least 1.
    pub count: [usize; 3],
}

impl Cells {
    /// Number of all cells.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a count is 0, or the corners are not finite or not in order; [`Error::Capacity`] for more than
    /// 2^27 cells.
    pub fn total(&self) -> Result<usize, Error> {
        let Self { min, max, count } = *self;
        if count.contains(&0) {
            return Err(Error::Invalid(format!("{count:?} cells; expected at least 1 along each axis")));
        }
        if !(min.is_finite() && max.is_finite() && min.cmplt(max).all()) {
            return Err(Error::Invalid(format!(
                "cells from {min} to {max}; expected finite corners, the lower one first on every axis"
            )));
        }
        let [x, y, z] = count;
        x.checked_mul(y).and_then(|area| area.checked_mul(z)).filter(|&all| all <= MOST_CELLS).ok_or_else(
            || Error::Capacity(format!("{x} x {y} x {z} cells; at most {MOST_CELLS} are possible")),
        )
    }

    /// Edges of a cell (length).
    pub fn edge(&self) -> DVec3 {
        (self.max - self.min) / DVec3::from_array(self.count.map(|n| n as f64))
    }

    // Calls `each` with the index of every cell that the segment from `a` to `b` crosses, and the fraction of the
    // segment in it.
    fn pass(&self, a: DVec3, b: DVec3, mut each: impl FnMut(usize, f64)) {
        let edge = self.edge();
        let (from, way) = ((a - self.min) / edge, (b - a) / edge);
        // Fractions of the segment at which it crosses from cell to cell.
        let mut cuts = vec![0.0, 1.0];
        for axis in 0..3 {
            let (low, high) =
                (from[axis].min(from[axis] + way[axis]), from[axis].max(from[axis] + way[axis]));
            let last = self.count[axis] as f64;
            if high < 0.0 || low > last {
                return;
            }
            let mut face = low.max(0.0).ceil();
            while face <= high.min(last) && way[axis] != 0.0 {
                cuts.push(((face - from[axis]) / way[axis]).clamp(0.0, 1.0));
                face += 1.0;
            }
        }
        cuts.sort_by(f64::total_cmp);
        for ends in cuts.windows(2).filter(|ends| ends[0] < ends[1]) {
            let middle = from + way * (0.5 * (ends[0] + ends[1]));
            let cell = middle.floor();
            let inside = (0..3).all(|axis| cell[axis] >= 0.0 && cell[axis] < self.count[axis] as f64);
            if inside {
                let [x, y, z] = [0, 1, 2].map(|axis| cell[axis] as usize);
                each((z * self.count[1] + y) * self.count[0] + x, ends[1] - ends[0]);
            }
        }
    }
}

/// Mean stress of contacts in each cell of a grid. `spheres` are sorted by id.
pub(crate) fn stress_of_cells(
    contacts: &[Contact],
    spheres: &[Sphere],
    system: &System,
    cells: &Cells,
) -> Result<Vec<DMat3>, Error> {
    let mut stress = vec![DMat3::ZERO; cells.total()?];
    let extent = cells.max - cells.min;
    let periods = [0, 1, 2].map(|axis| system.period(axis));
    for axis in 0..3 {
        if let Some(period) = periods[axis].filter(|&period| extent[axis] > period * (1.0 + 1e-9)) {
            return Err(Error::Invalid(format!(
                "cells over {} of the periodic {} axis; expected at most its period, {period}",
                extent[axis],
                ["x", "y", "z"][axis]
            )));
        }
    }
    let per_volume = {
        let edge = cells.edge();
        1.0 / (edge.x * edge.y * edge.z)
    };
    for contact in contacts {
        let place = spheres
            .binary_search_by_key(&contact.sphere, |s| s.id)
            .map_err(|_| Error::NoSuchSphere(contact.sphere))?;
        let (high, low) = (spheres[place].position, spheres[place].position - contact.branch);
        let moment = contact.moment() * per_volume;
        // Each periodic image of the segment that may reach into the cells.
        let images = |axis: usize| match periods[axis] {
            None => 0..=0,
            Some(period) => {
                let first = (cells.min[axis] - high[axis].max(low[axis])) / period;
                let last = (cells.max[axis] - high[axis].min(low[axis])) / period;
                first.ceil() as i64..=last.floor() as i64
            }
        };
        for x in images(0) {
            for y in images(1) {
                for z in images(2) {
                    let image = DVec3::new(x as f64, y as f64, z as f64);
                    let shift = image * DVec3::from_array(periods.map(|period| period.unwrap_or(0.0)));
                    cells.pass(low + shift, high + shift, |cell, share| stress[cell] += moment * share);
                }
            }
        }
    }
    Ok(stress)
}
