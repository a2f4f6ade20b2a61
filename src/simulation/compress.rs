//! Compression: a periodic box shrinks from step to step.
//!
//! An engine shrinks the box itself at the start of a step ([`Engine::shrink`](crate::step::engine::Engine::shrink)), so that the
//! spheres stay on a device, and the next step may begin before the report of the last one. The event-driven engine is reloaded.

use glam::DVec3;

use super::{Simulation, edit::Disturbed};
use crate::{
    Bounds, Compressed, Compression, CompressionStage, Dimensions, Error, StepReport, System,
    scene::push::Crowd,
    state::constants::PUSH_PASSES,
    step::shrinkage::{MOST_SHRINK_HALVINGS, Shrunk},
    system::{
        compression::NEAR,
        space::{Space, SphereProxy},
    },
};

/// Gap left between pairs that would overlap, in mean diameters.
const SPARE: f64 = 1e-6;
/// Shrinkage over which the pressure is averaged, as a share of the length. The pressure of a dense gas grows by 2% over it.
const WINDOW: f64 = 0.002;

/// Progress of a compression, and its running mean of the pressure.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub(super) struct Squeeze {
    stage: CompressionStage,
    /// Kinetic energy of the spins and of the common motion, which contribute no pressure; only where the engine does not measure it.
    idle: f64,
    /// Time integral of the pressure, and the time it covers; both decay while the box shrinks.
    impulse: f64,
    span: f64,
    /// Constant sums over the spheres.
    #[cfg_attr(feature = "files", serde(skip))]
    totals: Option<Totals>,
}

/// Sums over all spheres that a compression does not change.
#[derive(Clone, Copy, Debug)]
struct Totals {
    /// Volume, in 2D area.
    volume: f64,
    mass: f64,
}

impl Squeeze {
    /// Ends the compression. From here on, the mean pressure counts as one step in later averages.
    fn stop(&mut self, stage: CompressionStage, dt: f64) {
        let mean = if self.span > 0.0 { self.impulse / self.span } else { 0.0 };
        let span = dt.min(self.span);
        *self = Self { stage, impulse: mean * span, span, ..*self };
    }
}

impl Simulation {
    /// State of the [`Compression`](crate::Compression); `None` without one.
    pub fn compressed(&self) -> Option<Compressed> {
        self.system.compression.map(|_| {
            let Squeeze { stage, impulse, span, .. } = self.squeeze;
            Compressed {
                stage,
                packing_fraction: self.system.packing_fraction(),
                pressure: if span > 0.0 { impulse / span } else { 0.0 },
            }
        })
    }

    /// Whether the next step begins with a smaller box.
    fn is_squeezed(&self) -> bool {
        self.system.compression.is_some() && self.squeeze.stage == CompressionStage::Running
    }

    fn totals(&mut self) -> Totals {
        let Self { squeeze, system, .. } = self;
        *squeeze.totals.get_or_insert_with(|| Totals {
            volume: system.volume_of_spheres(),
            mass: system.spheres.iter().map(|sphere| sphere.mass).sum(),
        })
    }

    // The packing fraction in a box with these bounds.
    fn filled(&mut self, bounds: &Bounds) -> f64 {
        self.totals().volume / bounds.content(self.system.dimensions)
    }

    // Whether a box with these bounds is as small as requested.
    fn is_small_enough(&mut self, compression: &Compression, bounds: &Bounds) -> bool {
        compression.fraction.is_some_and(|target| self.filled(bounds) >= target * (1.0 - NEAR))
    }

    // Share of its lengths that a box with these bounds is to lose in a step.
    fn share(&mut self, compression: &Compression, bounds: &Bounds) -> f64 {
        let filled = self.filled(bounds);
        compression.share(filled, self.system.dt, self.system.dimensions.count())
    }

    /// Shrinks the box before a step, or lets the engine shrink it at the start of the step.
    pub(super) fn compress(&mut self) -> Result<(), Error> {
        let Some(compression) = self.system.compression else { return Ok(()) };
        if self.system.spheres.is_empty() {
            return Ok(());
        }
        let bounds = self.system.bounds.clone();
        let mut now = 0.0;
        if self.is_squeezed() {
            now = self.share(&compression, &bounds);
            if now == 0.0 {
                self.squeeze.stop(CompressionStage::Reached, self.system.dt);
            }
        }
        let after = bounds.shrunk(now, self.system.dimensions.count());
        let goes_on = now > 0.0 && !self.is_small_enough(&compression, &after);
        let next = if goes_on { self.share(&compression, &after) } else { 0.0 };
        match self.engine.shrink(now, next)? {
            Some(is_called_off) => {
                self.flow.called_off += u64::from(is_called_off);
                Ok(())
            }
            None => self.compress_by_reload(&compression, now),
        }
    }

    // Reloads an engine that cannot shrink the box itself.
    fn compress_by_reload(&mut self, compression: &Compression, share: f64) -> Result<(), Error> {
        // The energy of spins and of the common motion changes only by friction and drag.
        let surfaces = self.system.materials.surfaces();
        let changes = self.system.drag > 0.0 || surfaces.iter().any(|surface| surface.friction > 0.0);
        if !(share > 0.0 || changes) {
            return Ok(());
        }
        self.read_all()?;
        self.squeeze.idle = idle(&self.system);
        if share == 0.0 {
            return Ok(());
        }
        let found =
            (0..=MOST_SHRINK_HALVINGS).find_map(|k| shrunk(&self.system, share * 0.5f64.powi(k as i32)));
        let Some(smaller) = found else {
            self.squeeze.stop(CompressionStage::Stuck, self.system.dt);
            return Ok(());
        };
        let before = std::mem::replace(&mut self.system, smaller);
        if let Err(error) = self.reload(&Disturbed::all()) {
            self.system = before;
            return Err(error);
        }
        self.flow.is_read = false;
        self.enter_box(compression);
        Ok(())
    }

    /// After a step, successful or not: follows the box of the engine.
    pub(super) fn follow_box(&mut self) {
        let Some(compression) = self.system.compression else { return };
        let Some(Shrunk { bounds, is_stuck }) = self.engine.shrunk() else { return };
        if *is_stuck {
            self.squeeze.stop(CompressionStage::Stuck, self.system.dt);
        } else {
            self.system.bounds = bounds.clone();
            self.enter_box(&compression);
        }
    }

    // After the box has shrunk.
    fn enter_box(&mut self, compression: &Compression) {
        self.flow.forget_leaving();
        if self.is_small_enough(compression, &self.system.bounds.clone()) {
            self.squeeze.stop(CompressionStage::Reached, self.system.dt);
        }
    }

    /// Updates the pressure after a step, and reports it.
    pub(super) fn gauge(&mut self, report: &mut StepReport) {
        let Some(compression) = self.system.compression else { return };
        let (dt, axes) = (self.system.dt, self.system.dimensions.count() as f64);
        let Totals { volume, mass } = self.totals();
        let content = self.system.bounds.content(self.system.dimensions);
        let idle = match self.engine.spin_energy() {
            Some(spins) if mass > 0.0 => spins + 0.5 * report.momentum.length_squared() / mass,
            _ => self.squeeze.idle,
        };
        let moving = (report.kinetic_energy - idle).max(0.0);
        let impulse = (2.0 * moving * dt + report.virial) / (axes * content);
        let kept = if self.is_squeezed() { (-dt * compression.rate / WINDOW).exp() } else { 1.0 };
        let squeeze = &mut self.squeeze;
        squeeze.impulse = kept * squeeze.impulse + impulse;
        squeeze.span = kept * squeeze.span + dt;
        report.packing_fraction = volume / content;
        report.pressure = impulse / dt;
        // The mean is reliable once it covers half of the window.
        let is_known = squeeze.span > 0.5 * WINDOW / compression.rate;
        let is_high = compression.pressure.is_some_and(|target| squeeze.impulse >= target * squeeze.span);
        if squeeze.stage == CompressionStage::Running && is_known && is_high {
            squeeze.stop(CompressionStage::Reached, dt);
        }
    }
}

/// The system in a box that has lost this share of its lengths; `None` if the box cannot hold the spheres.
fn shrunk(system: &System, share: f64) -> Option<System> {
    let bounds = system.bounds.shrunk(share, system.dimensions.count());
    let mut smaller = System { bounds, ..system.clone() };
    let middle = 0.5 * (system.bounds.min + system.bounds.max);
    let factor = 1.0 - share;
    let largest = system.spheres.iter().map(|s| s.radius).fold(0.0, f64::max);
    smaller.inspect_periods(largest).ok()?;
    let space = Space::new(&smaller);
    let flat = system.dimensions == Dimensions::Two;
    let place = |p: DVec3| {
        let placed = space.wrap(middle + factor * (p - middle));
        if flat { placed.with_z(p.z) } else { placed }
    };
    let mut crowd = Crowd {
        space,
        planes: &[],
        rounds: (system.spheres.iter())
            .map(|s| SphereProxy { center: place(s.position), radius: s.radius })
            .collect(),
        limits: vec![
            Some((DVec3::splat(f64::NEG_INFINITY), DVec3::splat(f64::INFINITY)));
            system.spheres.len()
        ],
    };
    let (_, left) = crowd.push_apart(SPARE, PUSH_PASSES as usize);
    if left.count > 0 {
        return None;
    }
    for (sphere, round) in smaller.spheres.iter_mut().zip(&crowd.rounds) {
        sphere.position = round.center;
    }
    Some(smaller)
}

/// Kinetic energy of the spins and of the common motion.
fn idle(system: &System) -> f64 {
    let (mut mass, mut momentum, mut spins) = (0.0, DVec3::ZERO, 0.0);
    for s in &system.spheres {
        mass += s.mass;
        momentum += s.mass * s.velocity;
        spins += 0.2 * s.mass * s.radius * s.radius * s.spin.length_squared();
    }
    spins + 0.5 * momentum.length_squared() / mass
}
