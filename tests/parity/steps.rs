//! Whole steps from equal states: both sides have the same impacts, except for near-ties, and the same spheres.
//!
//! Both sides start each step from the twin's state, so that no difference outlives a step.

use super::context;
use crate::{
    Backend, Impact, Options, Partner, Simulation, System,
    files::builtin,
    scene::Shape,
    verify::{
        Agreement,
        error_bounds::{self, ErrorBounds, Step},
    },
};

/// Steps of each scene.
const STEPS: u32 = 50;

/// Near-ties allowed in a thousand impacts. Five times as many may follow from them: the cascade after a bullet's impact
/// ends within the step.
const FEW: f64 = 2.0;

// The impacts of a step, and the spheres after it.
fn step(system: &System, backend: Backend) -> Step {
    let context = Some(context().clone());
    let options = Options { backend, context, record_impacts: true, ..Options::default() };
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    let kinetic_energy = simulation.step().unwrap().kinetic_energy;
    let bounds = simulation.system().bounds.clone();
    Step { impacts: simulation.impacts().to_vec(), spheres: simulation.spheres(), bounds, kinetic_energy }
}

fn agrees(name: &str, system: System, least: u64) {
    let mut system = system;
    let mut total = Agreement::default();
    let mut shown = 0;
    for k in 0..STEPS {
        let twin = step(&system, Backend::Cpu);
        let found = step(&system, Backend::Gpu);
        let tally = error_bounds::compare(&system, &found, &twin, error_bounds::ROUNDING)
            .unwrap_or_else(|e| panic!("{name}, step {k}: {e:?}"));
        total.impacts += tally.impacts;
        total.near_ties += tally.near_ties;
        total.followers += tally.followers;
        total.worst = total.worst.max(tally.worst);
        if shown == 0 {
            shown = are_noticed(&system, &twin);
        }
        system.spheres = twin.spheres;
    }
    println!(
        "{name}: {} impacts in {STEPS} steps, {} near-ties, {} that follow from them, within {:.2} of what is known",
        total.impacts, total.near_ties, total.followers, total.worst
    );
    assert!(total.impacts >= least, "{name}: {} impacts say little", total.impacts);
    assert!(shown > 0, "{name}: no impact to show that the comparison can fail");
    let thousands = total.impacts as f64 / 1000.0;
    let (near_ties, followers) = (total.near_ties as f64, total.followers as f64);
    assert!(near_ties <= 1.0 + FEW * thousands, "{name}: {near_ties} near-ties");
    assert!(followers <= 5.0 * (1.0 + FEW * thousands), "{name}: {followers} that follow from near-ties");
}

// Shows that the comparison can fail: with an impact left out, with another partner or time, and with another position or
// velocity of a sphere. Returns the number of changes that these impacts allow.
fn are_noticed(system: &System, twin: &Step) -> usize {
    let known = ErrorBounds::new(system, error_bounds::ROUNDING);
    let fair = |i: &Impact| {
        let meeting = known.meeting(i);
        !meeting.grazes && meeting.time < 1e-3 * system.dt && i.time < 0.9 * system.dt
    };
    let Some(at) = twin.impacts.iter().position(fair) else { return 0 };
    let is_noticed = |change: &dyn Fn(&mut Step)| {
        let mut found = Step {
            impacts: twin.impacts.clone(),
            spheres: twin.spheres.clone(),
            bounds: twin.bounds.clone(),
            kinetic_energy: twin.kinetic_energy,
        };
        change(&mut found);
        error_bounds::compare(system, &found, twin, error_bounds::ROUNDING).is_err()
    };
    let leave_out = |step: &mut Step| {
        step.impacts.remove(at);
    };
    assert!(is_noticed(&leave_out), "an impact was left out");
    assert!(is_noticed(&|step| step.impacts[at].partner = Partner::Wall(77)), "another partner");
    assert!(is_noticed(&|step| step.impacts[at].time += 0.01 * system.dt), "another time");
    let still = twin.spheres.iter().position(|s| twin.impacts.iter().all(|i| !concerns(i, s.id)));
    let Some(k) = still else { return 3 };
    let speed = twin.spheres[k].velocity.length();
    let way = 2.0 * twin.spheres[k].radius + speed * system.dt;
    assert!(is_noticed(&|step| step.spheres[k].position.x += 1e-3 * way), "another place");
    assert!(is_noticed(&|step| step.spheres[k].velocity.y += 1e-3 * (speed + 1.0)), "another velocity");
    5
}

fn concerns(impact: &Impact, id: u32) -> bool {
    impact.sphere == id || impact.partner == Partner::Sphere(id)
}

// A built-in scene with these changes.
fn scene(name: &str, changes: &[&str], shrink: impl Fn(&mut [Shape])) -> System {
    let changes: Vec<String> = changes.iter().map(|&text| text.to_owned()).collect();
    let mut scene = builtin(name).unwrap().load(&changes).unwrap();
    let mut shapes: Vec<Shape> = scene.fills.iter().map(|fill| fill.shape.clone()).collect();
    shrink(&mut shapes);
    scene.fills.iter_mut().zip(shapes).for_each(|(fill, shape)| fill.shape = shape);
    let mut system = scene.build().unwrap();
    system.spheres.sort_by_key(|s| s.id);
    system
}

#[test]
fn steps_of_the_gas_have_the_same_impacts() {
    agrees("gas", scene("gas", &["spheres.0.random.count=4000"], |_| ()), 10_000);
}

#[test]
fn steps_of_the_mixture_have_the_same_impacts() {
    agrees("mixture", scene("mixture", &["spheres.0.random.count=4000"], |_| ()), 2000);
}

#[test]
fn steps_of_the_bounce_have_the_same_impacts() {
    // Longer steps: some of the ten spheres land in each.
    agrees("bounce", scene("bounce", &["world.dt=0.3"], |_| ()), 20);
}

#[test]
fn steps_of_the_bullets_have_the_same_impacts() {
    let small = |shapes: &mut [Shape]| {
        for (shape, count) in shapes.iter_mut().zip([[3, 28, 28], [1, 2, 2]]) {
            if let Shape::Lattice(lattice) = shape {
                lattice.count = count;
            }
        }
    };
    // Steps start from what the twin makes of them, and its order is not perfect in this cascade.
    let mut system = scene("bullets", &[], small);
    system.solver.max_initial_overlap = 0.5;
    agrees("bullets", system, 1000);
}
