//! Results of comparisons: differences beyond the tolerance, near-ties, and the largest deviation within the tolerance.

use std::collections::BTreeMap;

use glam::Vec3;

use crate::gpu::layout::{Body, Node, Tag};
use crate::{Impact, Partner, state::units::Units};

/// Index that stands for no sphere in particular.
pub const OVERALL: usize = usize::MAX;

/// Differences kept of one comparison.
const MOST: usize = 8;

/// A value on which the two sides differ by more than they may.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Id of the sphere; none where the value is not one sphere's.
    pub id: Option<u32>,
    pub what: String,
    /// One number, three of a vector, none where a side has no such thing.
    pub device: Vec<f64>,
    pub twin: Vec<f64>,
    pub allowed: f64,
}

impl Difference {
    /// The difference as a share of its tolerance; infinite if the values have to be equal, or only one side has them.
    pub fn share(&self) -> f64 {
        let Self { device, twin, allowed, .. } = self;
        if device.len() != twin.len() || *allowed == 0.0 {
            return f64::INFINITY;
        }
        let shares = device.iter().zip(twin).map(|(a, b)| (a - b).abs() / allowed);
        // A value that is not a number is as far from any other as can be.
        shares.map(|share| if share.is_nan() { f64::INFINITY } else { share }).fold(0.0, f64::max)
    }

    /// A difference in the time of an impact, or in whether there is one.
    pub fn of_impact(impact: &Impact, [device, twin]: [Vec<f64>; 2], allowed: f64) -> Self {
        let what = match impact.partner {
            Partner::Sphere(other) => format!("time of the impact on sphere {other}"),
            Partner::Wall(plane) => format!("time of the impact on plane {plane}"),
        };
        Self { id: Some(impact.sphere), what, device, twin, allowed }
    }
}

/// Tolerances of a sphere; 0 = equal.
#[derive(Clone, Copy, Default)]
pub struct Tolerances {
    pub offset: Vec3,
    pub velocity: f32,
    /// Tolerance of spin times radius.
    pub rim: f32,
}

/// The result of comparisons. `carom verify` reports the first difference; the parity tests accept none, and few
/// near-ties.
pub struct Findings<'a> {
    ids: &'a [u32],
    pub units: Units,
    /// All tolerances are this many times those that rounding alone needs.
    pub scale: f32,
    /// The first differences by id; those of no sphere come last.
    pub differences: Vec<Difference>,
    /// Decisions that differ and may.
    pub near_ties: u64,
    /// Number of values compared.
    pub compared: u64,
    /// Largest difference as a share of its tolerance.
    pub worst: f64,
    /// How often the start gave the stage something out of the ordinary to do.
    pub seen: BTreeMap<&'static str, u64>,
}

impl<'a> Findings<'a> {
    /// `ids` are those of the spheres in their present order.
    pub fn new(ids: &'a [u32], units: Units, scale: f32) -> Self {
        Self {
            ids,
            units,
            scale,
            differences: vec![],
            near_ties: 0,
            compared: 0,
            worst: 0.0,
            seen: BTreeMap::new(),
        }
    }

    /// The first difference by id.
    pub fn into_first(self) -> Option<Difference> {
        self.differences.into_iter().next()
    }

    pub fn is_clean(&self) -> bool {
        self.differences.is_empty()
    }

    /// Counts what the start gave the stage to do.
    pub fn saw(&mut self, what: &'static str, count: u64) {
        *self.seen.entry(what).or_default() += count;
    }

    /// Records a difference of sphere `i`, or of [`OVERALL`].
    pub fn differ(&mut self, what: &str, i: usize, device: Vec<f64>, twin: Vec<f64>, allowed: f64) {
        let key = |id: Option<u32>| id.unwrap_or(u32::MAX);
        let id = self.ids.get(i).copied();
        let at = self.differences.partition_point(|other| key(other.id) <= key(id));
        if at < MOST {
            self.differences.insert(at, Difference { id, what: what.to_owned(), device, twin, allowed });
            self.differences.truncate(MOST);
        }
    }

    /// Two numbers that have to be equal.
    pub fn equal<T: Into<f64>>(&mut self, what: &str, i: usize, device: T, twin: T) {
        self.near(what, 1.0, i, device, twin, 0.0);
    }

    /// Two answers that have to be the same.
    pub fn flag(&mut self, what: &str, i: usize, device: bool, twin: bool) {
        self.equal(what, i, u8::from(device), u8::from(twin));
    }

    /// Two numbers that may differ by `tolerance`, all in units of `unit`; values that are not finite have to be equal,
    /// and a value that is not a number equals none.
    pub fn near<T: Into<f64>>(
        &mut self,
        what: &str,
        unit: f64,
        i: usize,
        device: T,
        twin: T,
        tolerance: impl Into<f64>,
    ) {
        self.compared += 1;
        let (device, twin) = (device.into(), twin.into());
        if device == twin {
            return;
        }
        let allowed = tolerance.into() * f64::from(self.scale);
        let share = (device - twin).abs() / allowed;
        if share <= 1.0 {
            self.worst = self.worst.max(share);
        } else {
            self.differ(what, i, vec![device * unit], vec![twin * unit], allowed * unit);
        }
    }

    /// The same for the components of vectors.
    pub fn near_vector(
        &mut self,
        what: &str,
        unit: f64,
        i: usize,
        (device, twin): (Vec3, Vec3),
        tolerance: Vec3,
    ) {
        self.compared += 3;
        if device == twin {
            return;
        }
        let allowed = tolerance.as_dvec3() * f64::from(self.scale);
        let apart = (device.as_dvec3() - twin.as_dvec3()).abs();
        let share = |axis: usize| if device[axis] == twin[axis] { 0.0 } else { apart[axis] / allowed[axis] };
        let shares = [0, 1, 2].map(share);
        if shares.iter().all(|share| *share <= 1.0) {
            self.worst = shares.into_iter().fold(self.worst, f64::max);
        } else {
            let value = |v: Vec3| (v.as_dvec3() * unit).to_array().to_vec();
            self.differ(what, i, value(device), value(twin), allowed.max_element() * unit);
        }
    }

    /// Two lists of spheres that have to have the same members equally often, in any order.
    pub fn same_members(&mut self, what: &str, mut device: Vec<u32>, mut twin: Vec<u32>) {
        self.compared += twin.len() as u64 + 1;
        device.sort_unstable();
        twin.sort_unstable();
        if device == twin {
            return;
        }
        let times = |list: &[u32], i: u32| {
            (list.partition_point(|&k| k <= i) - list.partition_point(|&k| k < i)) as u32
        };
        let mut members = [&device[..], &twin].concat();
        members.sort_unstable();
        members.dedup();
        for i in members {
            self.equal(what, i as usize, times(&device, i), times(&twin, i));
        }
    }

    /// A sphere as it lies on the device; what has no tolerance has to be equal. An equal sphere counts as one value.
    pub fn sphere(&mut self, i: usize, device: (Body, Tag), twin: (Body, Tag), tolerances: Tolerances) {
        if device == twin {
            self.compared += 1;
            return;
        }
        let Units { length, time, .. } = self.units;
        let ((body, tag), (twin_body, twin_tag)) = (device, twin);
        self.equal("rank among the ids", i, tag.rank, twin_tag.rank);
        let cells = (tag.cell.as_vec3(), twin_tag.cell.as_vec3());
        if tag.cell != twin_tag.cell {
            self.near_vector("cell", 1.0, i, cells, Vec3::ZERO);
        }
        let offsets = (body.offset, twin_body.offset);
        self.near_vector("place in its cell", length, i, offsets, tolerances.offset);
        let velocities = (body.velocity, twin_body.velocity);
        self.near_vector("velocity", length / time, i, velocities, Vec3::splat(tolerances.velocity));
        let of_spin = Vec3::splat(tolerances.rim / twin_body.radius);
        self.near_vector("spin", 1.0 / time, i, (tag.spin, twin_tag.spin), of_spin);
        self.equal("radius, scaled", i, body.radius, twin_body.radius);
        self.equal("inverse mass, scaled", i, body.inverse_mass, twin_body.inverse_mass);
        self.equal("time of the last contact, scaled", i, tag.last_contact, twin_tag.last_contact);
    }

    /// The node of a sphere, which has to be equal.
    pub fn node(&mut self, i: usize, device: Node, twin: Node) {
        self.compared += 1;
        if device == twin {
            return;
        }
        for (what, device, twin) in [
            ("clock, scaled", device.clock, twin.clock),
            ("motion margin, scaled", device.motion_margin, twin.motion_margin),
            ("energy lost, scaled", device.loss, twin.loss),
            ("virial, scaled", device.virial, twin.virial),
            ("work of pushes, scaled", device.relax_work, twin.relax_work),
        ] {
            self.equal(what, i, device, twin);
        }
        for (what, device, twin) in [
            ("support", device.support, twin.support),
            ("number of its traversal", device.walk, twin.walk),
            ("round in which it was touched", device.touched, twin.touched),
        ] {
            self.equal(what, i, device, twin);
        }
    }
}
