//! The system without its spheres, as the CPU engine and the GPU engine need it: units, cells, walls, and the figures on
//! which plans are based.

use std::mem::swap;

use glam::DVec3;

use crate::{
    Measure, System,
    state::{columns::State, grid::Grid, statistics::SystemStatistics, sums::Sums, units::Units},
    step::{checkpoint::DomainState, plan::Limits, shrinkage::PeriodicBox},
    walls::world::World,
};

/// The simulated world without its spheres, in scaled units unless stated otherwise.
pub struct Domain {
    pub units: Units,
    pub grid: Grid,
    pub world: World,
    pub statistics: SystemStatistics,
    /// The system without its spheres, in the user's units.
    pub system: System,
    /// Length of a step.
    pub dt: f64,
    /// Position at which the potential energy is zero.
    reference: DVec3,
    /// Mean of all centres when the walls were laid out.
    middle: DVec3,
    contact_time: f64,
    has_fixed: bool,
}

impl Domain {
    /// The domain of a system and the columns of its spheres. `last_contact` returns the time of the last contact of an id,
    /// relative to now.
    pub fn new(system: &System, last_contact: impl Fn(u32) -> f32) -> (Self, State) {
        let units = Units::new(system);
        let statistics = SystemStatistics::new(system, &units);
        let lowest = system.spheres.iter().map(|s| s.position / units.length).reduce(DVec3::min);
        let lowest = lowest.unwrap_or(DVec3::ZERO);
        let grid = Grid::new(system, &units, &statistics, statistics.margin_most, lowest);
        let mut state = State::default();
        state.load(system, &units, &grid, last_contact);
        let mut domain = Self {
            world: World::default(),
            dt: system.dt / units.time,
            reference: system.gravity_reference() / units.length,
            middle: DVec3::ZERO,
            contact_time: system.contact_time() / units.time,
            has_fixed: system.spheres.iter().any(|s| s.fixed),
            system: System { spheres: vec![], ..system.clone() },
            units,
            grid,
            statistics,
        };
        domain.lay_out(state.middle(&domain.grid));
        (domain, state)
    }

    /// The choices made for an earlier state of the spheres.
    pub fn state(&self) -> DomainState {
        let Self { units, ref grid, statistics, middle, reference, contact_time, .. } = *self;
        DomainState { units, grid: grid.clone(), statistics, middle, reference, contact_time }
    }

    /// The domain of a system with choices that another domain made.
    pub fn resume(system: &System, state: &DomainState) -> Self {
        let DomainState { units, ref grid, statistics, middle, reference, contact_time } = *state;
        let mut domain = Self {
            world: World::default(),
            dt: system.dt / units.time,
            reference,
            middle,
            contact_time,
            has_fixed: system.spheres.iter().any(|s| s.fixed),
            system: System { spheres: vec![], ..system.clone() },
            units,
            grid: grid.clone(),
            statistics,
        };
        domain.lay_out(middle);
        domain
    }

    /// Rebuilds the cells for another motion margin. This rounds the positions once more.
    pub fn regrid(&mut self, state: &mut State, motion_margin: f64) {
        let Self { system, units, statistics, .. } = self;
        self.grid =
            state.regrid(&self.grid, |lowest| Grid::new(system, units, statistics, motion_margin, lowest));
        self.lay_out(state.middle(&self.grid));
    }

    // Rebuilds the walls for the current cells. `middle` is the mean of all centres.
    fn lay_out(&mut self, middle: DVec3) {
        self.middle = middle;
        self.world =
            World::new(&self.system, &self.units, &self.grid, middle, self.contact_time, &self.statistics);
    }

    /// Moves the walls to their positions in the substep of length `h` that begins at `time` (user's units).
    pub fn place_walls(&mut self, time: f64, h: f64) {
        self.world.place_walls(time, h, &self.units, &self.grid);
    }

    /// Whether any sphere is fixed.
    #[cfg(feature = "gpu")]
    pub fn has_fixed(&self) -> bool {
        self.has_fixed
    }

    /// Fraction of every velocity removed by half of a step's drag.
    #[cfg(feature = "gpu")]
    pub fn half_drag(&self) -> f64 {
        -(-0.5 * self.system.drag * self.system.dt).exp_m1()
    }

    /// Contact time of the TC model (scaled units).
    pub fn contact_time(&self) -> f64 {
        self.contact_time
    }

    /// Exchanges the present box for another one. Precondition: there are no walls.
    pub fn swap_box(&mut self, other: &mut PeriodicBox) {
        swap(&mut self.system.bounds, &mut other.bounds);
        swap(&mut self.grid, &mut other.grid);
        swap(&mut self.statistics.volume, &mut other.volume);
        swap(&mut self.statistics.margin_most, &mut other.margin_most);
        swap(&mut self.contact_time, &mut other.contact_time);
        self.world.contact_time = self.contact_time as f32;
    }

    /// The limits within which a plan must stay.
    pub fn limits(&self) -> Limits {
        self.limits_of(&self.grid, self.statistics.margin_most)
    }

    /// The same in another box.
    pub fn limits_in(&self, at: &PeriodicBox) -> Limits {
        self.limits_of(&at.grid, at.margin_most)
    }

    fn limits_of(&self, grid: &Grid, margin_most: f64) -> Limits {
        let dt = self.dt;
        // Fixed spheres and spheres at rest move relative to the falling frame.
        let falls = self.has_fixed || self.world.rests;
        Limits {
            count: self.statistics.count,
            dt,
            substeps: self.system.solver.substeps,
            margin_limit: grid.margin_limit,
            made_for: grid.made_for,
            least_substeps: self.world.least_substeps(dt, &self.statistics, &self.units),
            wall_substeps: self.world.features.substeps(dt * self.units.time),
            fall: if falls { 0.5 * f64::from(self.world.gravity.length()) * dt * dt } else { 0.0 },
            velocity_gain: f64::from(self.world.gravity.length()) * dt,
            cell: f64::from(grid.edge.min_element()),
            margin_most,
            margin_least: self.statistics.margin_least,
        }
    }

    /// The sums of an audit and the deepest overlap, in the user's units.
    pub fn measure(&self, sums: &Sums, deepest: f32) -> Measure {
        let units = &self.units;
        let gravity = self.world.gravity.as_dvec3();
        let height = sums.mass_position + (self.grid.origin - self.reference) * self.statistics.mass;
        Measure {
            kinetic_energy: sums.kinetic * units.energy(),
            potential_energy: -gravity.dot(height) * units.energy(),
            momentum: sums.momentum * (units.mass * units.velocity()),
            deepest_overlap: f64::from(deepest),
        }
    }
}
