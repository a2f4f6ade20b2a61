//! Compares the GPU engine with the CPU engine step by step; both take every step from equal states. If a step differs, it
//! is repeated and compared pass by pass.
//!
//! Systems of hard spheres are chaotic: a rounding error grows tenfold every few collisions, so whole runs of two engines
//! diverge although neither is wrong. A single step from equal states agrees, except for impacts whose order or very
//! existence is decided by rounding. These near-ties are detected geometrically and counted.
//!
//! The module `stages` holds one comparison for every pass of the [schedule](crate::step::schedule). The trace of a step
//! applies the comparisons to states that arise in a run; the parity tests apply them to initial states of every kind and
//! size.

mod contacts;
mod error_bounds;
mod findings;
mod harness;
mod memory;
mod scatter;
mod sensitivity;
mod stages;
#[cfg(test)]
mod tests;
mod trace;
mod twin;

#[cfg(test)]
#[path = "../../tests/parity/mod.rs"]
mod parity;

use std::collections::HashMap;

use rayon::{ThreadPool, ThreadPoolBuilder};

use self::error_bounds::Step;
use self::findings::Difference;
use crate::{
    Bounds, Error, Impact, Sphere, System,
    cpu::Stepper,
    gpu::{Context, buffer_layout::Capacities, engine::GpuEngine},
    state::columns::NEVER,
    step::engine::Engine,
};

/// Index of the copy of the state that a broad phase writes and the substeps change.
pub const PRESENT: usize = 1;

/// The gpu engine and the cpu engine in lockstep.
///
/// ```no_run
/// use carom::gpu::Context;
/// use carom::scene::{Fill, Scene};
/// use carom::verify::Lockstep;
///
/// let scene = Scene::new(1.0 / 60.0).periodic().fill(Fill::random(1000).volume_fraction(0.2).temperature(3.0));
/// let mut lockstep = Lockstep::new(scene.build()?, Context::open(None)?, 0, Lockstep::ROUNDING)?;
/// for _ in 0..10 {
///     match lockstep.step()? {
///         Ok(agreement) => println!("{} impacts agree", agreement.impacts),
///         Err(mismatch) => panic!("{mismatch}"),
///     }
/// }
/// # Ok::<(), carom::Error>(())
/// ```
pub struct Lockstep {
    context: Context,
    pool: ThreadPool,
    /// The system with its present spheres.
    system: System,
    /// Time of the last contact of every id, relative to the present.
    contacts: HashMap<u32, f32>,
    tolerance: f64,
    steps: u64,
}

/// Agreement of both engines on a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Impacts of the cpu engine.
    pub impacts: u64,
    /// Impacts that rounding decides: which of two comes first, whether two spheres touch or just pass, whether an impact
    /// comes before the end of the step. A step that was compared with repetitions counts as one.
    pub near_ties: u64,
    /// Impacts that differ because of a near-tie before them in the step.
    pub followers: u64,
    /// Spheres whose position and velocity were compared: all but those of near-ties; none in a step that was
    /// compared with repetitions.
    pub spheres: u64,
    /// Largest difference of a time, a position or a velocity, as a share of its tolerance, or of twice the scatter of
    /// repetitions.
    pub worst: f64,
}

/// The comparison of one stage in a step: all its passes, each on equal input on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct StageAgreement {
    /// Name of the [stage](crate::step::schedule::STAGES).
    pub stage: &'static str,
    /// Passes compared.
    pub passes: u64,
    /// Passes that were not compared because the device halted, for example on a full buffer.
    pub halted: u64,
    /// Values compared.
    pub values: u64,
    /// Decisions that rounding decides, such as whether a pair at the very limit of a candidate list is a candidate.
    pub near_ties: u64,
    /// Largest difference as a share of its tolerance; infinite if a value differs that has to be equal.
    pub worst: f64,
    /// The first difference beyond its tolerance.
    pub mismatch: Option<Mismatch>,
}

impl StageAgreement {
    /// Adds the same stage in another step; the first mismatch is kept.
    pub fn add(&mut self, other: Self) {
        self.passes += other.passes;
        self.halted += other.halted;
        self.values += other.values;
        self.near_ties += other.near_ties;
        self.worst = self.worst.max(other.worst);
        self.mismatch = self.mismatch.take().or(other.mismatch);
    }

    /// Adds the stages of another step to a list that is in the order of the stages.
    pub fn add_all(all: &mut Vec<Self>, others: Vec<Self>) {
        let place = |name: &str| crate::step::schedule::STAGES.iter().position(|stage| stage.name == name);
        for other in others {
            match all.iter_mut().find(|one| one.stage == other.stage) {
                Some(one) => one.add(other),
                None => all.push(other),
            }
        }
        all.sort_by_key(|one| place(one.stage));
    }
}

/// The first value on which the engines differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The step, the first is 1.
    pub step: u64,
    /// The first [stage](crate::step::schedule::STAGES) whose results differ on equal input; none where every stage agrees and
    /// only the whole step differs.
    pub stage: Option<&'static str>,
    /// Id of the sphere; none where the value belongs to no single sphere.
    pub sphere: Option<u32>,
    /// Name of the value.
    pub what: String,
    /// The value on the gpu engine: one number, three for a vector, none where it does not exist.
    pub gpu: Vec<f64>,
    /// The value on the cpu engine.
    pub cpu: Vec<f64>,
    /// Tolerance of the difference; 0 = the values have to be equal.
    pub allowed: f64,
}

impl Mismatch {
    fn new(step: u64, stage: Option<&'static str>, difference: Difference) -> Self {
        let Difference { id, what, device, twin, allowed } = difference;
        Self { step, stage, sphere: id, what, gpu: device, cpu: twin, allowed }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = |values: &[f64]| match values {
            [] => "none".to_owned(),
            [one] => format!("{one}"),
            several => {
                let texts: Vec<String> = several.iter().map(f64::to_string).collect();
                format!("({})", texts.join(", "))
            }
        };
        write!(f, "step {}, ", self.step)?;
        match self.stage {
            Some(stage) => write!(f, "stage {stage}, ")?,
            None => write!(f, "no single stage, ")?,
        }
        if let Some(id) = self.sphere {
            write!(f, "sphere {id}: ")?;
        }
        let Self { what, gpu, cpu, allowed, .. } = self;
        write!(f, "{what} {} on gpu, {} on cpu; allowed {allowed:.1e}", value(gpu), value(cpu))
    }
}

impl System {
    /// Share of its lengths that the box is to lose in a step; 0 if nothing compresses it.
    fn share_of_step(&self) -> f64 {
        let axes = self.dimensions.count();
        self.compression.map_or(0.0, |compression| compression.share(self.packing_fraction(), self.dt, axes))
    }
}

impl Lockstep {
    /// The tolerance that rounding alone needs: the error of a position relative to four of the largest diameters and the path
    /// of a step. All other tolerances follow from it.
    pub const ROUNDING: f64 = error_bounds::ROUNDING;

    /// Both engines before the first step. Where a box is compressed, every step shrinks it until the spheres fill the requested share
    /// of it; a target pressure stops nothing. The cpu engine uses `threads` threads, 0 = one per core; `tolerance` is usually
    /// [`ROUNDING`](Self::ROUNDING).
    ///
    /// # Errors
    /// As [`Simulation::new`](crate::Simulation::new); [`Error::Invalid`] for a tolerance that is not above 0,
    /// [`Error::Unsupported`] for sources, sinks and drag.
    pub fn new(mut system: System, context: Context, threads: usize, tolerance: f64) -> Result<Self, Error> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            return Err(Error::Invalid(format!("the tolerance is {tolerance}; it has to be above 0")));
        }
        system.validate()?;
        if system.has_flow() || system.drag > 0.0 {
            return Err(Error::Unsupported(
                "gpu and cpu are compared on a system without sources, sinks and drag; take them out"
                    .to_owned(),
            ));
        }
        system.spheres.sort_by_key(|s| s.id);
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("carom-{k}"))
            .build()
            .map_err(|e| Error::Capacity(format!("cannot start {threads} threads: {e}")))?;
        Ok(Self { context, pool, system, contacts: HashMap::new(), tolerance, steps: 0 })
    }

    /// Number of steps on which the engines agreed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes a step on both engines from the state of the cpu engine and compares the impacts in the order of their times,
    /// then positions and velocities. Where the engines differ, goes through the stages of the step, each on equal input on
    /// both sides, and names the first stage that differs; the state then stays as before the step.
    ///
    /// If all stages agree and the step has resting contacts, the cpu engine repeats the step from states changed by rounding
    /// errors. The engines then agree if they differ by at most twice as much as the repetitions.
    ///
    /// # Errors
    /// As [`Simulation::step`](crate::Simulation::step), where neither engine can take the step or the device fails.
    pub fn step(&mut self) -> Result<Result<Agreement, Mismatch>, Error> {
        let step = self.steps + 1;
        let last_contact = |id: u32| self.contacts.get(&id).copied().unwrap_or(NEVER);
        let time = self.steps as f64 * self.system.dt;
        let twin = self.pool.install(|| twin_step(&self.system, last_contact, time));
        let device = device_step(&self.system, &self.context, last_contact, time);
        let (device, (twin, contacts, has_rested)) = match (device, twin) {
            (Ok(device), Ok(twin)) => (device, twin),
            (Err(error), Ok(_)) if is_of_the_spheres(&error) => {
                return Ok(Err(self.failed(step, &error, "gpu")));
            }
            (Ok(_), Err(error)) if is_of_the_spheres(&error) => {
                return Ok(Err(self.failed(step, &error, "cpu")));
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        match error_bounds::compare(&self.system, &device, &twin, self.tolerance) {
            Ok(agreement) => {
                self.advance(twin, contacts);
                Ok(Ok(agreement))
            }
            Err(difference) => {
                let scale = (self.tolerance / Self::ROUNDING) as f32;
                let trace =
                    || trace::first_difference(&self.system, &self.context, last_contact, scale, time);
                if let Some((stage, difference)) = self.pool.install(trace)? {
                    return Ok(Err(Mismatch::new(step, Some(stage), difference)));
                }
                // Rounding decides whether the pushes against overlaps come to an end, and so by how much the box shrinks.
                if device.bounds != twin.bounds {
                    let impacts = twin.impacts.len() as u64;
                    self.advance(twin, contacts);
                    return Ok(Ok(Agreement { impacts, near_ties: 1, ..Agreement::default() }));
                }
                // Values that have to be equal do not scatter.
                if !has_rested || difference.allowed == 0.0 {
                    return Ok(Err(Mismatch::new(step, None, *difference)));
                }
                let repeat =
                    |system: &System| match self.pool.install(|| twin_step(system, last_contact, time)) {
                        Ok((step, ..)) => Ok(Some(step)),
                        Err(error) if is_of_the_spheres(&error) => Ok(None),
                        Err(error) => Err(error),
                    };
                let worst =
                    sensitivity::share_of_scatter(&self.system, &device, &twin, self.tolerance, repeat)?;
                if worst > 1.0 {
                    return Ok(Err(Mismatch::new(step, None, *difference)));
                }
                if let Err(difference) = error_bounds::compare_energy(&self.system, &device, self.tolerance) {
                    return Ok(Err(Mismatch::new(step, None, *difference)));
                }
                let impacts = twin.impacts.len() as u64;
                self.advance(twin, contacts);
                Ok(Ok(Agreement { impacts, near_ties: 1, followers: 0, spheres: 0, worst }))
            }
        }
    }

    /// Goes through all stages of the next step, each on equal input on both sides, whether or not they differ. The state
    /// stays as it is.
    ///
    /// # Errors
    /// As [`Simulation::step`](crate::Simulation::step), where the cpu engine cannot take the step or the device fails.
    pub fn stages(&self) -> Result<Vec<StageAgreement>, Error> {
        let last_contact = |id: u32| self.contacts.get(&id).copied().unwrap_or(NEVER);
        let scale = (self.tolerance / Self::ROUNDING) as f32;
        let (step, time) = (self.steps + 1, self.steps as f64 * self.system.dt);
        self.pool.install(|| trace::all_stages(&self.system, &self.context, last_contact, scale, time, step))
    }

    /// Takes steps on the cpu engine alone, so that later comparisons start from another state.
    ///
    /// # Errors
    /// As [`Simulation::step`](crate::Simulation::step).
    pub fn skip(&mut self, steps: u64) -> Result<(), Error> {
        for _ in 0..steps {
            let last_contact = |id: u32| self.contacts.get(&id).copied().unwrap_or(NEVER);
            let time = self.steps as f64 * self.system.dt;
            let (twin, contacts, _) = self.pool.install(|| twin_step(&self.system, last_contact, time))?;
            self.advance(twin, contacts);
        }
        Ok(())
    }

    // Takes over the result of the cpu engine, from which the next step starts.
    fn advance(&mut self, step: Step, contacts: Contacts) {
        (self.system.spheres, self.system.bounds) = (step.spheres, step.bounds);
        self.contacts = contacts;
        self.steps += 1;
    }

    // Reports that only one engine completed the step.
    fn failed(&self, step: u64, error: &Error, side: &str) -> Mismatch {
        let id = if let Error::NonFinite { id, .. } = error { Some(*id) } else { None };
        let what = format!("only {side} failed ({error}):");
        let (device, twin) = (vec![], vec![]);
        Mismatch::new(step, None, Difference { id, what, device, twin, allowed: 0.0 })
    }
}

// Whether the simulated system causes the failure, not the machine.
fn is_of_the_spheres(error: &Error) -> bool {
    matches!(error, Error::NonFinite { .. } | Error::NoProgress(_))
}

/// The stages of the first step of a system. Unlike a [`Lockstep`], the function takes systems with drag.
#[cfg(feature = "files")]
pub(crate) fn first_stages(
    system: &System,
    context: &Context,
    tolerance: f64,
) -> Result<Vec<StageAgreement>, Error> {
    let scale = (tolerance / Lockstep::ROUNDING) as f32;
    trace::all_stages(system, context, |_| NEVER, scale, 0.0, 1)
}

type Contacts = HashMap<u32, f32>;

// The step, the time of the last contact of every id, and whether any resting contact remained at the end.
fn twin_step(
    system: &System,
    last_contact: impl Fn(u32) -> f32,
    time: f64,
) -> Result<(Step, Contacts, bool), Error> {
    let mut stepper = Stepper::new(system, last_contact, time)?;
    let step = take_step(&mut stepper, system, time)?;
    Ok((step, stepper.engine.last_contacts(), stepper.engine.has_rested()))
}

fn device_step(
    system: &System,
    context: &Context,
    last_contact: impl Fn(u32) -> f32,
    time: f64,
) -> Result<Step, Error> {
    let capacities = Capacities::for_spheres(system.spheres.len(), true);
    let mut engine = GpuEngine::with(system, context.clone(), capacities, false, last_contact, time)?;
    take_step(&mut engine, system, time)
}

// Takes the step of an engine that holds this system.
fn take_step(engine: &mut impl Engine, system: &System, time: f64) -> Result<Step, Error> {
    let mut impacts: Vec<Impact> = vec![];
    engine.shrink(system.share_of_step(), 0.0)?;
    let report = engine.step(time, Some(&mut impacts), false)?;
    impacts.iter_mut().for_each(|impact| impact.time -= time);
    let mut spheres: Vec<Sphere> = system.spheres.clone();
    engine.read(&mut spheres)?;
    let bounds = engine.shrunk().map_or_else(|| system.bounds.clone(), |shrunk| shrunk.bounds.clone());
    Ok(Step { impacts, spheres, bounds, kinetic_energy: report.kinetic_energy })
}

// The bounds in which the cpu engine ends a step.
fn bounds_after(system: &System, last_contact: impl Fn(u32) -> f32, time: f64) -> Result<Bounds, Error> {
    match system.share_of_step() {
        0.0 => Ok(system.bounds.clone()),
        _ => twin_step(system, last_contact, time).map(|(step, ..)| step.bounds),
    }
}
