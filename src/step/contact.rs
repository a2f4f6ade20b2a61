//! Contacts that last: what carries what, with which force, and the stress that this comes to.

use glam::{DMat3, DVec3};

use crate::{Error, Partner, Sphere, System};

/// A contact that lasted over the last substep of a step: two spheres, or a sphere and a plane, that lie on each other
/// and press. [`Simulation::contacts`](crate::Simulation::contacts) lists them.
///
/// The partner takes the opposite of `force` and `torque`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Id of the sphere; of two spheres the smaller id.
    pub sphere: u32,
    /// What it touches.
    pub partner: Partner,
    /// Where (length); between two spheres on the line of centres, divided as the radii. Next to `sphere`, also where that
    /// is across the end of a periodic axis.
    pub point: DVec3,
    /// Unit vector from the partner to `sphere`.
    pub normal: DVec3,
    /// From the centre of the partner to that of `sphere`, by the shortest way round periodic axes; from the plane to
    /// the centre for a plane (length).
    pub branch: DVec3,
    /// Distance of the surfaces (length); negative where they overlap.
    pub gap: f64,
    /// Impulse over duration, on `sphere` (mass * length / time^2): along `normal` >= 0, across it the friction.
    pub force: DVec3,
    /// What resistance to rolling and twisting does beside that, on `sphere`: angular impulse over duration
    /// (mass * length^2 / time^2).
    pub torque: DVec3,
}

impl Contact {
    /// Force times branch (energy): what the contact adds to the stress times the volume. Column k is the force times
    /// the k-th component of the branch.
    pub fn moment(&self) -> DMat3 {
        let Self { force, branch, .. } = *self;
        DMat3::from_cols(force * branch.x, force * branch.y, force * branch.z)
    }
}

/// Mean stress of contacts in a volume (mass / (length * time^2), pressure positive): the sum of
/// [`Contact::moment`] over the volume (> 0), that of the whole box as a rule. Entry (i, k) is the i-th component of the force
/// that goes through a unit of area normal to axis k; at rest, without torques, the tensor is symmetric. A contact with
/// a plane counts with the way from the plane to the centre. What spheres carry by their motion is not in it.
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

/// Most cells of a grid: 9.7 GB of tensors. More are a slip of the pen.
const MOST_CELLS: usize = 1 << 27;

/// A box that is divided into equal cells, to average over each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis; in 2D the third extent counts as thickness and holds z = 0. Along
    /// a periodic axis no further from `min` than the period.
    pub max: DVec3,
    /// Cells along x, y and z, each at least 1.
    pub count: [usize; 3],
}

impl Cells {
    /// Number of all cells.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there are none, the corners are not finite or not in order; [`Error::Capacity`] for
    /// more than 2^27.
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

    // Calls `each` with the index of every cell that the way from `a` to `b` passes, and the share of the way in it.
    fn pass(&self, a: DVec3, b: DVec3, mut each: impl FnMut(usize, f64)) {
        let edge = self.edge();
        let (from, way) = ((a - self.min) / edge, (b - a) / edge);
        // Where the way goes from cell to cell, as shares of it.
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

/// Mean stress of contacts in each cell of a grid; the spheres are in the order of their ids.
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
        // Each image of the way that may reach into the cells.
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
