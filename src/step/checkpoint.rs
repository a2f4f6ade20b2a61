//! The state of an engine between two steps, complete to the bit: an engine that resumes from it takes the steps that the first
//! one would have taken.
//!
//! Caches are not part of the state. An engine rebuilds them, and tests hold that their results have the same bits.

use std::collections::VecDeque;

use glam::{DVec3, I64Vec3};

use crate::{
    Measure, WallLoad,
    state::{
        columns::State, grid::Grid, statistics::SystemStatistics, units::Units, warm_start::WarmStartCache,
    },
    step::plan::Past,
};

/// The state of an engine.
#[derive(Clone, Debug)]
pub enum EngineState {
    /// Of an engine that executes the stages: `cpu` or `gpu`.
    Staged(Box<StagedState>),
    /// Of `exact`.
    Exact(Box<ExactState>),
}

/// The state of an engine that executes the stages, in scaled units.
#[derive(Clone, Debug)]
pub struct StagedState {
    pub head: StagedHead,
    /// The spheres in the order of the last broad phase: sums over the spheres depend on the order.
    pub spheres: State,
    /// Impulses of the resting contacts, in the order of their owners, and all sleep timers that are not 0.
    pub warm_start: WarmStartCache,
}

/// The part of the state whose size does not depend on the number of spheres.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct StagedHead {
    pub domain: DomainState,
    pub driver: DriverState,
    pub executor: ExecutorState,
}

/// The choices that a domain made for an earlier state of the spheres, and that stay until the next choice.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct DomainState {
    pub units: Units,
    pub grid: Grid,
    pub statistics: SystemStatistics,
    /// Mean of all centres when the walls were laid out.
    pub middle: DVec3,
    /// Position at which the potential energy is zero.
    pub reference: DVec3,
    /// Contact time of the TC model.
    pub contact_time: f64,
}

/// Measurements of earlier steps on which plans depend.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct DriverState {
    pub step: u64,
    pub time: f64,
    pub history: VecDeque<(i64, Past)>,
    pub measured: Measure,
    pub felt: Vec<WallLoad>,
    pub was_halved: bool,
}

/// State that the executors keep from step to step. Each executor uses its own part and leaves out the other.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct ExecutorState {
    pub cpu: Option<CpuState>,
    #[cfg_attr(
        not(any(feature = "gpu", feature = "files")),
        expect(dead_code, reason = "only a device has it")
    )]
    pub gpu: Option<GpuState>,
}

/// State that the CPU executor keeps from step to step.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct CpuState {
    /// Substeps that still apply their impacts one by one, and substeps that are not repeated.
    pub one_by_one: [u32; 2],
    /// Length of the longest chain of impacts in the last substep; 0 if the next one should begin with rounds all the same.
    pub depth: u32,
    /// Number of spheres that slept in the last substep.
    pub asleep: u64,
}

/// State that the GPU executor keeps from step to step.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(not(any(feature = "gpu", feature = "files")), expect(dead_code, reason = "only a device has it"))]
pub struct GpuState {
    /// The next step is taken substep by substep.
    pub substep_wise: bool,
    /// The CPU took the last step, and applied impacts one by one.
    pub has_chains: bool,
    pub is_idle: bool,
    pub busy_rounds: [u32; 2],
    /// Number of spheres for which the buffers have room; the numbers of hashed blocks depend on it.
    pub room: usize,
    /// Number of spheres for which units and cells were chosen, and the sum of the diameters.
    pub chosen_for: usize,
    pub diameters: f64,
}

/// The state of the event-driven engine, in the user's units. The arrays are in the order of its memory.
#[derive(Clone, Debug, Default)]
pub struct ExactState {
    pub head: ExactHead,
    /// Rank of each sphere's id; the other arrays refer to it.
    pub number: Vec<u32>,
    /// Position and velocity at the time of the last event, relative to the world's origin, and that time.
    pub position: Vec<DVec3>,
    pub velocity: Vec<DVec3>,
    pub clock: Vec<f64>,
    pub cell: Vec<I64Vec3>,
    /// Number of impacts so far, and length of the series of immediate impacts.
    pub impacts: Vec<u32>,
    pub hasty: Vec<u32>,
    /// The predicted events of each sphere.
    pub predictions: Vec<Predictions>,
}

/// The part of the state whose size does not depend on the number of spheres.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct ExactHead {
    pub edge: DVec3,
    pub counts: [i64; 3],
    pub periods: DVec3,
    pub sizes: [i64; 3],
    pub base: [i64; 3],
    pub inner_base: [i64; 3],
    pub inner_sizes: [u64; 3],
    /// Position of zero potential energy, relative to the world's origin, and the contact time of the TC model.
    pub reference: DVec3,
    pub contact_time: f64,
    pub spin_energy: f64,
    /// Crossings since the spheres were last sorted in memory.
    pub crossings: usize,
}

/// Predicted impacts that a slot holds.
pub const MEETINGS: usize = 3;

/// The predicted events of one sphere. Times count from the start of the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictions {
    pub last_contact: f64,
    pub alone_time: f64,
    pub horizon: f64,
    pub meeting_times: [f64; MEETINGS],
    /// Index in memory of each partner, and its number of impacts at the prediction.
    pub partners: [u32; MEETINGS],
    pub partner_impacts: [u32; MEETINGS],
    /// The event without another sphere: 0 none; 1 + 2 axis + (1 if upwards) the next cell; 7 + k the plane k.
    pub alone: u32,
}
