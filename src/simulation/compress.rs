//! Compression: shrinks a periodic box between two steps.

use glam::DVec3;

use super::{Simulation, edit::Disturbed};
use crate::{
    Compressed, CompressionStage, Dimensions, Error, StepReport, System,
    scene::push::Crowd,
    system::space::{Space, SphereProxy},
};

/// Gap left between pairs that would overlap, in mean diameters: twenty times the rounding of an f32 position.
const SPARE: f64 = 1e-6;
/// Largest number of passes over the overlaps; if overlaps remain, the shrinkage is halved. Ten passes suffice in a gas; near
/// jamming, long chains of spheres move.
const PASSES: usize = 1000;
/// How often the shrinkage of a step may be halved: down to a 16th. With more halvings a gas creeps towards jamming while
/// its collision rate, and so the cost of a step, grows without bound.
const MOST_HALVINGS: i32 = 4;
/// Shrinkage over which the pressure is averaged, as a share of the length. The pressure of a dense gas grows by 2% over it.
const WINDOW: f64 = 0.002;
/// Relative tolerance within which the target packing fraction counts as reached.
const NEAR: f64 = 1e-9;

/// Progress of a compression, and its running mean of the pressure.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub(super) struct Squeeze {
    stage: CompressionStage,
    /// Kinetic energy of the spins and of the common motion, which contribute no pressure.
    idle: f64,
    /// Time integral of the pressure, and the time it covers; both decay while the box shrinks.
    impulse: f64,
    span: f64,
}

impl Squeeze {
    /// Ends the compression. From here on, the mean pressure counts as one step in later averages.
    fn stop(&mut self, stage: CompressionStage, dt: f64) {
        let mean = if self.span > 0.0 { self.impulse / self.span } else { 0.0 };
        let span = dt.min(self.span);
        *self = Self { stage, impulse: mean * span, span, ..*self };
    }
}

impl System {
    /// Volume of the box, in 2D its area. Meaningful only if all axes are periodic.
    pub(crate) fn content(&self) -> f64 {
        (0..self.dimensions.count()).map(|axis| self.bounds.max[axis] - self.bounds.min[axis]).product()
    }

    /// Share of the box that the spheres fill.
    pub(crate) fn packing_fraction(&self) -> f64 {
        let sphere = |radius: f64| match self.dimensions {
            crate::Dimensions::Two => std::f64::consts::PI * radius * radius,
            crate::Dimensions::Three => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        };
        self.spheres.iter().map(|s| sphere(s.radius)).sum::<f64>() / self.content()
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
    pub(super) fn is_squeezed(&self) -> bool {
        self.system.compression.is_some() && self.squeeze.stage == CompressionStage::Running
    }

    /// Shrinks the box before a step.
    pub(super) fn compress(&mut self) -> Result<(), Error> {
        let Some(compression) = self.system.compression else { return Ok(()) };
        let is_squeezed = self.is_squeezed();
        // The energy of spins and of the common motion changes only by friction and drag.
        let changes = || {
            let surfaces = self.system.materials.surfaces();
            self.system.drag > 0.0 || surfaces.iter().any(|surface| surface.friction > 0.0)
        };
        if self.system.spheres.is_empty() || !(is_squeezed || changes()) {
            return Ok(());
        }
        self.read_all()?;
        self.squeeze.idle = idle(&self.system);
        if !is_squeezed {
            return Ok(());
        }
        let mut share = compression.rate * self.system.dt;
        if let Some(target) = compression.fraction {
            let ratio = self.system.packing_fraction() / target;
            let left = 1.0 - ratio.powf(1.0 / self.system.dimensions.count() as f64);
            if left <= NEAR {
                self.squeeze.stop(CompressionStage::Reached, self.system.dt);
                return Ok(());
            }
            share = share.min(left);
        }
        let found = (0..=MOST_HALVINGS).find_map(|k| shrunk(&self.system, 1.0 - share * 0.5f64.powi(k)));
        let Some(smaller) = found else {
            self.squeeze.stop(CompressionStage::Stuck, self.system.dt);
            return Ok(());
        };
        let before = std::mem::replace(&mut self.system, smaller);
        if let Err(error) = self.reload(&Disturbed::all()) {
            self.system = before;
            return Err(error);
        }
        self.flow.forget_leaving();
        self.flow.is_read = false;
        if compression.fraction.is_some_and(|f| self.system.packing_fraction() >= f * (1.0 - NEAR)) {
            self.squeeze.stop(CompressionStage::Reached, self.system.dt);
        }
        Ok(())
    }

    /// Updates the pressure after a step, and reports it.
    pub(super) fn gauge(&mut self, report: &mut StepReport) {
        let Some(compression) = self.system.compression else { return };
        let (dt, axes) = (self.system.dt, self.system.dimensions.count() as f64);
        let moving = (report.kinetic_energy - self.squeeze.idle).max(0.0);
        let impulse = (2.0 * moving * dt + report.virial) / (axes * self.system.content());
        let kept = if self.is_squeezed() { (-dt * compression.rate / WINDOW).exp() } else { 1.0 };
        let squeeze = &mut self.squeeze;
        squeeze.impulse = kept * squeeze.impulse + impulse;
        squeeze.span = kept * squeeze.span + dt;
        report.packing_fraction = self.system.packing_fraction();
        report.pressure = impulse / dt;
        // The mean is reliable once it covers half of the window.
        let is_known = squeeze.span > 0.5 * WINDOW / compression.rate;
        let is_high = compression.pressure.is_some_and(|target| squeeze.impulse >= target * squeeze.span);
        if squeeze.stage == CompressionStage::Running && is_known && is_high {
            squeeze.stop(CompressionStage::Reached, dt);
        }
    }
}

/// The system in a smaller box; `None` if the box cannot hold the spheres.
fn shrunk(system: &System, factor: f64) -> Option<System> {
    let mut smaller = system.clone();
    let bounds = &mut smaller.bounds;
    let middle = 0.5 * (bounds.min + bounds.max);
    // Discs stay in their plane, so the third axis does not scale.
    let across = if system.dimensions == Dimensions::Two { 1.0 } else { factor };
    let factor = DVec3::new(factor, factor, across);
    bounds.min = middle + factor * (bounds.min - middle);
    bounds.max = middle + factor * (bounds.max - middle);
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
    let (_, left) = crowd.push_apart(SPARE, PASSES);
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
