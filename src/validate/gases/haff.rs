//! Gases that lose energy in their collisions.

use super::super::{Case, Chart, Curve, CurveForm, Estimate, Expected, Group, Source, Study};
use super::gas::Gas;
use crate::{Backend, Error, Options, Simulation};

const HAFF: Source = Source::Unverified("Haff, J. Fluid Mech. 134, 401 (1983)");

pub const CASE: Case = Case {
    name: "haff",
    group: Group::Gases,
    title: "Cooling of a gas at restitution 0.9 and 0.8 against Haff's law",
    method: "Gases of 64 spheres with the restitution e at the volume fraction 0.1 start at random positions with Maxwell-Boltzmann velocities at \
             kT = 1 and cool by their collisions; 240 gases with different random numbers in the quick run, 960 in the full one. A step \
             is the time of 0.4 collisions per sphere at the start.\n\n\
             Haff's law is T/T0 = 1/(1 + t/tc)^2 with 1/tc = (1 - e^2) rate/6, rate the collision rate at the start; without time it is \
             T/T0 = exp(-(1 - e^2) c/3), c the number of collisions per sphere. The case measures T divided by each prediction at the times at which \
             the law has T/T0 = 1/2, 1/5 and 1/20; mean and standard error over the gases.\n\n\
             The law assumes Gaussian velocities and a uniform gas. The velocities of a cooling gas deviate slightly (second Sonine coefficient \
             -0.015 at e = 0.9, -0.013 at 0.8), which leaves 1% more energy at the end. The rate in the law is that of an infinite gas; the \
             finite number of spheres leaves another 1%. The error of the theory is the sum with a margin of a half, 3%. Vortices, which grow in \
             a large box, leave more: at e = 0.8 and T/T0 = 1/20 the event-driven engine measures 1.010(4) of the law with 64 spheres, 1.044(4) with 256 and \
             1.046(3) with 1,024. A small box suppresses them, so many small gases are averaged.",
    quick: true,
    exact: true,
    measure,
};

pub const CLUSTERS: Case = Case {
    name: "clusters",
    group: Group::Gases,
    title: "Cooling with clusters at restitution 0.7, against the event-driven engine",
    method: "Gases of 2,048 spheres with the restitution 0.7 at the volume fraction 0.2 start at random positions with Maxwell-Boltzmann velocities \
             at kT = 1; six gases with different random numbers. A step is the time of 0.4 collisions per sphere at the start. Such a gas leaves \
             Haff's law: its velocities become parallel and its density uneven. No closed formula describes it, so the engine is compared with \
             the event-driven engine of carom (backend exact), which runs the same scenes and computes in f64.\n\n\
             Measured is the kinetic energy at the times 3, 10 and 20, as the ratio of both engines for each gas. The motion is chaotic, \
             so after some ten collisions per sphere two engines with different rounding follow different paths; their ratio is 1 within \
             the statistics of the gases, and its standard error is that of the six ratios. The error of the theory is 0.5%: the energy \
             fluctuates from gas to gas once clusters have grown, and six gases give the standard error to a third. On the backend exact both runs are the same, and the ratio is 1 without an error; the case then shows only that a \
             run is reproducible.\n\n\
             The chart shows both engines with Haff's law; at the end the energy is well above the law.",
    quick: false,
    exact: true,
    measure: measure_clusters,
};

const FRACTION: f64 = 0.1;

/// Kinetic energy over that of the start and collisions per sphere, after each step.
struct Cooling {
    energy: Vec<f64>,
    collisions: Vec<f64>,
}

fn cool(study: &mut Study, simulation: &mut Simulation, steps: u64) -> Result<Option<Cooling>, Error> {
    let start = simulation.summary().kinetic_energy;
    let per_sphere = 2.0 / simulation.sphere_count() as f64;
    let mut cooling = Cooling { energy: vec![1.0], collisions: vec![0.0] };
    let mut collisions = 0.0;
    let done = study.steps(simulation, steps, |report| {
        collisions += per_sphere * report.pair_impacts as f64;
        cooling.energy.push(report.kinetic_energy / start);
        cooling.collisions.push(collisions);
    })?;
    Ok(done.then_some(cooling))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let seeds = study.depth().pick(240, 960);
    let statistics = study.depth().pick(0.01, 0.005);
    let mut curves = vec![];
    for restitution in [0.9f64, 0.8] {
        let loss = 1.0 - restitution * restitution;
        let gas = Gas { restitution, ..Gas::new(64, FRACTION, 0.4, 0) };
        let cooling_time = 6.0 / (loss * gas.rate());
        // The step after which the law has this temperature.
        let step_of =
            |temperature: f64| ((1.0 / temperature.sqrt() - 1.0) * cooling_time / gas.dt()).round() as usize;
        let steps = step_of(0.05) as u64;
        let law = |step: usize| (1.0 + step as f64 * gas.dt() / cooling_time).powi(-2);
        let mut runs = vec![];
        for seed in 1..=seeds {
            let gas = Gas { seed, steps, ..gas };
            let mut simulation = study.simulation(&format!("e-{restitution}-{seed}"), &gas.scene())?;
            let Some(cooling) = cool(study, &mut simulation, steps)? else { return Ok(()) };
            runs.push(cooling);
        }
        let over = |of: &dyn Fn(&Cooling) -> f64| Estimate::of(&runs.iter().map(of).collect::<Vec<_>>());
        let expected = Expected { value: 1.0, theory_error: 0.03, largest_error: statistics, source: HAFF };
        for temperature in [0.5, 0.2, 0.05] {
            let step = step_of(temperature);
            let at = format!("at T/T0 = {temperature}, e = {restitution}");
            let timed = over(&|run| run.energy[step] / law(step));
            let free = over(&|run| run.energy[step] / (-loss * run.collisions[step] / 3.0).exp());
            study.check(format!("T over Haff's law in time {at}"), expected, timed);
            study.check(format!("T over Haff's law in collisions {at}"), expected, free);
        }
        let mean = |step: usize| (step as f64 * gas.dt(), over(&|run| run.energy[step]));
        let points: Vec<_> = (0..=steps as usize).step_by(4).map(mean).collect();
        curves.push(Curve::estimates(format!("measured, e = {restitution}"), &points));
        let theory = (0..=steps as usize).map(|step| (step as f64 * gas.dt(), law(step))).collect();
        let label = format!("Haff, e = {restitution}");
        curves.push(Curve::new(label, CurveForm::Line, theory));
    }
    study.chart(Chart {
        title: "Cooling".to_owned(),
        labels: ["time".to_owned(), "T/T0".to_owned()],
        logarithmic: [false, true],
        curves,
    });
    Ok(())
}

fn measure_clusters(study: &mut Study) -> Result<(), Error> {
    const END: f64 = 20.0;
    let gas = Gas { restitution: 0.7, ..Gas::new(2_048, 0.2, 0.4, 0) };
    let steps = (END / gas.dt()).ceil() as u64;
    let mut pairs = vec![];
    for seed in 1..=6 {
        let scene = Gas { seed, steps, ..gas }.scene();
        let system = study.system(&format!("e-0.7-{seed}"), &scene)?;
        let exact = Options { backend: Backend::Exact, ..Options::default() };
        let mut reference = Simulation::new(system.clone(), exact)?;
        let mut simulation = Simulation::new(system, study.options())?;
        let Some(expected) = cool(study, &mut reference, steps)? else { return Ok(()) };
        let Some(measured) = cool(study, &mut simulation, steps)? else { return Ok(()) };
        pairs.push((measured, expected));
    }
    for time in [3.0, 10.0, END] {
        let step = (time / gas.dt()).round() as usize;
        let ratios: Vec<f64> =
            pairs.iter().map(|(measured, expected)| measured.energy[step] / expected.energy[step]).collect();
        let expected =
            Expected { value: 1.0, theory_error: 0.005, largest_error: 0.03, source: Source::Measured };
        study.check(
            format!("energy over that of the event-driven engine at t = {time}"),
            expected,
            Estimate::of(&ratios),
        );
    }
    let cooling_time = 6.0 / ((1.0 - 0.49) * gas.rate());
    let time = |step: usize| step as f64 * gas.dt();
    let law = |step: usize| (time(step), (1.0 + time(step) / cooling_time).powi(-2));
    let mean =
        |of: &dyn Fn(&(Cooling, Cooling)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let places = || (1..=steps as usize).step_by(4);
    let curves = vec![
        Curve::new("Haff's law", CurveForm::Line, places().map(law).collect()),
        Curve::new(
            "event-driven engine",
            CurveForm::Line,
            places().map(|step| (time(step), mean(&|pair| pair.1.energy[step]))).collect(),
        ),
        Curve::new(
            "measured",
            CurveForm::Points,
            places().map(|step| (time(step), mean(&|pair| pair.0.energy[step]))).collect(),
        ),
    ];
    study.chart(Chart {
        title: "Cooling at restitution 0.7".to_owned(),
        labels: ["time".to_owned(), "T/T0".to_owned()],
        logarithmic: [true; 2],
        curves,
    });
    Ok(())
}
