//! A state as the writers of all formats take it.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Error, ErrorKind},
};

use glam::DVec3;

use crate::{
    Sphere,
    files::{
        frame::{Frame, FrameBounds},
        snapshot::{self, Snapshot},
    },
    scene::DEFAULT_MATERIAL,
    system::MaterialIndex,
};

/// A state to write, and which of the optional columns it needs.
pub(super) struct Table<'a> {
    pub time: Option<f64>,
    pub step: Option<u64>,
    pub bounds: Option<FrameBounds>,
    /// Names of the materials, by [`Sphere::material`]; at least one.
    pub materials: Cow<'a, [String]>,
    pub spheres: Cow<'a, [Sphere]>,
    /// Whether the masses are known.
    pub has_mass: bool,
    /// Whether some sphere spins.
    pub has_spin: bool,
    /// Whether some sphere is held in place.
    pub has_fixed: bool,
    /// Whether the materials are worth a column.
    pub has_material: bool,
}

impl<'a> Table<'a> {
    pub fn of_snapshot(snapshot: &'a Snapshot) -> Self {
        let Snapshot { time, step, bounds, materials, spheres } = snapshot;
        Self::new(Some(*time), *step, Some(*bounds), Cow::from(&materials[..]), Cow::from(&spheres[..]))
    }

    /// The table of a frame. Spheres without an id are numbered on after the largest id, as in a scene; spheres without a
    /// material have the default material.
    pub fn of_frame(frame: &Frame) -> io::Result<Table<'static>> {
        let invalid = |what: String| Error::new(ErrorKind::InvalidInput, what);
        let with_mass = frame.spheres.iter().filter(|sphere| sphere.mass.is_some()).count();
        if with_mass != 0 && with_mass != frame.spheres.len() {
            return Err(invalid(format!(
                "{with_mass} of {} spheres have a mass; give all of them one, or none",
                frame.spheres.len()
            )));
        }
        let mut materials: Vec<String> = vec![];
        let mut indices: HashMap<&str, MaterialIndex> = HashMap::new();
        let mut next = frame.spheres.iter().filter_map(|s| s.id).max().map_or(0, |id| u64::from(id) + 1);
        let mut spheres = Vec::with_capacity(frame.spheres.len());
        for placed in &frame.spheres {
            let name = placed.material.as_deref().unwrap_or(DEFAULT_MATERIAL);
            let material = match indices.get(name) {
                Some(index) => *index,
                None => {
                    let index = MaterialIndex::try_from(materials.len())
                        .map_err(|_| invalid(format!("more than {} materials", materials.len())))?;
                    materials.push(name.to_owned());
                    indices.insert(name, index);
                    index
                }
            };
            let id = placed.id.map_or(next, u64::from);
            next += u64::from(placed.id.is_none());
            spheres.push(Sphere {
                id: u32::try_from(id).map_err(|_| invalid(format!("no ids are left after {}", u32::MAX)))?,
                position: placed.position,
                velocity: placed.velocity,
                spin: placed.spin,
                radius: placed.radius,
                mass: placed.mass.unwrap_or(1.0),
                material,
                fixed: placed.fixed,
            });
        }
        if materials.is_empty() {
            materials.push(DEFAULT_MATERIAL.to_owned());
        }
        let has_mass = with_mass > 0 || frame.spheres.is_empty();
        let table = Table::new(frame.time, frame.step, frame.bounds, materials.into(), spheres.into());
        let has_material = frame.spheres.iter().any(|sphere| sphere.material.is_some());
        Ok(Table { has_mass, has_material, ..table })
    }

    pub fn new(
        time: Option<f64>,
        step: Option<u64>,
        bounds: Option<FrameBounds>,
        materials: Cow<'a, [String]>,
        spheres: Cow<'a, [Sphere]>,
    ) -> Self {
        let (mut has_spin, mut has_fixed) = (false, false);
        for sphere in spheres.iter() {
            has_spin |= sphere.spin != DVec3::ZERO;
            has_fixed |= sphere.fixed;
        }
        let has_material = materials.len() > 1;
        Self { time, step, bounds, materials, spheres, has_mass: true, has_spin, has_fixed, has_material }
    }

    /// The names of the materials as single words, for formats that separate words by blanks.
    pub fn words(&self) -> Vec<String> {
        self.materials.iter().map(|name| word(name)).collect()
    }

    /// The box; without one the extent of the spheres.
    pub fn bounds_or_extent(&self) -> FrameBounds {
        self.bounds.unwrap_or_else(|| {
            let extent = snapshot::extent(self.spheres.iter().map(|s| (s.position, s.radius)));
            let (min, max) = extent.unwrap_or_default();
            FrameBounds { min, max, periodic: [false; 3] }
        })
    }
}

/// A name with underscores in place of blanks.
pub(super) fn word(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}
