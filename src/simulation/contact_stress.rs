//! Stress in the contacts of a simulation.

use glam::DMat3;

use crate::{Cells, Error, Simulation, step::contact::stress_of_cells};

impl Simulation {
    /// Mean stress of the [`contacts`](Self::contacts) in each cell of a grid (mass / (length * time^2), pressure
    /// positive; see [`contact_stress`](crate::contact_stress)): [`Cells::total`] tensors, x running fastest, then y.
    ///
    /// The line between the two centres (to the plane, for a plane) carries the force; a cell has the share of the
    /// contact that its part of the line is. So the sum of all cells times the volume of one is what
    /// `contact_stress` is of the whole, and through a horizontal face of cells as wide as the box goes what lies above.
    /// Along periodic axes cells may reach over the ends of the box.
    ///
    /// # Errors
    /// [`Error::Unsupported`] as `contacts`, [`Error::Invalid`] and [`Error::Capacity`] for cells that there cannot be,
    /// [`Error::DeviceLost`].
    pub fn contact_stress(&self, cells: &Cells) -> Result<Vec<DMat3>, Error> {
        stress_of_cells(&self.contacts()?, &self.try_spheres()?, self.system(), cells)
    }
}
