//! A simulation that Python holds. One thread at a time uses it; any other call meanwhile raises `BusyError`.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, LazyLock, Mutex, MutexGuard, TryLockError},
    time::{Duration, Instant},
};

use carom::files::{Snapshot, read_checkpoint, write_checkpoint, write_snapshot};
use carom::gpu::{Context, preferred};
use carom::{Backend, Error, OnLoss, Options, Simulation, Sphere, StepReport, System, scene::View};
use numpy::Element;
use pyo3::{prelude::*, types::PyDict};
use rayon::prelude::*;

use crate::{
    arrays,
    errors::{cannot_write, exception, invalid, of},
    metrics::Metrics,
    report::Report,
    scene::SceneCore,
};

/// Longest time between two looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

static CONTEXTS: LazyLock<Mutex<HashMap<Option<String>, Context>>> = LazyLock::new(Mutex::default);

/// The device of an adapter, which all simulations and pictures of the process share.
pub fn context(adapter: Option<&str>) -> Result<Context, Error> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = adapter.map(str::to_owned);
    if let Some(context) = contexts.get(&key).filter(|context| context.check().is_ok()) {
        return Ok(context.clone());
    }
    let context = Context::open(adapter)?;
    contexts.insert(key, context.clone());
    Ok(context)
}

// The backend of a name. `auto` is that of `before`; without one, gpu if there is a GPU, otherwise cpu.
fn backend(name: &str, before: Option<&str>, adapter: Option<&str>) -> Result<Backend, Error> {
    let unknown = |name: &str| Error::Invalid(format!("backend {name:?} is none of auto, cpu, gpu, exact"));
    match (name, before) {
        ("auto", Some(before)) => Backend::named(before).ok_or_else(|| unknown(before)),
        ("auto", None) => match preferred(adapter) {
            Ok(info) if info.is_hardware() => {
                Ok(if context(adapter).is_ok() { Backend::Gpu } else { Backend::Cpu })
            }
            Err(error @ Error::NoAdapter(_)) if adapter.is_some() => Err(error),
            _ => Ok(Backend::Cpu),
        },
        (name, _) => Backend::named(name).ok_or_else(|| unknown(name)),
    }
}

/// A simulation with all that Python asks of it between two steps.
pub struct State {
    pub simulation: Simulation,
    pub view: View,
    pub name: String,
    settings: String,
    seed: Option<u64>,
    notes: Vec<String>,
    metrics: Metrics,
    /// The spheres of the current step, as soon as something has been read of them.
    frame: Option<Arc<Vec<Sphere>>>,
}

impl State {
    /// The spheres of the current step.
    pub fn spheres(&mut self) -> Result<Arc<Vec<Sphere>>, Error> {
        if let Some(frame) = &self.frame {
            return Ok(frame.clone());
        }
        let frame = Arc::new(self.simulation.try_spheres()?);
        self.frame = Some(frame.clone());
        Ok(frame)
    }

    fn edit(&mut self, change: impl FnOnce(&mut System)) -> Result<(), Error> {
        self.simulation.edit(change)?;
        self.frame = None;
        Ok(())
    }

    fn add(&mut self, sphere: Sphere) -> Result<(), Error> {
        // The library checks added spheres before the next step; here a refused sphere is not added at all.
        let mut spheres = self.spheres()?.to_vec();
        let Err(place) = spheres.binary_search_by_key(&sphere.id, |s| s.id) else {
            return self.simulation.add(sphere);
        };
        spheres.insert(place, sphere);
        System { spheres, ..self.simulation.system().clone() }.validate_on()?;
        self.simulation.add(sphere)?;
        self.frame = None;
        Ok(())
    }
}

/// Options of a simulation in Python.
struct Choice {
    backend: String,
    threads: usize,
    adapter: Option<String>,
    record_impacts: bool,
    on_loss: OnLoss,
}

impl Choice {
    fn options(&self, before: Option<&str>) -> Result<Options, Error> {
        let backend = backend(&self.backend, before, self.adapter.as_deref())?;
        let context = match backend {
            Backend::Gpu => Some(context(self.adapter.as_deref())?),
            _ => None,
        };
        Ok(Options {
            backend,
            threads: self.threads,
            record_impacts: self.record_impacts,
            profile: false,
            adapter: self.adapter.clone(),
            on_loss: self.on_loss,
            context,
        })
    }
}

fn begin(scene: &SceneCore, choice: &Choice, every: u64) -> Result<State, Error> {
    let options = choice.options(None)?;
    let (system, notes) = scene.scene.build_with_notes()?;
    let simulation = Simulation::new(system, options)?;
    Ok(State {
        metrics: Metrics::new(every, &simulation.system().sinks),
        simulation,
        view: scene.scene.view.clone(),
        name: scene.name.clone(),
        settings: scene.settings.clone(),
        seed: Some(scene.scene.world.seed),
        notes: notes.iter().map(ToString::to_string).collect(),
        frame: None,
    })
}

/// The compiled part of `carom.Simulation`.
#[pyclass(frozen, subclass, module = "carom._carom")]
pub struct SimulationCore {
    state: Mutex<Option<State>>,
}

/// The state while this thread uses it.
pub struct Held<'a>(MutexGuard<'a, Option<State>>);

impl Held<'_> {
    pub fn state(&mut self) -> &mut State {
        self.0.as_mut().expect("an open simulation")
    }
}

impl SimulationCore {
    /// Takes the simulation for this thread.
    pub fn hold<'a>(&'a self, py: Python) -> PyResult<Held<'a>> {
        let closed = |text: &str| exception(py, "ClosedError", text.to_owned());
        match self.state.try_lock() {
            Ok(state) if state.is_some() => Ok(Held(state)),
            Ok(_) => Err(closed("the simulation is closed")),
            Err(TryLockError::WouldBlock) => Err(exception(
                py,
                "BusyError",
                "the simulation is busy: another thread uses it, or a step of it is under way".to_owned(),
            )),
            Err(TryLockError::Poisoned(_)) => {
                Err(closed("the simulation is closed, because an earlier call failed inside the engine"))
            }
        }
    }

    // Computes on the state without the lock of the interpreter.
    fn compute<T: Send>(
        &self,
        py: Python,
        work: impl Send + FnOnce(&mut State) -> Result<T, Error>,
    ) -> PyResult<T> {
        let mut held = self.hold(py)?;
        let state = held.state();
        py.detach(|| work(state)).map_err(|error| of(py, &error))
    }

    fn matrix<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&Sphere) -> glam::DVec3 + Send + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.compute(py, |state| {
            let spheres = state.spheres()?;
            Ok(spheres.par_iter().with_min_len(4096).map(|sphere| of(sphere).to_array()).collect())
        })?;
        arrays::matrix(py, rows)
    }

    fn column<'py, T: Element + Send>(
        &self,
        py: Python<'py>,
        of: impl Fn(&Sphere) -> T + Send + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = self.compute(py, |state| {
            let spheres = state.spheres()?;
            Ok(spheres.par_iter().with_min_len(4096).map(&of).collect())
        })?;
        arrays::column(py, values)
    }

    // Sets one field of all spheres, in the order of their ids.
    fn set<T: Send>(
        &self,
        py: Python,
        read: impl FnOnce(usize) -> PyResult<Vec<T>>,
        put: impl Send + Sync + Fn(&mut Sphere, T),
    ) -> PyResult<()> {
        let mut held = self.hold(py)?;
        let state = held.state();
        let values = read(state.simulation.sphere_count())?;
        py.detach(|| {
            state.edit(|system| {
                system.spheres.iter_mut().zip(values).for_each(|(sphere, value)| put(sphere, value));
            })
        })
        .map_err(|error| of(py, &error))
    }
}

#[pymethods]
impl SimulationCore {
    #[new]
    #[pyo3(signature = (scene=None, checkpoint=None, *, backend="auto".to_owned(), threads=0, adapter=None, record_impacts=false, on_loss="stop", metrics_every=1))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python,
        scene: Option<&SceneCore>,
        checkpoint: Option<PathBuf>,
        backend: String,
        threads: usize,
        adapter: Option<String>,
        record_impacts: bool,
        on_loss: &str,
        metrics_every: u64,
    ) -> PyResult<Self> {
        let on_loss = match on_loss {
            "stop" => OnLoss::Stop,
            "cpu" => OnLoss::Cpu,
            other => return Err(invalid(py, format!("on_loss {other:?} is none of stop, cpu"))),
        };
        let choice = Choice { backend, threads, adapter, record_impacts, on_loss };
        let state = match (scene, checkpoint) {
            (Some(scene), None) => {
                py.detach(|| begin(scene, &choice, metrics_every)).map_err(|error| of(py, &error))?
            }
            (None, Some(path)) => {
                let read = py.detach(|| read_checkpoint(&path));
                let checkpoint = read.map_err(|e| exception(py, "CheckpointError", e.to_string()))?;
                let label = |key: &str| checkpoint.labels.get(key).cloned().unwrap_or_default();
                let (name, settings) = (label("scene"), label("settings"));
                let resume = || {
                    let options = choice.options(Some(checkpoint.backend()))?;
                    Simulation::resume(checkpoint, options)
                };
                let simulation = py.detach(resume).map_err(|error| of(py, &error))?;
                State {
                    metrics: Metrics::new(metrics_every, &simulation.system().sinks),
                    simulation,
                    view: View::default(),
                    name,
                    settings,
                    seed: None,
                    notes: vec![],
                    frame: None,
                }
            }
            _ => return Err(invalid(py, "expected either a scene or a checkpoint".to_owned())),
        };
        Ok(Self { state: Mutex::new(Some(state)) })
    }

    /// Takes `steps` steps. `tick` is called about ten times a second with the number of steps done.
    #[pyo3(signature = (steps, tick=None))]
    fn advance(&self, py: Python, steps: u64, tick: Option<Py<PyAny>>) -> PyResult<()> {
        let mut held = self.hold(py)?;
        let State { simulation, metrics, frame, .. } = held.state();
        if steps == 0 {
            return Ok(());
        }
        let mut raised = None;
        let mut last = Instant::now();
        let first = simulation.steps();
        let mut look = |report: &StepReport| {
            metrics.add(report);
            if last.elapsed() < PATIENCE {
                return ControlFlow::Continue(());
            }
            let looked = Python::attach(|py| {
                py.check_signals()?;
                tick.as_ref().map_or(Ok(()), |tick| tick.call1(py, (report.step - first,)).map(drop))
            });
            last = Instant::now();
            match looked {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        *frame = None;
        let stepped = py.detach(|| simulation.run(steps, &mut look));
        if let Some(error) = raised {
            return Err(error);
        }
        stepped.map_err(|error| of(py, &error))?;
        py.check_signals()
    }

    /// Number of spheres, time, number of steps.
    #[getter]
    fn progress(&self, py: Python) -> PyResult<(usize, f64, u64)> {
        let mut held = self.hold(py)?;
        let simulation = &held.state().simulation;
        Ok((simulation.sphere_count(), simulation.time(), simulation.steps()))
    }

    #[getter]
    fn report(&self, py: Python) -> PyResult<Report> {
        Ok(Report { report: self.hold(py)?.state().simulation.report().clone() })
    }

    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.hold(py)?.state().metrics.dict(py)
    }

    fn restore_metrics(&self, py: Python, earlier: &Bound<PyDict>) -> PyResult<()> {
        self.hold(py)?.state().metrics.restore(earlier)
    }

    #[getter]
    fn notes(&self, py: Python) -> PyResult<Vec<String>> {
        Ok(self.hold(py)?.state().notes.clone())
    }

    #[getter]
    fn name(&self, py: Python) -> PyResult<String> {
        Ok(self.hold(py)?.state().name.clone())
    }

    #[getter]
    fn backend(&self, py: Python) -> PyResult<&'static str> {
        Ok(self.hold(py)?.state().simulation.backend().name())
    }

    #[getter]
    fn adapter(&self, py: Python) -> PyResult<Option<String>> {
        Ok(self.hold(py)?.state().simulation.adapter().map(|info| info.to_string()))
    }

    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.compute(py, |state| match &state.frame {
            Some(frame) => {
                Ok(frame.par_iter().with_min_len(4096).map(|sphere| sphere.position.to_array()).collect())
            }
            None => Ok(state.simulation.try_positions()?.into_iter().map(|point| point.to_array()).collect()),
        })?;
        arrays::matrix(py, rows)
    }

    #[setter]
    fn set_positions(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        self.set(py, |n| arrays::rows("positions", value, n), |sphere, row| sphere.position = row)
    }

    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(py, |sphere| sphere.velocity)
    }

    #[setter]
    fn set_velocities(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        self.set(py, |n| arrays::rows("velocities", value, n), |sphere, row| sphere.velocity = row)
    }

    #[getter]
    fn spins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix(py, |sphere| sphere.spin)
    }

    #[setter]
    fn set_spins(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        self.set(py, |n| arrays::rows("spins", value, n), |sphere, row| sphere.spin = row)
    }

    #[getter]
    fn radii<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |sphere| sphere.radius)
    }

    #[setter]
    fn set_radii(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        self.set(py, |n| arrays::values("radii", value, n), |sphere, value| sphere.radius = value)
    }

    #[getter]
    fn masses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |sphere| sphere.mass)
    }

    #[setter]
    fn set_masses(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        self.set(py, |n| arrays::values("masses", value, n), |sphere, value| sphere.mass = value)
    }

    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |sphere| sphere.id)
    }

    #[getter]
    fn material_indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |sphere| sphere.material)
    }

    #[getter]
    fn fixed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |sphere| sphere.fixed)
    }

    #[getter]
    fn asleep<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::column(py, self.compute(py, |state| state.simulation.asleep())?)
    }

    #[getter]
    fn material_names(&self, py: Python) -> PyResult<Vec<String>> {
        let mut held = self.hold(py)?;
        let materials = &held.state().simulation.system().materials;
        Ok((0..materials.len()).map(|index| materials.name(index as u16).to_owned()).collect())
    }

    #[getter]
    fn wall_names(&self, py: Python) -> PyResult<Vec<String>> {
        let mut held = self.hold(py)?;
        Ok(held.state().simulation.system().all_walls().iter().map(|wall| wall.name.clone()).collect())
    }

    #[getter]
    fn dt(&self, py: Python) -> PyResult<f64> {
        Ok(self.hold(py)?.state().simulation.system().dt)
    }

    #[setter]
    fn set_dt(&self, py: Python, dt: f64) -> PyResult<()> {
        self.compute(py, |state| state.edit(|system| system.dt = dt))
    }

    #[getter]
    fn gravity(&self, py: Python) -> PyResult<(f64, f64, f64)> {
        Ok(self.hold(py)?.state().simulation.system().gravity.into())
    }

    #[setter]
    fn set_gravity(&self, py: Python, value: &Bound<PyAny>) -> PyResult<()> {
        let gravity = arrays::vector("gravity", value)?;
        self.compute(py, |state| state.simulation.set_gravity(gravity))
    }

    #[getter]
    fn dimensions(&self, py: Python) -> PyResult<usize> {
        Ok(self.hold(py)?.state().simulation.system().dimensions.count())
    }

    /// Lower and upper corner of the box, and which axes are periodic; an open axis ends where the spheres end.
    #[getter]
    fn bounds(&self, py: Python) -> PyResult<([f64; 3], [f64; 3], [bool; 3])> {
        let bounds = self.compute(py, |state| {
            let spheres = state.spheres()?;
            let (system, time) = (state.simulation.system(), state.simulation.time());
            Ok(Snapshot::new(system, time, spheres.to_vec()).bounds)
        })?;
        Ok((bounds.min.to_array(), bounds.max.to_array(), bounds.periodic))
    }

    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::contacts(py, &self.compute(py, |state| state.simulation.contacts())?)
    }

    fn impacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrays::impacts(py, self.hold(py)?.state().simulation.impacts())
    }

    #[getter]
    fn state_hash(&self, py: Python) -> PyResult<String> {
        let hash = self.compute(py, |state| state.simulation.try_state_hash())?;
        Ok(format!("{hash:016x}"))
    }

    #[pyo3(signature = (id, position, velocity, spin, radius, mass, material, fixed))]
    #[allow(clippy::too_many_arguments, reason = "the fields of a sphere")]
    fn add_sphere(
        &self,
        py: Python,
        id: u32,
        position: &Bound<PyAny>,
        velocity: &Bound<PyAny>,
        spin: &Bound<PyAny>,
        radius: f64,
        mass: Option<f64>,
        material: &str,
        fixed: bool,
    ) -> PyResult<()> {
        let position = arrays::vector("position", position)?;
        let velocity = arrays::vector("velocity", velocity)?;
        let spin = arrays::vector("spin", spin)?;
        let mut held = self.hold(py)?;
        let state = held.state();
        let system = state.simulation.system();
        let Some(index) = system.materials.find(material) else {
            return Err(invalid(py, format!("the simulation has no material {material:?}")));
        };
        let is_flat = system.dimensions.count() == 2;
        let volume = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3);
        let mass = mass.unwrap_or(volume * system.materials.density(index));
        for (name, value) in [("radius", radius), ("mass", mass)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(invalid(py, format!("{name} is {value}; expected a finite number > 0")));
            }
        }
        if is_flat && (position.z != 0.0 || velocity.z != 0.0) {
            return Err(invalid(py, "the simulation is 2D: z and the z velocity are 0".to_owned()));
        }
        let sphere = Sphere { id, position, velocity, spin, radius, mass, material: index, fixed };
        py.detach(|| state.add(sphere)).map_err(|error| of(py, &error))
    }

    fn remove(&self, py: Python, id: u32) -> PyResult<()> {
        self.compute(py, |state| {
            state.simulation.remove(id)?;
            state.frame = None;
            Ok(())
        })
    }

    fn apply_impulse(&self, py: Python, id: u32, impulse: &Bound<PyAny>) -> PyResult<()> {
        let impulse = arrays::vector("impulse", impulse)?;
        self.compute(py, |state| {
            state.simulation.apply_impulse(id, impulse)?;
            state.frame = None;
            Ok(())
        })
    }

    /// Writes a checkpoint, from which `carom run --resume` goes on too.
    #[pyo3(signature = (path, end=None))]
    fn checkpoint(&self, py: Python, path: PathBuf, end: Option<u64>) -> PyResult<()> {
        // One hold for state and labels: no other thread takes or closes the simulation in between.
        let checkpoint = self.compute(py, |state| {
            let mut checkpoint = state.simulation.checkpoint()?;
            let mut label = |key: &str, value: String| checkpoint.labels.insert(key.to_owned(), value);
            label("scene", state.name.clone());
            label("settings", state.settings.clone());
            end.map(|end| label("end", end.to_string()));
            let backend = match state.simulation.adapter() {
                Some(info) => format!("gpu: {info}"),
                None => state.simulation.backend().name().to_owned(),
            };
            label("origin", format!("carom {} on {backend}", env!("CARGO_PKG_VERSION")));
            Ok(checkpoint)
        })?;
        py.detach(|| write_checkpoint(&path, &checkpoint)).map_err(|error| cannot_write(&path, &error))
    }

    /// Writes the spheres to a file, in the format of its ending.
    fn write(&self, py: Python, path: PathBuf) -> PyResult<()> {
        let snapshot = self.compute(py, |state| {
            let spheres = state.spheres()?;
            let simulation = &state.simulation;
            Ok(Snapshot::new(simulation.system(), simulation.time(), spheres.to_vec())
                .after(simulation.steps()))
        })?;
        py.detach(|| write_snapshot(&path, &snapshot)).map_err(|error| cannot_write(&path, &error))
    }

    #[getter]
    fn seed(&self, py: Python) -> PyResult<Option<u64>> {
        Ok(self.hold(py)?.state().seed)
    }

    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut held = self.hold(py)?;
        let simulation = &held.state().simulation;
        let summary = simulation.summary();
        let dict = PyDict::new(py);
        macro_rules! put {
            ($($name:ident),*) => { $(dict.set_item(stringify!($name), summary.$name)?;)* };
        }
        put!(
            sphere_count,
            poured,
            waiting,
            removed,
            steps,
            substeps,
            time,
            wall_seconds,
            pair_impacts,
            wall_impacts,
            contact_time_impacts,
            rounds_max,
            late,
            crowded,
            event_driven,
            cpu_steps,
            redone,
            unresolved,
            stopped,
            nonfinite,
            deepest_overlap,
            deepest_overlap_final,
            kinetic_energy,
            total_energy,
            energy_error,
            ledger_error,
            momentum_error,
            compressibility,
            collision_rate
        );
        let compressed = simulation.compressed();
        dict.set_item("packing_fraction", compressed.as_ref().map(|c| c.packing_fraction))?;
        dict.set_item("pressure", compressed.as_ref().map(|c| c.pressure))?;
        Ok(dict)
    }

    /// Releases the memory and the device. Every later call raises `ClosedError`.
    fn close(&self, py: Python) -> PyResult<()> {
        match self.state.try_lock() {
            Ok(mut state) => {
                let state = state.take();
                py.detach(|| drop(state));
                Ok(())
            }
            Err(TryLockError::Poisoned(_)) => Ok(()),
            Err(TryLockError::WouldBlock) => self.hold(py).map(drop),
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        match self.state.try_lock() {
            Ok(state) => state.is_none(),
            Err(TryLockError::Poisoned(_)) => true,
            Err(TryLockError::WouldBlock) => false,
        }
    }
}
