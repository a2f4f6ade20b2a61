//! Checkpoint files: the complete state of a simulation, from which a run resumes to the bit.
//!
//! A checkpoint is a file in the format safetensors, which libraries for many languages read. Its arrays hold the spheres in
//! the user's units, in ascending order of ids (`id`, `position`, `velocity`, `spin`, `radius`, `mass`, `material`, `fixed`),
//! the resting contacts (`contacts.*`), the sleep timers (`sleep.*`), and the columns of the engine in its own units and order
//! (`engine.*`). `head` holds everything else, in CBOR. The metadata give the format, its version, the version of carom, the
//! backend, the time, the number of steps and a checksum (XXH3) of all names, types, shapes and bytes.

mod faults;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt, fs, io,
    path::Path,
};

use glam::{DVec3, I64Vec3, IVec4, Vec3, Vec4};
use safetensors::{Dtype, SafeTensors, View};
use xxhash_rust::xxh3::Xxh3;

use super::atomic::{folder, new_file};
use crate::{
    Checkpoint, Partner, Sphere, System, WallShape,
    simulation::RunState,
    state::{
        columns::State,
        warm_start::{CachedImpulse, ContactImpulse, WarmStartCache},
    },
    step::checkpoint::{EngineState, ExactHead, ExactState, MEETINGS, Predictions, StagedHead, StagedState},
};

const FORMAT: &str = "carom checkpoint";
/// Raised whenever the arrays or the head change their meaning.
const VERSION: u32 = 1;

/// A problem with a checkpoint file: what was found, and what to do.
#[derive(Debug)]
pub struct CheckpointError {
    message: String,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CheckpointError {}

fn refused<T>(message: impl Into<String>) -> Result<T, CheckpointError> {
    Err(CheckpointError { message: message.into() })
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Head<'a> {
    labels: Cow<'a, BTreeMap<String, String>>,
    run: Cow<'a, RunState>,
    /// Without spheres.
    system: Cow<'a, System>,
    engine: EngineHead,
}

#[derive(serde::Deserialize, serde::Serialize)]
enum EngineHead {
    Staged {
        head: Box<StagedHead>,
        /// Length of the substep in which the contact impulses acted.
        h: f64,
    },
    Exact(ExactHead),
}

/// Numbers that arrays hold, in little-endian order.
trait Element: Copy {
    const DTYPE: Dtype;
    const SIZE: usize;
    fn put(self, bytes: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($type:ty: $dtype:ident),*) => {$(
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            const SIZE: usize = size_of::<$type>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("the size of the type"))
            }
        }
    )*};
}

element!(f32: F32, f64: F64, u8: U8, u16: U16, u32: U32, i32: I32, i64: I64);

/// An array to write.
struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    fn of<T: Element>(values: impl IntoIterator<Item = T>) -> Self {
        let mut bytes = vec![];
        values.into_iter().for_each(|value| value.put(&mut bytes));
        Self { dtype: T::DTYPE, shape: vec![bytes.len() / T::SIZE], bytes }
    }

    /// One row of `N` numbers for each item.
    fn rows<T: Element, const N: usize>(rows: impl IntoIterator<Item = [T; N]>) -> Self {
        let flat = Self::of(rows.into_iter().flatten());
        Self { shape: vec![flat.shape[0] / N, N], ..flat }
    }
}

impl View for &Array {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

type Arrays = BTreeMap<&'static str, Array>;

/// Writes a checkpoint. The file is written under a temporary name in the same folder, synced and renamed, so the file of this name
/// is complete at all times, even if the machine goes down.
///
/// # Errors
/// Errors of the file system.
pub fn write_checkpoint(path: &Path, checkpoint: &Checkpoint) -> io::Result<()> {
    let arrays = arrays_of(checkpoint)?;
    let Checkpoint { run, .. } = checkpoint;
    let mut metadata: BTreeMap<String, String> = [
        ("format", FORMAT.to_owned()),
        ("version", VERSION.to_string()),
        ("carom", env!("CARGO_PKG_VERSION").to_owned()),
        ("backend", run.backend.clone()),
        ("step", run.step.to_string()),
        ("time", run.time.to_string()),
        ("spheres", checkpoint.system.spheres.len().to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    let views = arrays.iter().map(|(name, array)| (*name, array.dtype, &array.shape[..], &array.bytes[..]));
    metadata.insert("checksum".to_owned(), checksum(views, &metadata));
    let file = new_file(path)?;
    let metadata: HashMap<String, String> = metadata.into_iter().collect();
    safetensors::serialize_to_file(&arrays, Some(metadata), file.path()).map_err(|error| match error {
        safetensors::SafeTensorError::IoError(error) => error,
        other => io::Error::other(other),
    })?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(path)
}

// The new name lasts only if the folder is written too.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(folder(path))?.sync_all() } else { Ok(()) }
}

// Over everything that the file says; `metadata` without the checksum.
fn checksum<'a>(
    arrays: impl Iterator<Item = (&'a str, Dtype, &'a [usize], &'a [u8])>,
    metadata: &BTreeMap<String, String>,
) -> String {
    let mut hash = Xxh3::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for (key, value) in metadata {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for (name, dtype, shape, bytes) in arrays {
        add(name.as_bytes());
        add(format!("{dtype:?} {shape:?}").as_bytes());
        add(bytes);
    }
    format!("{:016x}", hash.digest())
}

fn arrays_of(checkpoint: &Checkpoint) -> io::Result<Arrays> {
    let Checkpoint { labels, run, system, engine } = checkpoint;
    let spheres = &system.spheres;
    let vectors = |of: fn(&Sphere) -> DVec3| Array::rows(spheres.iter().map(move |s| of(s).to_array()));
    let mut arrays = Arrays::from([
        ("id", Array::of(spheres.iter().map(|s| s.id))),
        ("position", vectors(|s| s.position)),
        ("velocity", vectors(|s| s.velocity)),
        ("spin", vectors(|s| s.spin)),
        ("radius", Array::of(spheres.iter().map(|s| s.radius))),
        ("mass", Array::of(spheres.iter().map(|s| s.mass))),
        ("material", Array::of(spheres.iter().map(|s| s.material))),
        ("fixed", Array::of(spheres.iter().map(|s| u8::from(s.fixed)))),
    ]);
    let engine = match engine {
        EngineState::Staged(state) => {
            add_staged(&mut arrays, state);
            EngineHead::Staged { head: Box::new(state.head.clone()), h: state.warm_start.h }
        }
        EngineState::Exact(state) => {
            add_exact(&mut arrays, state);
            EngineHead::Exact(state.head.clone())
        }
    };
    let world = System { spheres: vec![], ..system.clone() };
    let head = Head {
        labels: Cow::Borrowed(labels),
        run: Cow::Borrowed(run),
        system: Cow::Borrowed(&world),
        engine,
    };
    let mut bytes = vec![];
    ciborium::into_writer(&head, &mut bytes).map_err(io::Error::other)?;
    arrays.insert("head", Array::of(bytes));
    Ok(arrays)
}

fn add_staged(arrays: &mut Arrays, state: &StagedState) {
    let StagedState { spheres, warm_start, head } = state;
    let units = &head.domain.units;
    arrays.insert("engine.place", Array::rows(spheres.place.iter().map(|v| v.to_array())));
    arrays.insert("engine.motion", Array::rows(spheres.motion.iter().map(|v| v.to_array())));
    arrays.insert("engine.spin", Array::rows(spheres.spin.iter().map(|v| v.to_array())));
    arrays.insert("engine.cell", Array::rows(spheres.cell.iter().map(|v| v.to_array())));
    arrays.insert("engine.id", Array::of(spheres.id.iter().copied()));
    // Impulses that are not finite are those of a state that is not finite either.
    let kept: Vec<_> = warm_start.kept.iter().filter_map(|kept| Some((kept, kept.load(units)?))).collect();
    let partner = |kept: &CachedImpulse| match kept.partner {
        Partner::Sphere(id) => [id, 0],
        Partner::Wall(wall) => [wall, 1],
    };
    arrays.insert("contacts.sphere", Array::of(kept.iter().map(|(kept, _)| kept.sphere)));
    arrays.insert("contacts.partner", Array::rows(kept.iter().map(|(kept, _)| partner(kept))));
    let impulses = kept
        .iter()
        .map(|(_, ContactImpulse { normal, tangent: t, moment: m })| [*normal, t.x, t.y, t.z, m.x, m.y, m.z]);
    arrays.insert("contacts.impulse", Array::rows(impulses));
    arrays.insert("sleep.id", Array::of(warm_start.sleep_timers.iter().map(|timer| timer.0)));
    arrays.insert("sleep.ticks", Array::of(warm_start.sleep_timers.iter().map(|timer| timer.1)));
}

fn add_exact(arrays: &mut Arrays, state: &ExactState) {
    let ExactState { number, position, velocity, clock, cell, impacts, hasty, predictions, .. } = state;
    arrays.insert("engine.number", Array::of(number.iter().copied()));
    arrays.insert("engine.position", Array::rows(position.iter().map(|v| v.to_array())));
    arrays.insert("engine.velocity", Array::rows(velocity.iter().map(|v| v.to_array())));
    arrays.insert("engine.clock", Array::of(clock.iter().copied()));
    arrays.insert("engine.cell", Array::rows(cell.iter().map(|v| v.to_array())));
    arrays.insert("engine.impacts", Array::of(impacts.iter().copied()));
    arrays.insert("engine.hasty", Array::of(hasty.iter().copied()));
    let times = |p: &Predictions| {
        let [a, b, c] = p.meeting_times;
        [p.last_contact, p.alone_time, p.horizon, a, b, c]
    };
    let events = |p: &Predictions| {
        let ([a, b, c], [d, e, f]) = (p.partners, p.partner_impacts);
        [p.alone, a, b, c, d, e, f]
    };
    arrays.insert("engine.times", Array::rows(predictions.iter().map(times)));
    arrays.insert("engine.events", Array::rows(predictions.iter().map(events)));
}

/// Reads a checkpoint.
///
/// # Errors
/// A text that names the file, the problem and the remedy: a file that cannot be read, is no checkpoint, is truncated or damaged, or
/// was written by a newer version.
pub fn read_checkpoint(path: &Path) -> Result<Checkpoint, CheckpointError> {
    let name = path.display();
    let bytes = fs::read(path)
        .map_err(|error| CheckpointError { message: format!("cannot read {name}: {error}") })?;
    parse_checkpoint(&bytes).map_err(|error| CheckpointError { message: format!("{name}: {error}") })
}

/// Reads a checkpoint from the bytes of a file.
///
/// # Errors
/// As [`read_checkpoint`].
pub fn parse_checkpoint(bytes: &[u8]) -> Result<Checkpoint, CheckpointError> {
    let foreign = "this is no checkpoint of carom, or only a part of one";
    let Ok((_, metadata)) = SafeTensors::read_metadata(bytes) else { return refused(foreign) };
    let mut metadata: BTreeMap<String, String> =
        metadata.metadata().iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    if metadata.get("format").is_none_or(|format| format != FORMAT) {
        return refused(foreign);
    }
    let version = metadata.get("version").and_then(|version| version.parse::<u32>().ok());
    match version {
        Some(VERSION) => {}
        Some(newer) if newer > VERSION => {
            let carom = metadata.get("carom").map_or("", String::as_str);
            return refused(format!(
                "a checkpoint of version {newer}, written by carom {carom}; this is carom {}, which reads version {VERSION}",
                env!("CARGO_PKG_VERSION")
            ));
        }
        _ => return refused(foreign),
    }
    let Ok(tensors) = SafeTensors::deserialize(bytes) else { return refused(foreign) };
    let said = metadata.remove("checksum");
    let mut arrays: Vec<_> = tensors.iter().collect();
    arrays.sort_unstable_by_key(|(name, _)| *name);
    let views = arrays.iter().map(|(name, view)| (*name, view.dtype(), view.shape(), view.data()));
    if said != Some(checksum(views, &metadata)) {
        return refused("damaged: the checksum does not agree; use the checkpoint before");
    }
    let read = Read { tensors: &tensors };
    let head = ciborium::from_reader::<Head, _>(&*read.of::<u8>("head")?)
        .map_err(|error| CheckpointError { message: format!("its head cannot be read: {error}") })?;
    let spheres = read.spheres()?;
    if spheres.iter().any(|s| usize::from(s.material) >= head.system.materials.len()) {
        return refused("a sphere has a material that is not among those of the file");
    }
    let engine = match head.engine {
        EngineHead::Staged { head, h } => EngineState::Staged(Box::new(read.staged(*head, h, &spheres)?)),
        EngineHead::Exact(head) => EngineState::Exact(Box::new(read.exact(head, spheres.len())?)),
    };
    let system = System { spheres, ..head.system.into_owned() };
    let run = head.run.into_owned();
    let meshes = system.walls.iter().filter_map(|wall| match &wall.shape {
        WallShape::Mesh(mesh) => Some(mesh),
        _ => None,
    });
    let fault = [
        (system.materials.is_whole(), "the surfaces of some materials are missing"),
        (meshes.into_iter().all(|mesh| mesh.is_whole()), "the vertices of a mesh are missing"),
        (run.is_sound(&system), "the counters of the run do not agree with the world"),
    ];
    let fault = fault.into_iter().find(|(is_right, _)| !is_right).map(|(_, fault)| fault);
    // Before the engine's state is examined, which relies on the world.
    if let Some(fault) = fault.or_else(|| faults::fault(&engine, &system)) {
        return refused(format!("no state of a simulation: {fault}"));
    }
    Ok(Checkpoint { labels: head.labels.into_owned(), run, system, engine })
}

/// Arrays of a file.
struct Read<'a> {
    tensors: &'a SafeTensors<'a>,
}

impl Read<'_> {
    fn of<T: Element>(&self, name: &str) -> Result<Vec<T>, CheckpointError> {
        match self.tensors.tensor(name) {
            Ok(view) if view.dtype() == T::DTYPE => {
                Ok(view.data().chunks_exact(T::SIZE).map(T::take).collect())
            }
            Ok(view) => {
                refused(format!("the array {name} is of type {:?} instead of {:?}", view.dtype(), T::DTYPE))
            }
            Err(_) => refused(format!("there is no array {name}")),
        }
    }

    fn rows<T: Element, const N: usize>(&self, name: &str) -> Result<Vec<[T; N]>, CheckpointError> {
        let flat = self.of::<T>(name)?;
        Ok(flat.chunks_exact(N).map(|row| row.try_into().expect("a row")).collect())
    }

    /// The same, for this many items.
    fn all<T: Element>(&self, name: &str, count: usize) -> Result<Vec<T>, CheckpointError> {
        same(name, self.of(name)?, count)
    }

    fn all_rows<T: Element, const N: usize>(
        &self,
        name: &str,
        count: usize,
    ) -> Result<Vec<[T; N]>, CheckpointError> {
        same(name, self.rows(name)?, count)
    }

    fn vectors(&self, name: &str, count: usize) -> Result<Vec<DVec3>, CheckpointError> {
        Ok(self.all_rows::<f64, 3>(name, count)?.into_iter().map(DVec3::from_array).collect())
    }

    fn spheres(&self) -> Result<Vec<Sphere>, CheckpointError> {
        let ids = self.of::<u32>("id")?;
        let count = ids.len();
        if !ids.is_sorted_by(|a, b| a < b) {
            return refused("the ids do not ascend");
        }
        let [position, velocity, spin] = [
            self.vectors("position", count)?,
            self.vectors("velocity", count)?,
            self.vectors("spin", count)?,
        ];
        let (radius, mass) = (self.all::<f64>("radius", count)?, self.all::<f64>("mass", count)?);
        let (material, fixed) = (self.all::<u16>("material", count)?, self.all::<u8>("fixed", count)?);
        Ok((0..count)
            .map(|i| Sphere {
                id: ids[i],
                position: position[i],
                velocity: velocity[i],
                spin: spin[i],
                radius: radius[i],
                mass: mass[i],
                material: material[i],
                fixed: fixed[i] != 0,
            })
            .collect())
    }

    fn staged(&self, head: StagedHead, h: f64, spheres: &[Sphere]) -> Result<StagedState, CheckpointError> {
        let count = spheres.len();
        let vectors = |name| {
            let rows = self.all_rows::<f32, 4>(name, count)?;
            Ok(rows.into_iter().map(Vec4::from_array).collect::<Vec<_>>())
        };
        let cells = self.all_rows::<i32, 4>("engine.cell", count)?;
        let state = State {
            place: vectors("engine.place")?,
            motion: vectors("engine.motion")?,
            spin: vectors("engine.spin")?,
            cell: cells.into_iter().map(IVec4::from_array).collect(),
            id: self.all("engine.id", count)?,
        };
        let mut ids = state.id.clone();
        ids.sort_unstable();
        if !ids.iter().eq(spheres.iter().map(|s| &s.id)) {
            return refused("the engine has other ids than the spheres");
        }
        let owners = self.of::<u32>("contacts.sphere")?;
        let partners = self.all_rows::<u32, 2>("contacts.partner", owners.len())?;
        let impulses = self.all_rows::<f32, 7>("contacts.impulse", owners.len())?;
        let kept = owners.into_iter().zip(partners).zip(impulses).map(|((owner, [partner, is_wall]), i)| {
            let partner = if is_wall == 0 { Partner::Sphere(partner) } else { Partner::Wall(partner) };
            let (tangent, moment) = (Vec3::new(i[1], i[2], i[3]), Vec3::new(i[4], i[5], i[6]));
            let impulse = ContactImpulse { normal: i[0], tangent, moment };
            CachedImpulse::new(owner, partner, impulse, &head.domain.units)
        });
        let kept = kept.collect();
        let timers = self.of::<u32>("sleep.id")?;
        let ticks = self.all::<u32>("sleep.ticks", timers.len())?;
        let sleep_timers = timers.into_iter().zip(ticks).collect();
        Ok(StagedState { head, spheres: state, warm_start: WarmStartCache { h, kept, sleep_timers } })
    }

    fn exact(&self, head: ExactHead, count: usize) -> Result<ExactState, CheckpointError> {
        let number = self.all::<u32>("engine.number", count)?;
        let mut sorted = number.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..count as u32) {
            return refused("the engine has other spheres than the file");
        }
        let times = self.all_rows::<f64, { 3 + MEETINGS }>("engine.times", count)?;
        let events = self.all_rows::<u32, { 1 + 2 * MEETINGS }>("engine.events", count)?;
        let predictions = times.into_iter().zip(events).map(|(t, e)| Predictions {
            last_contact: t[0],
            alone_time: t[1],
            horizon: t[2],
            meeting_times: std::array::from_fn(|k| t[3 + k]),
            alone: e[0],
            partners: std::array::from_fn(|k| e[1 + k]),
            partner_impacts: std::array::from_fn(|k| e[1 + MEETINGS + k]),
        });
        let cells = self.all_rows::<i64, 3>("engine.cell", count)?;
        Ok(ExactState {
            head,
            number,
            position: self.vectors("engine.position", count)?,
            velocity: self.vectors("engine.velocity", count)?,
            clock: self.all("engine.clock", count)?,
            cell: cells.into_iter().map(I64Vec3::from_array).collect(),
            impacts: self.all("engine.impacts", count)?,
            hasty: self.all("engine.hasty", count)?,
            predictions: predictions.collect(),
        })
    }
}

fn same<T>(name: &str, values: Vec<T>, count: usize) -> Result<Vec<T>, CheckpointError> {
    match values.len() {
        found if found == count => Ok(values),
        found => refused(format!("the array {name} has {found} entries instead of {count}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Options, Simulation};

    fn checkpoint(backend: Backend) -> Checkpoint {
        let mut system = System { dt: 0.1, ..System::default() };
        system.bounds.max = DVec3::splat(9.0);
        system.bounds.sides = [crate::Side::Wall; 3];
        for id in 0..27_u32 {
            let place = glam::UVec3::new(id % 3, id / 3 % 3, id / 9).as_dvec3();
            let (position, velocity) = (place * 3.0 + 1.0, place - 1.0);
            system.spheres.push(Sphere { id, position, velocity, ..Sphere::default() });
        }
        let mut simulation = Simulation::new(system, Options { backend, ..Options::default() }).unwrap();
        simulation.run(20, |_| std::ops::ControlFlow::Continue(())).unwrap();
        simulation.checkpoint().unwrap()
    }

    fn read_back(checkpoint: &Checkpoint) -> Result<Checkpoint, CheckpointError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        write_checkpoint(&path, checkpoint).unwrap();
        read_checkpoint(&path)
    }

    fn staged(checkpoint: &mut Checkpoint) -> &mut StagedState {
        match &mut checkpoint.engine {
            EngineState::Staged(state) => state,
            EngineState::Exact(_) => panic!("of exact"),
        }
    }

    fn exact(checkpoint: &mut Checkpoint) -> &mut ExactState {
        match &mut checkpoint.engine {
            EngineState::Exact(state) => state,
            EngineState::Staged(_) => panic!("of cpu"),
        }
    }

    type Change = (&'static str, fn(&mut Checkpoint));

    // Made by hand: the checksum is right, but no engine could go on.
    #[test]
    fn states_that_no_engine_can_go_on_from_are_refused() {
        let of_stages: [Change; 11] = [
            ("outside of all cells", |c| staged(c).spheres.cell[3].x = 1_000_000),
            ("buckets", |c| staged(c).head.domain.grid.buckets = 1),
            ("buckets", |c| staged(c).head.domain.grid.buckets = 1 << 40),
            ("buckets are not the cells", |c| staged(c).head.domain.grid.count = glam::IVec3::ZERO),
            ("levels", |c| staged(c).head.domain.grid.levels.all.clear()),
            ("no size", |c| staged(c).head.domain.units.length = f64::NAN),
            ("last steps", |c| staged(c).head.driver.history.clear()),
            ("not finite", |c| staged(c).spheres.place[0].x = f32::NAN),
            ("other ids", |c| staged(c).spheres.id[0] = 99),
            ("counters", |c| c.run.step = u64::MAX),
            ("a material", |c| c.system.spheres[0].material = 7),
        ];
        let of_events: [Change; 7] = [
            ("event", |c| exact(c).predictions[0].partners[0] = 1_000_000_000),
            ("event", |c| exact(c).predictions[0].alone = 107),
            ("event", |c| exact(c).predictions[0].horizon = f64::NAN),
            ("table", |c| exact(c).head.sizes[0] = 1 << 40),
            ("table", |c| exact(c).head.sizes[0] = 0),
            ("clock", |c| exact(c).clock[0] = f64::NAN),
            ("other spheres", |c| exact(c).number[0] = 26),
        ];
        for (backend, changes) in [(Backend::Cpu, &of_stages[..]), (Backend::Exact, &of_events[..])] {
            let right = checkpoint(backend);
            assert_eq!(read_back(&right).unwrap().spheres(), right.spheres());
            for (text, change) in changes {
                let mut wrong = right.clone();
                change(&mut wrong);
                let error = read_back(&wrong).expect_err(text).to_string();
                assert!(error.contains(text), "{text}: {error}");
            }
        }
    }
}
