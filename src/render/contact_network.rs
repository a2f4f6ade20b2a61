//! Contacts of the spheres, prepared for drawing: number of contacts and force of each sphere, and the chains of forces.

use bytemuck::{Pod, Zeroable};
use glam::DVec3;

use crate::{Contact, Partner, Sphere, System};

/// Radius of the widest chain, in mean radii of the spheres: wide enough to see differences, narrow enough for spheres to show.
const WIDEST: f64 = 0.4;

/// Share of the contacts whose force is below that of the widest chain: single large forces do not thin all others out.
const BELOW_WIDEST: f64 = 0.99;

/// A line between the centres of two touching spheres, or from a centre to a wall; mirrors the struct in
/// `shaders/render/chains.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Link {
    /// Ends, relative to the origin of the network (length).
    pub from: [f32; 3],
    /// Radius (length), proportional to the force.
    pub radius: f32,
    pub to: [f32; 3],
    /// Force, relative to the force of the widest link; at most 1.
    pub share: f32,
}

/// Lasting contacts at one time, for the colours [`Contacts`](super::Colour::Contacts) and [`Force`](super::Colour::Force)
/// and for force chains ([`Style::chains`](super::Style::chains)). [`Spheres::set_contacts`](super::Spheres::set_contacts) takes
/// it to the device.
#[derive(Clone, Debug, Default)]
pub struct ContactNetwork {
    /// Number of contacts, and sum of normal forces divided by the weight, of each sphere in ascending order of ids.
    pub(super) figures: Vec<[f32; 2]>,
    /// Weakest first: strong links are drawn over weak ones.
    pub(super) links: Vec<Link>,
    /// Origin of the links (length).
    pub(super) origin: DVec3,
}

impl ContactNetwork {
    /// The network of [`Simulation::contacts`](crate::Simulation::contacts). `spheres` are the spheres at the same time in
    /// ascending order of ids; contacts of other spheres are ignored. Without gravity the forces relative to the weight are
    /// 0.
    pub fn of(contacts: &[Contact], spheres: &[Sphere], system: &System) -> Self {
        let place = |id: u32| spheres.binary_search_by_key(&id, |sphere| sphere.id).ok();
        let gravity = system.gravity.length();
        let mut figures = vec![[0.0f64; 2]; spheres.len()];
        let mut lines = vec![];
        for contact in contacts {
            let Some(first) = place(contact.sphere) else { continue };
            let force = contact.force.dot(contact.normal);
            let second = match contact.partner {
                Partner::Sphere(id) => place(id),
                _ => None,
            };
            for at in std::iter::once(first).chain(second) {
                let weight = spheres[at].mass * gravity;
                figures[at][0] += 1.0;
                figures[at][1] += if weight > 0.0 { force / weight } else { 0.0 };
            }
            let from = spheres[first].position;
            lines.push((from, from - contact.branch, force));
        }
        lines.sort_by(|a, b| a.2.total_cmp(&b.2));
        let widest = lines.get((BELOW_WIDEST * lines.len() as f64) as usize).map_or(0.0, |line| line.2);
        let count = lines.len().max(1) as f64;
        let origin = lines.iter().map(|(from, ..)| *from / count).sum::<DVec3>();
        let radius = spheres.iter().map(|s| s.radius).sum::<f64>() / spheres.len().max(1) as f64;
        let links = lines.iter().map(|&(from, to, force)| {
            let share = if widest > 0.0 { (force / widest).clamp(0.0, 1.0) } else { 0.0 };
            Link {
                from: (from - origin).as_vec3().to_array(),
                radius: (WIDEST * radius * share) as f32,
                to: (to - origin).as_vec3().to_array(),
                share: share as f32,
            }
        });
        let links = links.collect();
        Self { figures: figures.iter().map(|f| f.map(|x| x as f32)).collect(), links, origin }
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there are no contacts.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use glam::DVec3;

    use super::*;

    #[test]
    fn links_are_laid_out_as_the_shaders_have_them() {
        let source = include_str!("../../shaders/render/chains.wgsl");
        let head = source.split("@group").next().unwrap();
        let module = naga::front::wgsl::parse_str(head).unwrap();
        let (_, found) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some("Link")).unwrap();
        let naga::TypeInner::Struct { members, span } = &found.inner else { panic!("no struct") };
        let offsets: Vec<_> = members.iter().map(|member| member.offset as usize).collect();
        assert_eq!(
            offsets,
            [offset_of!(Link, from), offset_of!(Link, radius), offset_of!(Link, to), offset_of!(Link, share)]
        );
        assert_eq!(*span as usize, size_of::<Link>());
    }

    #[test]
    fn each_contact_counts_for_both_spheres_and_the_strongest_is_last() {
        let at =
            |id: u32, z: f64, mass: f64| Sphere { id, mass, position: DVec3::Z * z, ..Sphere::default() };
        // Ids are not places.
        let spheres = [at(3, 0.5, 1.0), at(8, 1.5, 2.0)];
        let system = System { gravity: DVec3::NEG_Z * 10.0, ..System::default() };
        let contact = |sphere, partner, branch, force: DVec3| Contact {
            sphere,
            partner,
            point: DVec3::ZERO,
            normal: branch,
            branch,
            gap: 0.0,
            force,
            torque: DVec3::ZERO,
        };
        let contacts = [
            contact(3, Partner::Sphere(8), DVec3::NEG_Z, DVec3::new(5.0, 0.0, -20.0)),
            contact(3, Partner::Wall(0), DVec3::Z, DVec3::Z * 30.0),
            contact(77, Partner::Wall(0), DVec3::Z, DVec3::Z * 1e9),
        ];
        let network = ContactNetwork::of(&contacts, &spheres, &system);
        // 20 + 30 on a weight of 10; 20 on a weight of 20. Friction does not count.
        assert_eq!(network.figures, [[2.0, 5.0], [1.0, 1.0]]);
        let shares: Vec<f32> = network.links.iter().map(|link| link.share).collect();
        assert_eq!((network.len(), shares), (2, vec![20.0 / 30.0, 1.0]));
        let end = |k: usize| network.origin.z + f64::from(network.links[k].to[2]);
        assert!((end(0) - 1.5).abs() < 1e-6 && (end(1) + 0.5).abs() < 1e-6);
        let none = ContactNetwork::of(&[], &spheres, &System::default());
        assert!(none.is_empty() && none.figures == [[0.0; 2]; 2]);
    }
}
