//! What the comparison of one stage finds.

use glam::Vec3;

use crate::gpu::layout::{Body, Tag};
use crate::{Impact, Partner, state::units::Units};

/// A value on which the two sides differ by more than they may.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Of which sphere, where it is one's.
    pub id: Option<u32>,
    pub what: String,
    /// One number, three of a vector, none where a side has no such thing.
    pub device: Vec<f64>,
    pub twin: Vec<f64>,
    pub allowed: f64,
}

impl Difference {
    /// Of the time of an impact, or of whether there is one.
    pub fn of_impact(impact: &Impact, [device, twin]: [Vec<f64>; 2], allowed: f64) -> Self {
        let what = match impact.partner {
            Partner::Sphere(other) => format!("time of the impact on sphere {other}"),
            Partner::Wall(plane) => format!("time of the impact on plane {plane}"),
        };
        Self { id: Some(impact.sphere), what, device, twin, allowed }
    }
}

/// The first difference, by the ids of the spheres.
pub struct Findings<'a> {
    ids: &'a [u32],
    pub units: Units,
    /// All tolerances are this many times those that rounding alone needs.
    pub scale: f32,
    first: Option<Difference>,
    pub near_ties: u64,
}

impl<'a> Findings<'a> {
    /// `ids` are those of the spheres in their present order.
    pub fn new(ids: &'a [u32], units: Units, scale: f32) -> Self {
        Self { ids, units, scale, first: None, near_ties: 0 }
    }

    pub fn first(self) -> Option<Difference> {
        self.first
    }

    pub fn is_clean(&self) -> bool {
        self.first.is_none()
    }

    /// Notes a difference of sphere `i`.
    pub fn differ(&mut self, what: &str, i: usize, device: Vec<f64>, twin: Vec<f64>, allowed: f64) {
        self.note(Difference { id: self.ids.get(i).copied(), what: what.to_owned(), device, twin, allowed });
    }

    /// Notes a difference of nobody in particular.
    pub fn differ_overall(&mut self, what: &str, device: f64, twin: f64, allowed: f64) {
        let (device, twin) = (vec![device], vec![twin]);
        self.note(Difference { id: None, what: what.to_owned(), device, twin, allowed });
    }

    fn note(&mut self, difference: Difference) {
        // Those of nobody last.
        let key = |d: &Difference| d.id.unwrap_or(u32::MAX);
        if self.first.as_ref().is_none_or(|first| key(&difference) < key(first)) {
            self.first = Some(difference);
        }
    }

    /// Two integers that have to be equal.
    pub fn equal(&mut self, what: &str, i: usize, device: impl Into<f64>, twin: impl Into<f64>) {
        let (device, twin) = (device.into(), twin.into());
        if device != twin {
            self.differ(what, i, vec![device], vec![twin], 0.0);
        }
    }

    /// Two numbers that may differ by `tolerance`, both in units of `unit`.
    pub fn near(&mut self, what: &str, unit: f64, i: usize, device: f32, twin: f32, tolerance: f32) {
        let allowed = tolerance * self.scale;
        // Not a number is no difference where both sides say so.
        let agree = device == twin || (device - twin).abs() <= allowed || (device.is_nan() && twin.is_nan());
        if !agree {
            let value = |v: f32| vec![f64::from(v) * unit];
            self.differ(what, i, value(device), value(twin), f64::from(allowed) * unit);
        }
    }

    /// The same for the components of vectors.
    pub fn near_vector(
        &mut self,
        what: &str,
        unit: f64,
        i: usize,
        (device, twin): (Vec3, Vec3),
        tolerance: f32,
    ) {
        let allowed = tolerance * self.scale;
        let agrees =
            |k: usize| device[k].to_bits() == twin[k].to_bits() || (device[k] - twin[k]).abs() <= allowed;
        if !(0..3).all(agrees) {
            let value = |v: Vec3| (v.as_dvec3() * unit).to_array().to_vec();
            self.differ(what, i, value(device), value(twin), f64::from(allowed) * unit);
        }
    }

    /// A sphere as it lies on the device; offset, velocity and spin (times radius) may differ by so much, the rest has to
    /// be equal.
    pub fn sphere(
        &mut self,
        i: usize,
        device: (Body, Tag),
        twin: (Body, Tag),
        [of_offset, of_velocity, of_spin]: [f32; 3],
    ) {
        let Units { length, time, .. } = self.units;
        let ((body, tag), (twin_body, twin_tag)) = (device, twin);
        self.equal("rank among the ids", i, tag.rank, twin_tag.rank);
        self.near_vector("cell", 1.0, i, (tag.cell.as_vec3(), twin_tag.cell.as_vec3()), 0.0);
        let offsets = (body.offset, twin_body.offset);
        self.near_vector("place in its cell", length, i, offsets, of_offset);
        let velocities = (body.velocity, twin_body.velocity);
        self.near_vector("velocity", length / time, i, velocities, of_velocity);
        let of_spin = of_spin / twin_body.radius;
        self.near_vector("spin", 1.0 / time, i, (tag.spin, twin_tag.spin), of_spin);
        self.equal("radius, scaled", i, body.radius, twin_body.radius);
        self.equal("inverse mass, scaled", i, body.inverse_mass, twin_body.inverse_mass);
        self.equal("time of the last contact, scaled", i, tag.last_contact, twin_tag.last_contact);
    }
}
