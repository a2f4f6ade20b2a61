//! The spheres to draw, in device buffers.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, IVec3};

use std::sync::Arc;

use super::{
    contact_network::{ContactNetwork, Link},
    differences::Differences,
    recent::Recent,
    style::Colour,
};
use crate::{
    Sphere, System,
    gpu::{Body, Context, StateBuffers, Tag},
};

/// Time of the last contact of a sphere without contacts, in time units of its buffers.
const NEVER: f32 = -1e30;

/// Width of a cell of uploaded spheres, in largest diameters: slightly more than two touching spheres need.
const CELL: f64 = 1.001;

/// Constant properties of a sphere, by rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Kind {
    id: u32,
    material: u32,
}

/// Coordinate system of centres; see [`StateBuffers`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// Corner of cell 0 (length).
    pub origin: DVec3,
    /// Edges of a cell (length).
    pub edge: DVec3,
    /// Cells per period; 0 = not periodic.
    pub count: IVec3,
    pub unit_of_length: f64,
    pub unit_of_velocity: f64,
}

/// Spheres in buffers of the device: the buffers of the GPU engine, or uploaded spheres in the same layout ([`Body`],
/// [`Tag`]).
#[derive(Debug)]
pub struct Spheres {
    pub(super) bodies: wgpu::Buffer,
    pub(super) tags: wgpu::Buffer,
    pub(super) kinds: wgpu::Buffer,
    pub(super) count: u32,
    pub(super) cells: Cells,
    /// Largest id.
    pub(super) last_id: u32,
    /// Mean diameter (length).
    pub(super) diameter: f64,
    sides: System,
    /// Whether this value owns its buffers; otherwise they are the buffers of the GPU engine.
    owned: bool,
    /// Number of spheres beyond the capacity of the device.
    left_out: usize,
    contacts: Option<Contacts>,
    differences: Option<(Arc<Differences>, wgpu::Buffer)>,
    /// Stands for the figures of a network.
    no_figures: wgpu::Buffer,
}

/// A contact network on the device.
#[derive(Debug)]
struct Contacts {
    network: Arc<ContactNetwork>,
    figures: wgpu::Buffer,
    links: wgpu::Buffer,
}

impl Spheres {
    /// The spheres in the buffers of the GPU engine. Only ids and materials are copied, once.
    ///
    /// `system` is the system of the simulation. After each step, [`follow`](Self::follow) the state; after adding or
    /// removing spheres, create a new value.
    pub fn of_state(context: &Context, state: &StateBuffers, system: &System) -> Self {
        let mut ranked: Vec<&Sphere> = system.spheres.iter().collect();
        ranked.sort_unstable_by_key(|sphere| sphere.id);
        let mut spheres = Self {
            bodies: state.bodies.clone(),
            tags: state.tags.clone(),
            kinds: kinds(context, ranked.iter().copied()),
            count: state.sphere_count,
            cells: Cells::of_state(state, system),
            last_id: ranked.last().map_or(0, |sphere| sphere.id),
            diameter: mean_diameter(&system.spheres),
            sides: System { spheres: vec![], ..system.clone() },
            owned: false,
            left_out: 0,
            contacts: None,
            differences: None,
            no_figures: buffer(context, "no contacts", 16),
        };
        spheres.follow(state);
        spheres
    }

    /// Switches to the buffers of the state after another step of the same simulation, without a copy.
    pub fn follow(&mut self, state: &StateBuffers) {
        (self.bodies, self.tags) = (state.bodies.clone(), state.tags.clone());
        (self.count, self.owned) = (state.sphere_count, false);
        self.cells = Cells::of_state(state, &self.sides);
    }

    /// Copies a state on the device into buffers of this value, for a window that draws at its own pace while the
    /// simulation continues. Needs one submit; the host does not wait.
    pub fn snapshot(&mut self, context: &Context, state: &StateBuffers) {
        let count = u64::from(state.sphere_count);
        let (bodies, tags) = (count * size_of::<Body>() as u64, count * size_of::<Tag>() as u64);
        self.make_room(context, state.sphere_count);
        let mut encoder = context
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("snapshot") });
        if count > 0 {
            encoder.copy_buffer_to_buffer(&state.bodies, 0, &self.bodies, 0, bodies);
            encoder.copy_buffer_to_buffer(&state.tags, 0, &self.tags, 0, tags);
        }
        context.queue.submit([encoder.finish()]);
        self.count = state.sphere_count;
        self.cells = Cells::of_state(state, &self.sides);
    }

    /// Uploads spheres from the host, for the engines that compute there. `recent` holds the time of each sphere's last
    /// contact.
    pub fn upload(context: &Context, spheres: &[Sphere], system: &System, recent: Option<&Recent>) -> Self {
        let empty = || buffer(context, "no spheres", 16);
        let sides = System { spheres: vec![], ..system.clone() };
        let mut made = Self {
            bodies: empty(),
            tags: empty(),
            kinds: empty(),
            count: 0,
            cells: Cells::new(spheres, &sides),
            last_id: 0,
            diameter: 1.0,
            sides,
            owned: true,
            left_out: 0,
            contacts: None,
            differences: None,
            no_figures: buffer(context, "no contacts", 16),
        };
        made.update(context, spheres, recent);
        made
    }

    /// Replaces the spheres in the same world; their number may change.
    pub fn update(&mut self, context: &Context, spheres: &[Sphere], recent: Option<&Recent>) {
        let limits = context.device.limits();
        let most =
            limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / size_of::<Body>() as u64;
        self.left_out = spheres.len().saturating_sub(most as usize);
        let spheres = &spheres[..spheres.len() - self.left_out];
        self.cells = Cells::new(spheres, &self.sides);
        self.diameter = mean_diameter(spheres);
        self.last_id = spheres.iter().map(|sphere| sphere.id).max().unwrap_or(0);
        self.make_room(context, spheres.len() as u32);
        self.count = spheres.len() as u32;
        let cells = &self.cells;
        let unit_of_time = cells.unit_of_length / cells.unit_of_velocity;
        let (bodies, tags): (Vec<_>, Vec<_>) = spheres
            .iter()
            .zip(0..)
            .map(|(sphere, rank)| {
                let (cell, offset) = cells.locate(sphere.position);
                let age = recent.and_then(|recent| recent.age(sphere.id));
                let body = Body {
                    offset: (offset / cells.unit_of_length).as_vec3(),
                    radius: (sphere.radius / cells.unit_of_length) as f32,
                    velocity: (sphere.velocity / cells.unit_of_velocity).as_vec3(),
                    inverse_mass: sphere.inverse_mass() as f32,
                };
                let tag = Tag {
                    cell,
                    rank,
                    spin: (sphere.spin * unit_of_time).as_vec3(),
                    last_contact: age.map_or(NEVER, |age| -(age / unit_of_time) as f32),
                };
                (body, tag)
            })
            .unzip();
        context.queue.write_buffer(&self.bodies, 0, bytemuck::cast_slice(&bodies));
        context.queue.write_buffer(&self.tags, 0, bytemuck::cast_slice(&tags));
        self.kinds = kinds(context, spheres.iter());
    }

    /// Sets the contacts that colours and force chains show; they stay until others are set, also in later steps. The
    /// network is that of all spheres drawn.
    pub fn set_contacts(&mut self, context: &Context, network: &Arc<ContactNetwork>) {
        if self.contacts.as_ref().is_some_and(|old| Arc::ptr_eq(&old.network, network)) {
            return;
        }
        let filled = |label, bytes: &[u8]| {
            let made = buffer(context, label, bytes.len() as u64);
            context.queue.write_buffer(&made, 0, bytes);
            made
        };
        // A larger network than a buffer holds is drawn in part, the strongest links first.
        let limits = context.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) as usize;
        let fits = (most / size_of::<Link>()).min(network.links.len());
        self.contacts = Some(Contacts {
            figures: filled("contacts of spheres", bytemuck::cast_slice(&network.figures)),
            links: filled("links", bytemuck::cast_slice(&network.links[network.links.len() - fits..])),
            network: network.clone(),
        });
    }

    /// Sets the differences that [`Colour::Difference`] shows; they stay until others are set.
    pub fn set_differences(&mut self, context: &Context, differences: &Arc<Differences>) {
        if self.differences.as_ref().is_none_or(|(old, _)| !Arc::ptr_eq(old, differences)) {
            let bytes: &[u8] = bytemuck::cast_slice(&differences.figures);
            let made = buffer(context, "differences", bytes.len() as u64);
            context.queue.write_buffer(&made, 0, bytes);
            self.differences = Some((differences.clone(), made));
        }
    }

    /// Number of contacts and force of each sphere, or its difference, by rank; zeros if they are not set.
    pub(super) fn figures(&self, colour: Colour) -> &wgpu::Buffer {
        let found = match colour {
            Colour::Difference => self.differences.as_ref().map(|(_, buffer)| buffer),
            _ => self.contacts.as_ref().map(|contacts| &contacts.figures),
        };
        found.unwrap_or(&self.no_figures)
    }

    /// The links of the contact network and their number.
    pub(super) fn links(&self) -> Option<(&wgpu::Buffer, u32)> {
        let Contacts { network, links, .. } = self.contacts.as_ref()?;
        let count = network.len().min(links.size() as usize / size_of::<Link>());
        (count > 0).then_some((links, count as u32))
    }

    /// Origin of the links (length).
    pub(super) fn network_origin(&self) -> DVec3 {
        self.contacts.as_ref().map_or(DVec3::ZERO, |contacts| contacts.network.origin)
    }

    /// Number of spheres left out because no buffer of the device can hold them; [`Studio`](super::Studio) refuses to
    /// draw an incomplete set.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Number of spheres.
    pub fn count(&self) -> u32 {
        self.count
    }

    // Allocates buffers for `count` spheres.
    fn make_room(&mut self, context: &Context, count: u32) {
        let count = u64::from(count.max(1));
        for (buffer_of, label, size) in [
            (&mut self.bodies, "drawn bodies", count * size_of::<Body>() as u64),
            (&mut self.tags, "drawn tags", count * size_of::<Tag>() as u64),
        ] {
            if !self.owned || buffer_of.size() < size {
                *buffer_of = buffer(context, label, size);
            }
        }
        self.owned = true;
    }
}

impl Cells {
    fn of_state(state: &StateBuffers, system: &System) -> Self {
        let count = std::array::from_fn(|axis| {
            system.period(axis).map_or(0, |period| (period / state.cell_edge[axis]).round().max(1.0) as i32)
        });
        Self {
            origin: state.origin,
            edge: state.cell_edge,
            count: IVec3::from_array(count),
            unit_of_length: state.unit_of_length,
            unit_of_velocity: state.unit_of_velocity,
        }
    }

    // A cell is as wide as the largest sphere: two touching spheres are in the same cell or in neighbouring cells.
    fn new(spheres: &[Sphere], system: &System) -> Self {
        let largest = spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max);
        let least = if largest > 0.0 { CELL * largest } else { 1.0 };
        let lowest = spheres.iter().map(|s| s.position).reduce(DVec3::min).unwrap_or(DVec3::ZERO);
        let fastest = spheres.iter().map(|s| s.velocity.length()).fold(0.0, f64::max);
        let (mut origin, mut edge, mut count) = (lowest, DVec3::splat(least), IVec3::ZERO);
        for axis in 0..3 {
            if let Some(period) = system.period(axis) {
                count[axis] = (period / least).floor().clamp(1.0, f64::from(1 << 28)) as i32;
                edge[axis] = period / f64::from(count[axis]);
                origin[axis] = system.bounds.min[axis];
            }
        }
        let unit_of_velocity = if fastest > 0.0 { fastest } else { 1.0 };
        Self { origin, edge, count, unit_of_length: least, unit_of_velocity }
    }

    /// Cell and offset (length) of a point.
    pub fn locate(&self, point: DVec3) -> (IVec3, DVec3) {
        let relative = point - self.origin;
        let cell =
            (relative / self.edge).floor().clamp(DVec3::splat(-(2f64.powi(28))), DVec3::splat(2f64.powi(28)));
        (cell.as_ivec3(), relative - cell * self.edge)
    }
}

fn kinds<'a>(context: &Context, ranked: impl ExactSizeIterator<Item = &'a Sphere>) -> wgpu::Buffer {
    let kinds: Vec<_> =
        ranked.map(|sphere| Kind { id: sphere.id, material: u32::from(sphere.material) }).collect();
    let made = buffer(context, "ids and materials", (kinds.len() * size_of::<Kind>()) as u64);
    context.queue.write_buffer(&made, 0, bytemuck::cast_slice(&kinds));
    made
}

fn mean_diameter(spheres: &[Sphere]) -> f64 {
    let sum: f64 = spheres.iter().map(|sphere| 2.0 * sphere.radius).sum();
    if spheres.is_empty() { 1.0 } else { sum / spheres.len() as f64 }
}

/// A storage buffer that the host or a copy fills.
pub(super) fn buffer(context: &Context, label: &str, bytes: u64) -> wgpu::Buffer {
    use wgpu::BufferUsages as Usage;
    context.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.max(32).next_multiple_of(16),
        usage: Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC,
        mapped_at_creation: false,
    })
}
