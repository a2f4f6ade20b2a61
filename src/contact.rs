//! Contacts that last: what carries what, and with which force.

use glam::{DMat3, DVec3};

use crate::Partner;

/// A contact that lasted over the last substep of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Id of the sphere; of two spheres the smaller id.
    pub sphere: u32,
    /// What it touches.
    pub partner: Partner,
    /// Where (length); between two spheres on the line of centres, divided as the radii.
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

/// Mean stress of the contacts of spheres in a volume (mass / (length * time^2), pressure positive): the sum of force times
/// branch over the volume. Contacts with planes carry load through the boundary and are left out.
pub fn contact_stress(contacts: &[Contact], volume: f64) -> DMat3 {
    let pairs = contacts.iter().filter(|contact| matches!(contact.partner, Partner::Sphere(_)));
    pairs.fold(DMat3::ZERO, |sum, Contact { force, branch, .. }| {
        sum + DMat3::from_cols(*force * branch.x, *force * branch.y, *force * branch.z)
    }) * (1.0 / volume)
}
