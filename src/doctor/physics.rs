//! Section `physics`: results that are known otherwise. The energy and the pressure of a gas, a pile that comes to rest, its
//! weight on the floor, and walls that nothing passes.

use std::ops::ControlFlow;

use super::{Examination, Table, Target, systems};
use crate::{Backend, Error, Options, Simulation, Sphere, System};

/// Largest relative change of the energy of an elastic gas: thousands of impacts of each sphere change it less.
pub const ENERGY: f64 = 1e-5;

/// Spheres of the gas, steps before the measurement and steps of it.
const GAS: (u64, u64, u64) = (4000, 60, 240);

/// Kinetic energy of a grain at rest, in units of m g d: a thousandth of the speed of a fall through its diameter.
const REST: f64 = 1e-6;

/// Deepest overlap of grains at rest, in diameters.
const OVERLAP: f64 = 0.01;

/// Error of the mean load on the floor, as a share of the weight.
const LOAD: f64 = 0.01;

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    gas(examination, target)?;
    if examination.is_over(|| "walls, and the pile that comes to rest".to_owned()) {
        return Ok(());
    }
    if !bullets(examination, target)? {
        examination.note("the pile was left out, since spheres pass walls");
    } else if !examination.is_over(|| "the pile that comes to rest".to_owned()) {
        pile(examination, target)?;
    }
    Ok(())
}

fn gas(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let (count, before, steps) = GAS;
    // A random packing is no equilibrium: the first collisions have another pressure.
    let mut system = systems::gas(count, 11)?;
    let mut equilibration = Simulation::new(system.clone(), Options::default())?;
    equilibration.run(before, |_| ControlFlow::Continue(()))?;
    system.spheres = equilibration.spheres();
    let mut simulation = target.simulation(system)?;
    let clock = examination.clock.part(0.5);
    simulation.run(steps, |_| goes_on(!clock.is_over()))?;
    let summary = simulation.summary();
    let collisions = summary.pair_impacts as f64;
    let eta: f64 = 0.2;
    // Carnahan, Starling, J. Chem. Phys. 51, 635 (1969).
    let expected = (1.0 + eta + eta * eta - eta.powi(3)) / (1.0 - eta).powi(3);
    let found = summary.compressibility.unwrap_or(f64::NAN);
    // Seven standard deviations of a mean over the collisions, and the error of the equation.
    let allowed = 7.0 * (expected - 1.0) / collisions.max(1.0).sqrt() + 0.005;
    let energy_error = summary.energy_error.unwrap_or(f64::NAN);
    examination.table(Table::record(
        "gas",
        vec![
            ("spheres", count.into()),
            ("steps", summary.steps.into()),
            ("collisions", summary.pair_impacts.into()),
            ("energy_error", energy_error.into()),
            ("energy_error_allowed", ENERGY.into()),
            ("Z", found.into()),
            ("Z_Carnahan_Starling", expected.into()),
            ("Z_error_allowed", allowed.into()),
        ],
    ));
    examination.expect(energy_error.abs() <= ENERGY, || {
        format!(
            "the energy of an elastic gas changes by {energy_error:.2e} of itself in {} steps",
            summary.steps
        )
    });
    examination.expect((found - expected).abs() <= allowed, || {
        format!("the compressibility of a gas is {found:.4}, and not {expected:.4} within {allowed:.4}")
    });
    if summary.steps < steps {
        examination.note(format!("cut short: the gas took {} of {steps} steps", summary.steps));
        examination.is_cut = true;
    }
    Ok(())
}

// Whether no wall lets a sphere through.
fn bullets(examination: &mut Examination, target: &Target) -> Result<bool, Error> {
    // About half an impact for each sphere and step. Several impacts make chains, and the CPU takes steps with chains.
    let (diameters, steps) = (6.0, 40);
    let (edge, middle) = (systems::BULLETS_EDGE, 0.5 * systems::BULLETS_EDGE);
    let system = systems::bullets(diameters)?;
    let was_below: Vec<bool> = system.spheres.iter().map(|sphere| sphere.position.z < middle).collect();
    // An overlap of a thousandth of a diameter would be much more than rounding.
    let is_outside = |x: f64| !(0.499..=edge - 0.499).contains(&x);
    let count_through = |spheres: &[Sphere]| {
        let is_through = |(sphere, was_below): &(&Sphere, &bool)| {
            let p = sphere.position;
            is_outside(p.x) || is_outside(p.y) || is_outside(p.z) || (p.z < middle) != **was_below
        };
        spheres.iter().zip(&was_below).filter(is_through).count()
    };
    let mut simulation = target.simulation(system)?;
    // A driver may compile the shaders only in the first step.
    let clock = examination.clock.part(0.5);
    let mut through = 0;
    // After every step, because a later step may bring a sphere back.
    while through == 0 && simulation.steps() < steps && !clock.is_over() {
        simulation.step()?;
        through = count_through(&simulation.try_spheres()?);
    }
    let summary = simulation.summary();
    let impacts = summary.wall_impacts;
    examination.table(Table::record(
        "bullets",
        vec![
            ("spheres", was_below.len().into()),
            ("diameters_per_step", diameters.into()),
            ("steps", summary.steps.into()),
            ("cpu_steps", summary.cpu_steps.into()),
            ("wall_impacts", impacts.into()),
            ("through_a_wall", through.into()),
        ],
    ));
    examination.expect(through == 0, || format!("{through} of {} fast spheres pass a wall", was_below.len()));
    examination.expect(impacts > 0, || "no fast sphere meets a wall".to_owned());
    examination.expect(summary.cpu_steps == 0, || {
        format!("the CPU took {} of {} steps with fast spheres", summary.cpu_steps, summary.steps)
    });
    if through == 0 && summary.steps < steps {
        examination.note(format!("cut short: the bullets took {} of {steps} steps", summary.steps));
        examination.is_cut = true;
    }
    Ok(through == 0)
}

fn pile(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let system = systems::layers(4, 12)?;
    let weight: f64 = system.spheres.iter().map(|sphere| sphere.mass).sum();
    let count = system.spheres.len();
    let mut simulation = target.simulation(system)?;
    let is_at_rest = |simulation: &mut Simulation, steps| -> Result<bool, Error> {
        let mut rests = false;
        simulation.run(steps, |report| {
            rests = report.kinetic_energy <= REST * weight && report.time > 10.0;
            goes_on(!rests && !examination.clock.is_over())
        })?;
        Ok(rests)
    };
    // Time 60: the fifty layers of the scene `pile50` need no more.
    let rests = is_at_rest(&mut simulation, 1200)?;
    let (steps, kinetic) = (simulation.steps(), simulation.report().kinetic_energy / weight);
    if !rests
        && examination.is_over(|| format!("the pile took {steps} of 1200 steps and does not lie still yet"))
    {
        return Ok(());
    }
    let (loads, mean) = (20, 1.0 / 20.0);
    let mut force = 0.0;
    for _ in 0..loads {
        simulation.step()?;
        force -= mean * simulation.wall_loads().iter().map(|load| load.force.z).sum::<f64>();
    }
    let overlap = simulation.summary().deepest_overlap_final;
    examination.table(Table::record(
        "pile",
        vec![
            ("spheres", count.into()),
            ("steps", steps.into()),
            ("kinetic_energy_per_mgd", kinetic.into()),
            ("asleep", simulation.report().asleep.into()),
            ("deepest_overlap", overlap.into()),
            ("load_per_weight", (force / weight).into()),
        ],
    ));
    examination.expect(rests, || {
        format!(
            "a pile of 12 layers does not come to rest in {steps} steps: {kinetic:.1e} m g d for each sphere"
        )
    });
    examination.expect(overlap <= OVERLAP, || {
        format!("spheres of a pile at rest overlap by {overlap:.3} of their diameter")
    });
    examination.expect((force / weight - 1.0).abs() <= LOAD, || {
        format!("the load of a pile on its floor is {:.4} of its weight", force / weight)
    });
    Ok(())
}

fn goes_on(wanted: bool) -> ControlFlow<()> {
    if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// The same system on the cpu engine.
pub fn on_cpu(system: System) -> Result<Simulation, Error> {
    Simulation::new(system, Options { backend: Backend::Cpu, ..Options::default() })
}
