//! Reads the files of a run and recognizes them by their content.

use std::io::{BufRead, BufReader};
use std::path::Path;

use carom::analysis::Domain;
use carom::files::{Frame, FrameBounds, read_frames};
use carom::scene::Placed;
use carom::{Contact, Dimensions, Materials, Side, System};
use glam::DVec3;

use super::{AnalyzeArguments, contacts, metrics::Steps};
use crate::cli::{command_error::CommandError, source};

/// Name of the material of spheres that name none.
const UNNAMED: &str = "default";

/// One state, as columns.
pub struct State {
    pub time: Option<f64>,
    pub bounds: Option<FrameBounds>,
    pub ids: Vec<u32>,
    pub positions: Vec<DVec3>,
    pub velocities: Vec<DVec3>,
    pub radii: Vec<f64>,
    pub masses: Vec<f64>,
    pub fixed: Vec<bool>,
    /// Indices into [`Input::materials`].
    pub materials: Vec<usize>,
}

/// All files.
pub struct Input {
    /// In the order of their times; states without a time in the order of the files.
    pub states: Vec<State>,
    /// Names of materials, in the order in which they occur.
    pub materials: Vec<String>,
    pub contacts: Option<Vec<Contact>>,
    pub metrics: Option<Steps>,
    /// The system of --scene.
    pub system: Option<System>,
    pub dimensions: Dimensions,
}

impl State {
    /// Whether a sphere moves. Files without velocities read as spheres at rest.
    pub fn has_velocities(&self) -> bool {
        self.velocities.iter().any(|v| *v != DVec3::ZERO)
    }

    /// Mean of the diameters.
    pub fn mean_diameter(&self) -> f64 {
        2.0 * self.radii.iter().sum::<f64>() / self.radii.len().max(1) as f64
    }

    /// The diameter of all spheres, if they are equal.
    pub fn equal_diameter(&self) -> Option<f64> {
        let mean = self.mean_diameter();
        let is_equal = self.radii.iter().all(|r| (2.0 * r - mean).abs() <= 1e-6 * mean);
        (is_equal && !self.radii.is_empty()).then_some(mean)
    }
}

/// Kind of the content of a file.
enum Kind {
    Contacts,
    Metrics,
    States,
}

impl Input {
    /// Reads all files and the scene.
    pub fn read(arguments: &AnalyzeArguments) -> Result<Self, CommandError> {
        let scene = arguments.scene.as_deref();
        let scene = scene.map(|name| source::scene(name, &arguments.settings, None)).transpose()?;
        let system = scene.map(|source| source.scene.build()).transpose()?;
        let (mut frames, mut contact_list, mut steps): (Vec<Frame>, _, _) = (vec![], None, None);
        for path in &arguments.files {
            let twice = |what| {
                Err(CommandError::usage(format!("{}: a second file of {what}; give one", path.display())))
            };
            match kind(path)? {
                Kind::Contacts if contact_list.is_some() => return twice("contacts"),
                Kind::Metrics if steps.is_some() => return twice("metrics"),
                Kind::Contacts => contact_list = Some(contacts::read(path)?),
                Kind::Metrics => steps = Some(Steps::read(path)?),
                Kind::States => frames.extend(read_frames(path)?),
            }
        }
        let dimensions = match (arguments.dimensions, &system) {
            (Some(2), _) => Dimensions::Two,
            (Some(_), _) => Dimensions::Three,
            (None, Some(system)) => system.dimensions,
            (None, None) => detect_dimensions(&frames, contact_list.as_deref()),
        };
        if let Some(system) = &system {
            // Some formats have the step of a state, but not its time.
            for frame in &mut frames {
                frame.time = frame.time.or(frame.step.map(|step| step as f64 * system.dt));
            }
        }
        let mut input = Self {
            states: vec![],
            materials: vec![],
            contacts: contact_list,
            metrics: steps,
            system,
            dimensions,
        };
        for frame in in_order(frames) {
            let state = input.state(frame);
            input.states.push(state);
        }
        Ok(input)
    }

    /// The latest state, or all.
    pub fn chosen(&self, arguments: &AnalyzeArguments) -> &[State] {
        match arguments.frames {
            super::Frames::All => &self.states,
            super::Frames::Last => &self.states[self.states.len().saturating_sub(1)..],
        }
    }

    /// The box of a state: that of its file, otherwise that of the scene; `None` if neither has one. On open axes it ends where
    /// the spheres end.
    pub fn domain(&self, state: &State) -> Option<Domain> {
        let dimensions = self.dimensions;
        if let Some(FrameBounds { min, max, mut periodic }) = state.bounds {
            periodic[2] &= dimensions == Dimensions::Three;
            return Some(Domain { min, max, periodic, dimensions });
        }
        let system = self.system.as_ref()?;
        let mut domain = Domain { dimensions, ..Domain::of(system) };
        for axis in 0..3 {
            if system.bounds.sides[axis] == Side::Open {
                let ends = |sign: f64| {
                    state.positions.iter().zip(&state.radii).map(move |(p, r)| p[axis] + sign * r)
                };
                domain.min[axis] = ends(-1.0).fold(f64::INFINITY, f64::min);
                domain.max[axis] = ends(1.0).fold(f64::NEG_INFINITY, f64::max);
            }
        }
        Some(domain)
    }

    /// The region in which centres lie: the box on periodic axes, the extent of the centres on the others.
    pub fn domain_of_centers(&self, state: &State) -> Domain {
        let mut domain = Domain::around(&state.positions, self.dimensions);
        if let Some(whole) = self.domain(state) {
            for axis in (0..3).filter(|axis| whole.periodic[*axis]) {
                domain.periodic[axis] = true;
                (domain.min[axis], domain.max[axis]) = (whole.min[axis], whole.max[axis]);
            }
        }
        domain
    }

    fn state(&mut self, frame: Frame) -> State {
        let Frame { time, bounds, spheres, .. } = frame;
        let density = |name: &str| {
            let materials = self.system.as_ref().map(|system| &system.materials);
            let found = materials.and_then(|all| all.find(name).map(|index| all.density(index)));
            found.unwrap_or_else(|| Materials::default().density(0))
        };
        let mass = |sphere: &Placed| {
            let name = sphere.material.as_deref().unwrap_or(UNNAMED);
            sphere
                .mass
                .unwrap_or_else(|| density(name) * 4.0 / 3.0 * std::f64::consts::PI * sphere.radius.powi(3))
        };
        let masses = spheres.iter().map(mass).collect();
        // As in scenes, spheres without an id are numbered on after the largest id.
        let mut next = spheres.iter().filter_map(|sphere| sphere.id).max().map_or(0, |id| id.wrapping_add(1));
        let number = |sphere: &Placed| {
            let free = next;
            next = if sphere.id.is_none() { next.wrapping_add(1) } else { next };
            sphere.id.unwrap_or(free)
        };
        let ids = spheres.iter().map(number).collect();
        let mut materials = Vec::with_capacity(spheres.len());
        for sphere in &spheres {
            let name = sphere.material.as_deref().unwrap_or(UNNAMED);
            let known = self.materials.iter().position(|known| known == name);
            materials.push(known.unwrap_or_else(|| {
                self.materials.push(name.to_owned());
                self.materials.len() - 1
            }));
        }
        State {
            time,
            bounds,
            ids,
            positions: spheres.iter().map(|s| s.position).collect(),
            velocities: spheres.iter().map(|s| s.velocity).collect(),
            radii: spheres.iter().map(|s| s.radius).collect(),
            masses,
            fixed: spheres.iter().map(|s| s.fixed).collect(),
            materials,
        }
    }
}

// The states in the order of their times, if all have one. A run with --every writes its last state twice, also as `final`; the
// copy is left out.
fn in_order(mut frames: Vec<Frame>) -> Vec<Frame> {
    if frames.iter().all(|frame| frame.time.is_some()) {
        frames.sort_by(|a, b| a.time.unwrap_or(0.0).total_cmp(&b.time.unwrap_or(0.0)));
        frames.dedup_by(|a, b| a.time == b.time && a.spheres == b.spheres);
    }
    frames
}

fn detect_dimensions(frames: &[Frame], contacts: Option<&[Contact]>) -> Dimensions {
    let is_flat = |s: &Placed| s.position.z == 0.0 && s.velocity.z == 0.0;
    let spheres = || frames.iter().flat_map(|frame| &frame.spheres);
    let flat = match contacts {
        Some(contacts) if frames.is_empty() => contacts.iter().all(|c| c.normal.z == 0.0 && c.point.z == 0.0),
        _ => {
            spheres().all(is_flat) && frames.iter().all(|f| f.bounds.is_none_or(|bounds| !bounds.periodic[2]))
        }
    };
    if flat { Dimensions::Two } else { Dimensions::Three }
}

fn kind(path: &Path) -> Result<Kind, CommandError> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    if ending == "jsonl" {
        return Ok(Kind::Metrics);
    }
    if ending != "csv" {
        return Ok(Kind::States);
    }
    let name = path.display();
    let cannot_read = |e: std::io::Error| CommandError::usage(format!("cannot read {name}: {e}"));
    let file = std::fs::File::open(path).map_err(cannot_read)?;
    let mut header = vec![];
    // No header of a table is longer; a longer line is read, and refused, as a file of spheres.
    std::io::Read::take(BufReader::new(file), 1 << 16).read_until(b'\n', &mut header).map_err(cannot_read)?;
    let header = String::from_utf8_lossy(&header);
    let names: Vec<&str> = header.trim().split(',').map(|name| name.trim().trim_matches('"')).collect();
    if names.contains(&"partner_sphere") && names.contains(&"impulse") {
        Err(CommandError::usage(format!("{name}:1: impacts have no analysis; leave the file out")))
    } else if names.contains(&"partner_sphere") {
        Ok(Kind::Contacts)
    } else if names.contains(&"wall") && names.contains(&"power") {
        Err(CommandError::usage(format!("{name}:1: the loads of walls have no analysis; leave the file out")))
    } else if names.contains(&"step") && names.contains(&"kinetic_energy") {
        Ok(Kind::Metrics)
    } else {
        Ok(Kind::States)
    }
}
