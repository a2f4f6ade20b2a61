//! Computes the stress tensor of the contacts in each cell of a grid.

use glam::DMat3;

use crate::{Cells, Error, Simulation, step::contact::stress_of_cells};

impl Simulation {
    /// Mean stress of the [`contacts`](Self::contacts) in each cell of a grid (mass / (length * time^2), pressure
    /// positive; see [`contact_stress`](crate::contact_stress)): [`Cells::total`] tensors, x running fastest, then y.
    ///
    /// The line between the two centres (from the centre to the plane for a wall) carries the force. A cell gets the
    /// share of the contact that equals the share of the line in the cell. So the sum over all cells times the volume of a cell equals the total
    /// from `contact_stress`, and the stress in a horizontal layer of cells as wide as the box carries the weight above it.
    /// Along periodic axes, cells may cross the ends of the box.
    ///
    /// # Errors
    /// [`Error::Unsupported`] as [`contacts`](Self::contacts), [`Error::Invalid`] or [`Error::Capacity`] for an invalid grid
    /// of cells, [`Error::DeviceLost`].
    pub fn contact_stress(&self, cells: &Cells) -> Result<Vec<DMat3>, Error> {
        stress_of_cells(&self.contacts()?, &self.try_spheres()?, self.system(), cells)
    }
}
