//! Tests of buffer growth: buffers that start too small grow, the affected work is repeated, and the results are the same
//! to the last bit.

use std::sync::OnceLock;

use glam::DVec3;

use super::{Context, buffer_layout::Capacities, engine::GpuEngine};
use crate::{
    Bounds, Compression, Error, Impact, Materials, Side, Solver, Sphere, StepReport, Surface, System,
    scene::{Fill, Scene},
    state::columns::NEVER,
    step::{driver::StepEngine, engine::Engine},
};

fn context() -> Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| Context::open(None).expect("an adapter")).clone()
}

/// Results of a run after each step.
#[derive(PartialEq, Debug)]
struct Trace {
    spheres: Vec<Vec<Sphere>>,
    impacts: Vec<Vec<Impact>>,
    // Without the fields that buffer growth and repeated work change, and without their costs.
    reports: Vec<StepReport>,
}

// Returns the trace and the number of buffer growths. `recorded`: with impacts; otherwise one step ahead.
fn run(system: &System, capacities: Capacities, steps: u64, recorded: bool) -> (Trace, u64) {
    run_in(system, capacities, steps, recorded, false)
}

// As `run`; with `substep_wise` each substep is submitted separately.
fn run_in(
    system: &System,
    capacities: Capacities,
    steps: u64,
    recorded: bool,
    substep_wise: bool,
) -> (Trace, u64) {
    let mut engine = GpuEngine::with(system, context(), capacities, false, |_| NEVER, 0.0).unwrap();
    let mut trace = Trace { spheres: vec![], impacts: vec![], reports: vec![] };
    let mut overflows = 0;
    for step in 1..=steps {
        let mut impacts = vec![];
        let log = recorded.then_some(&mut impacts);
        engine.engine.substep_wise |= substep_wise;
        let report = engine.step((step - 1) as f64 * system.dt, log, step < steps).unwrap();
        overflows += report.overflow;
        assert_eq!(
            impacts.len() as u64,
            if recorded { report.pair_impacts + report.wall_impacts } else { 0 }
        );
        trace.impacts.push(impacts);
        trace.reports.push(StepReport {
            overflow: 0,
            dispatches: 0,
            submits: 0,
            blocking_reads: 0,
            ..report
        });
        if recorded || step == steps {
            let mut spheres = system.spheres.clone();
            engine.read(&mut spheres).unwrap();
            trace.spheres.push(spheres);
        }
    }
    (trace, overflows)
}

// Compares a run that starts with capacity for one record of each kind with a run that has capacity for all.
fn compare(system: &mut System, steps: u64) {
    system.spheres.sort_by_key(|s| s.id);
    let n = system.spheres.len() as u32;
    let ample = Capacities {
        entries: 400 * n,
        dynamic_candidates: 400 * n,
        visits: 400 * n,
        threats: 40 * n,
        frozen: 40 * n,
        log: 400 * n,
        constraints: 100 * n,
        blocks: 1,
    };
    for recorded in [true, false] {
        let (roomy, overflows) = run(system, ample, steps, recorded);
        assert_eq!(overflows, 0, "ample room is not enough");
        let (cramped, overflows) = run(system, Capacities::tiny(), steps, recorded);
        println!(
            "recorded {recorded}: grown {overflows} times, {} impacts",
            roomy.reports.iter().map(|r| r.pair_impacts + r.wall_impacts).sum::<u64>()
        );
        assert!(overflows > 0, "nothing was too small");
        for (k, (a, b)) in roomy.reports.iter().zip(&cramped.reports).enumerate() {
            assert_eq!(a, b, "step {k}");
        }
        for (k, (a, b)) in roomy.impacts.iter().zip(&cramped.impacts).enumerate() {
            assert!(a == b, "other impacts in step {k}");
        }
        assert!(roomy.spheres == cramped.spheres, "other states");
    }
}

fn gas(count: u64, seed: u64) -> System {
    let fill = Fill::random(count).volume_fraction(0.3).temperature(3.0);
    Scene::new(1.0 / 60.0).seed(seed).periodic().fill(fill).build().unwrap()
}

#[test]
fn a_gas_does_not_see_that_buffers_grow() {
    compare(&mut gas(3000, 81), 6);
}

// Grid traversals, and impacts from which spheres leave faster than their candidate lists allow.
#[test]
fn fast_spheres_do_not_see_that_buffers_grow() {
    // The rounds of a system of more than `MOST_TAIL_PENDING` spheres begin over the whole array.
    for (count, every, steps) in [(1000, 25, 4), (3000, 60, 2)] {
        let mut system = gas(count, 82);
        system.spheres.iter_mut().step_by(every).for_each(|s| s.velocity = s.velocity.normalize() * 300.0);
        compare(&mut system, steps);
    }
}

// Walls and floors, and spheres that come to rest.
#[test]
fn spheres_that_settle_do_not_see_that_buffers_grow() {
    let fill = Fill::random(150).region([0.0; 3], [8.0, 8.0, 4.0]).temperature(1.0);
    let mut system = Scene::new(1.0 / 60.0)
        .seed(83)
        .material("default", 0.3, 1.9)
        .gravity([0.0, 0.0, -9.81])
        .bounds([0.0; 3], [8.0; 3])
        .walled()
        .fill(fill)
        .build()
        .unwrap();
    for (k, sphere) in system.spheres.iter_mut().enumerate() {
        sphere.fixed = k % 30 == 0;
        if sphere.fixed {
            sphere.velocity = DVec3::ZERO;
        }
    }
    compare(&mut system, 20);
}

// Several broad phases in a step, and several substeps after each.
#[test]
fn a_step_in_pieces_is_the_same_step() {
    let mut system = gas(500, 86);
    system.dt = 0.4;
    system.gravity = DVec3::new(0.0, 0.0, 0.5);
    system.bounds.sides[2] = Side::Open;
    system.spheres.sort_by_key(|s| s.id);
    let capacities = Capacities::for_spheres(2000, true);
    for recorded in [true, false] {
        let [(whole, _), (substeps, _)] =
            [false, true].map(|substep_wise| run_in(&system, capacities, 4, recorded, substep_wise));
        println!("{:?} substeps", whole.reports.iter().map(|r| r.substeps).collect::<Vec<_>>());
        assert!(whole.reports.iter().any(|r| r.substeps > 2), "nothing to take apart");
        assert!(whole == substeps, "recorded {recorded}: not the same");
    }
}

// Three fast spheres hit a block of nearly touching ones; a substep that is too crowded is halved. With a little gravity, because
// without it impacts out of order are left to the CPU.
#[test]
fn substeps_that_are_halved_do_not_see_that_buffers_grow() {
    let solver = Solver { substeps: 1, strict_order: true, ..Solver::default() };
    let mut system = System { dt: 1.0 / 60.0, solver, gravity: -1e-3 * DVec3::Z, ..System::default() };
    system.materials = Materials::empty();
    system.materials.push("ball", 0.999, 1.0);
    for k in 0..108u32 {
        let position = DVec3::from([k / 36, k / 6 % 6, k % 6].map(|x| f64::from(x) * 1.001));
        system.spheres.push(Sphere { id: k, position, ..Sphere::default() });
    }
    for (id, y, z) in [(108, 4.33368, 1.23816), (109, 5.22636, 5.43852), (110, 0.11904, 3.63888)] {
        let (position, velocity) = (DVec3::new(105.0 - f64::from(id), y, z), DVec3::X * 1200.0);
        let bullet = Sphere { id, position, velocity, radius: 0.25, mass: 2.4, ..Sphere::default() };
        system.spheres.push(bullet);
    }
    compare(&mut system, 2);
    let (trace, _) = run(&system, Capacities::for_spheres(2000, true), 2, true);
    assert!(trace.reports.iter().any(|r| r.redone > 0 && r.late == 0), "nothing was halved");
}

// The step in which a strong gravity sets in ends with speeds that no f32 can hold. By then the next step is on the
// device and would overwrite the last good state.
#[test]
fn what_is_not_finite_stops_the_step_that_is_under_way() {
    let mut system = gas(1000, 84);
    system.bounds.sides[2] = Side::Open;
    system.gravity = DVec3::NEG_Z;
    system.spheres.sort_by_key(|s| s.id);
    let start = || GpuEngine::new(&system, context(), false, 0.0).unwrap();
    let (mut singly, mut ahead) = (start(), start());
    let spheres = |engine: &GpuEngine| {
        let mut spheres = system.spheres.clone();
        engine.read(&mut spheres).unwrap();
        spheres
    };
    for step in 0..5 {
        singly.step(f64::from(step) * system.dt, None, false).unwrap();
    }
    for step in 0..4 {
        ahead.step(f64::from(step) * system.dt, None, true).unwrap();
    }
    // Step 4 is in flight; step 5 fails, and step 6 must do nothing.
    let gravity = std::mem::replace(&mut ahead.engine.host.domain.world.gravity, glam::Vec3::NEG_Z * 1e20);
    ahead.step(4.0 * system.dt, None, true).unwrap();
    let broken = ahead.step(5.0 * system.dt, None, true);
    assert!(matches!(broken, Err(Error::NonFinite { .. })), "{broken:?}");
    let (good, kept) = (spheres(&singly), spheres(&ahead));
    for (good, kept) in good.iter().zip(&kept) {
        assert_eq!((good.id, good.velocity), (kept.id, kept.velocity));
        // The position may by now be relative to the next cell.
        assert!((good.position - kept.position).length() < 1e-6, "{good:?} {kept:?}");
    }
    // The engine continues undamaged.
    ahead.engine.host.domain.world.gravity = gravity;
    let [a, b] = [&mut singly, &mut ahead].map(|e| e.step(5.0 * system.dt, None, false).unwrap());
    assert_eq!((a.pair_impacts, a.nonfinite), (b.pair_impacts, b.nonfinite));
}

// Layers that fall and come to rest.
fn pile() -> System {
    Scene::new(0.1)
        .seed(84)
        .gravity([0.0, 0.0, -1.0])
        .surface("default", Surface { restitution: 0.5, friction: 0.5, ..Surface::default() }, 1.9)
        .bounds([0.0; 3], [4.4, 4.4, 12.0])
        .walled()
        .fill(Fill::lattice([4, 4, 6], 1.1).origin(DVec3::splat(0.55)).temperature(1e-3))
        .build()
        .unwrap()
}

// Resting contacts, in whole steps and substep-wise, with small and large capacities; several broad phases in a step.
#[test]
fn a_pile_does_not_see_that_buffers_grow_nor_how_its_steps_are_taken() {
    let mut system = pile();
    compare(&mut system, 14);
    let room = Capacities::for_spheres(system.spheres.len(), true);
    let (whole, _) = run_in(&system, room, 14, true, false);
    let (substeps, _) = run_in(&system, room, 14, true, true);
    assert!(whole.impacts == substeps.impacts, "other impacts in pieces");
    assert!(whole.spheres == substeps.spheres, "other states in pieces");
    let (cramped, overflows) = run_in(&system, Capacities::tiny(), 14, true, true);
    assert!(overflows > 0 && whole.spheres == cramped.spheres, "other states in cramped pieces");
}

// If all spheres sleep, the device has no work in a step, and nothing changes.
#[test]
fn a_world_that_sleeps_costs_no_dispatch() {
    let mut system = Scene::new(0.05)
        .gravity([0.0, 0.0, -1.0])
        .surface("default", Surface { restitution: 0.5, friction: 0.5, ..Surface::default() }, 1.9)
        .wall(DVec3::ZERO, DVec3::Z, "default")
        .fill(Fill::lattice([3, 3, 1], 1.1).origin(DVec3::splat(0.5)))
        .build()
        .unwrap();
    // Fixed spheres do not sleep, and keep no other sphere awake.
    system.spheres[4].fixed = true;
    let capacities = Capacities::for_spheres(9, false);
    let mut engine = GpuEngine::with(&system, context(), capacities, false, |_| NEVER, 0.0).unwrap();
    let step = |engine: &mut GpuEngine| engine.step(0.0, None, false).unwrap();
    let report = step(&mut engine);
    assert!(report.asleep == 0 && report.dispatches > 0, "{report:?}");
    engine.engine.lull(100_000);
    let report = step(&mut engine);
    assert!(report.asleep == 8 && report.dispatches > 0 && report.kinetic_energy == 0.0, "{report:?}");
    let mut spheres = [system.spheres.clone(), system.spheres.clone()];
    engine.read(&mut spheres[0]).unwrap();
    // The steps of a run, which are submitted ahead, give the same result.
    let mut ahead = GpuEngine::with(&system, context(), capacities, false, |_| NEVER, 0.0).unwrap();
    step(&mut ahead);
    ahead.engine.lull(100_000);
    let reports: Vec<_> = (0..5).map(|_| ahead.step(0.0, None, true).unwrap()).collect();
    assert!(reports[3..].iter().all(|r| (r.asleep, r.dispatches) == (8, 0)), "{reports:?}");
    ahead.read(&mut spheres[1]).unwrap();
    assert_eq!(spheres[0], spheres[1]);
    for _ in 0..3 {
        let report = step(&mut engine);
        assert_eq!((report.asleep, report.dispatches, report.substeps), (8, 0, 0), "{report:?}");
    }
    engine.read(&mut spheres[1]).unwrap();
    assert_eq!(spheres[0], spheres[1]);
    assert!(!engine.contacts().unwrap().is_empty(), "they bear what they bore");
}

// Counters summed per workgroup, as on a GPU, and counters that each sphere changes, as on llvmpipe.
#[test]
fn counters_give_the_same_states_summed_per_workgroup_and_singly() {
    const TEXTS: [&str; 2] = ["const SUMS_IN_GROUP = false;", "const SUMS_IN_GROUP = true;"];
    let [usual, other] = [(); 2].map(|()| Context::open(None).expect("an adapter"));
    let [from, to] = if usual.info().is_software() { TEXTS } else { [TEXTS[1], TEXTS[0]] };
    ["sweep", "rest"].iter().for_each(|module| other.slip(module, from, to));
    for (name, system, steps) in [("gas", gas(3000, 85), 6), ("pile", pile(), 25)] {
        let [a, b] = [&usual, &other].map(|context| {
            let room = Capacities::for_spheres(system.spheres.len(), false);
            let mut engine = GpuEngine::with(&system, context.clone(), room, false, |_| NEVER, 0.0).unwrap();
            let step = |step| engine.step(f64::from(step) * system.dt, None, false).unwrap();
            let reports: Vec<StepReport> = (0..steps).map(step).collect();
            let mut spheres = system.spheres.clone();
            engine.read(&mut spheres).unwrap();
            (spheres, reports.iter().map(|r| (r.pair_impacts, r.asleep)).collect::<Vec<_>>())
        });
        assert!(a == b, "{name}: other states");
    }
}

// A gas whose fast spheres appear in the fourth step, and a layer of 2,304 inelastic spheres that lands at once, in several substeps.
fn surprising() -> [(&'static str, System, u32); 2] {
    let mut gas = gas(2500, 86);
    for sphere in gas.spheres.iter_mut().step_by(100) {
        // Heavy spheres that drive light ones away.
        sphere.mass = 1e4;
        sphere.velocity *= 3.0;
    }
    let layer = Scene::new(0.3)
        .seed(87)
        .gravity([0.0, 0.0, -1.0])
        .surface("default", Surface { restitution: 0.9, ..Surface::default() }, 1.9)
        .bounds([0.0; 3], [53.0, 53.0, 6.0])
        .walled()
        .fill(Fill::lattice([48, 48, 1], 1.1).origin(DVec3::new(0.6, 0.6, 0.9)).temperature(1e-4))
        .build()
        .unwrap();
    [("gas", gas, 7), ("layer", layer, 3)]
}

// The dispatch budget changes the costs alone: walks left out, rounds over the whole array, steps ahead and in pieces.
#[test]
fn the_dispatch_budget_changes_no_state() {
    for (name, system, steps) in surprising() {
        let room = Capacities::for_spheres(system.spheres.len(), false);
        let run = |walks: bool, wide_rounds: Option<u32>, ahead: bool, in_pieces: bool, pushes: bool| {
            let mut engine = GpuEngine::with(&system, context(), room, false, |_| NEVER, 0.0).unwrap();
            let (mut dispatches, mut overlaps) = (vec![], vec![]);
            for step in 0..steps {
                if !walks {
                    engine.engine.leave_out_walks();
                }
                if let Some(rounds) = wide_rounds {
                    engine.engine.busy_rounds = [rounds; 2];
                }
                if pushes {
                    engine.engine.set_batches(2);
                }
                engine.engine.substep_wise = in_pieces;
                let report =
                    engine.step(f64::from(step) * system.dt, None, ahead && step + 1 < steps).unwrap();
                dispatches.push(report.dispatches);
                overlaps.push(report.deepest_overlap);
            }
            let mut spheres = system.spheres.clone();
            engine.read(&mut spheres).unwrap();
            println!("{name}, {walks} {wide_rounds:?} {ahead} {in_pieces} {pushes}: {dispatches:?}");
            ((spheres, overlaps), dispatches.iter().sum::<u64>())
        };
        let (usual, most) = run(true, None, false, false, false);
        for (walks, wide_rounds, ahead, in_pieces, pushes) in [
            (true, None, true, false, true),
            (false, None, true, false, false),
            (false, None, false, true, false),
            (true, Some(0), true, false, false),
            (true, Some(0), false, true, true),
            (true, Some(3), true, false, false),
            (true, Some(48), false, false, false),
        ] {
            let (found, dispatches) = run(walks, wide_rounds, ahead, in_pieces, pushes);
            assert!(found == usual, "{name}: {walks}, {wide_rounds:?}, {ahead}, {in_pieces}, {pushes}");
            // A budget that does not suffice costs few repetitions.
            let bound = if wide_rounds == Some(48) { 30 } else { 5 };
            assert!(dispatches < bound * most, "{name}: {dispatches} dispatches, {most} before");
        }
    }
}

// Spheres at rest on each other, of which the solve before the rounds leaves nothing unsettled, and fewer that another one strikes.
fn beds() -> [(&'static str, System, u32); 2] {
    let bed = |cells: [u64; 3], falling: Option<f64>| {
        let width = cells[0] as f64;
        let mut system = Scene::new(0.05)
            .gravity([0.0, 0.0, -1.0])
            .surface("default", Surface { restitution: 0.5, friction: 0.5, ..Surface::default() }, 1.9)
            .bounds([0.0; 3], [width, width, 14.0])
            .sides([Side::Periodic, Side::Periodic, Side::Wall])
            .fill(Fill::lattice(cells, 1.0).origin(DVec3::splat(0.5)))
            .build()
            .unwrap();
        if let Some(z) = falling {
            let (id, position) = (system.spheres.len() as u32, DVec3::new(3.4, 3.2, z));
            system.spheres.push(Sphere { id, position, velocity: -DVec3::Z, ..system.spheres[0] });
        }
        system
    };
    [("at rest", bed([16, 16, 10], None), 10), ("struck", bed([8, 8, 5], Some(5.7)), 10)]
}

// With too few batches of iterations after the rounds a step is repeated; more than needed do nothing.
#[test]
fn a_bed_has_the_same_state_with_any_number_of_batches() {
    for (name, system, steps) in beds() {
        let room = Capacities::for_spheres(system.spheres.len(), false);
        let [(states, fewest), others @ ..] = [0, 1, 2, 4].map(|batches| {
            let mut engine = GpuEngine::with(&system, context(), room, false, |_| NEVER, 0.0).unwrap();
            let (mut states, mut fewest) = (vec![], u64::MAX);
            for step in 0..steps {
                engine.engine.set_batches(batches);
                let report = engine.step(f64::from(step) * system.dt, None, false).unwrap();
                fewest = fewest.min(report.dispatches);
                let mut spheres = system.spheres.clone();
                engine.read(&mut spheres).unwrap();
                states.push(spheres);
            }
            (states, fewest)
        });
        for (other, of_other) in others {
            assert!(other == states, "{name}: another state");
            assert!(fewest < of_other || name != "at rest", "{name}: {fewest} and {of_other} dispatches");
        }
    }
}

/// How the steps of a test are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Usual,
    InPieces,
    OnCpu,
}

// A box that loses a share of its lengths in each step, with new cells in some, whatever the capacities and the dispatch budget.
#[test]
fn a_box_shrinks_in_the_same_way_however_its_steps_are_taken() {
    let fill = Fill::random(500).volume_fraction(0.15).temperature(1.0);
    let mut system = Scene::new(0.02).seed(88).periodic().fill(fill).build().unwrap();
    system.compression = Some(Compression { rate: 0.4, fraction: Some(0.6), pressure: None });
    let (steps, share) = (40, 0.4 * system.dt);
    let ample = Capacities::for_spheres(4000, false);
    let run = |capacities: Capacities, is_ahead: bool, way: Way, pushes: Option<u32>| {
        let mut engine = GpuEngine::with(&system, context(), capacities, false, |_| NEVER, 0.0).unwrap();
        let (mut cells, mut retries) = (vec![], 0);
        for step in 1..=steps {
            if let Some(pushes) = pushes {
                engine.engine.set_pushes(pushes);
            }
            engine.engine.substep_wise = way == Way::InPieces;
            engine.engine.has_chains = way == Way::OnCpu;
            let next = if step < steps { share } else { 0.0 };
            assert_eq!(engine.shrink(share, next).unwrap(), Some(false));
            let report =
                engine.step(f64::from(step - 1) * system.dt, None, is_ahead && step < steps).unwrap();
            assert_eq!(report.cpu_steps, u64::from(way == Way::OnCpu));
            assert!(report.deepest_overlap < 1e-5, "{report:?}");
            assert!(engine.shrunk().is_some_and(|shrunk| !shrunk.is_stuck));
            cells.push(engine.engine.host.domain.grid.count.x);
            retries += report.blocking_reads;
        }
        let mut spheres = system.spheres.clone();
        engine.read(&mut spheres).unwrap();
        cells.dedup();
        ((spheres, cells), retries, engine.engine.host.domain.system.bounds.clone())
    };
    let (usual, singly, bounds) = run(ample, false, Way::Usual, None);
    assert!(usual.1.len() > 2, "the cells never changed: {:?}", usual.1);
    let length = |bounds: &Bounds| bounds.max.x - bounds.min.x;
    let shrunk = length(&bounds) / length(&system.bounds);
    assert!((shrunk / (1.0 - share).powi(steps) - 1.0).abs() < 1e-12, "{shrunk}");
    // The cpu rounds in another way, but changes the cells in the same steps.
    let on_cpu = run(ample, false, Way::OnCpu, None);
    assert_eq!((on_cpu.0.1, on_cpu.2), (usual.1.clone(), bounds));
    for (capacities, is_ahead, way, pushes) in [
        (ample, true, Way::Usual, None),
        (ample, true, Way::Usual, Some(1)),
        (ample, false, Way::InPieces, None),
        (ample, false, Way::InPieces, Some(1)),
        (Capacities::tiny(), true, Way::Usual, None),
        (Capacities::tiny(), false, Way::InPieces, Some(200)),
    ] {
        let (found, retries, _) = run(capacities, is_ahead, way, pushes);
        println!("ahead {is_ahead}, {way:?}, {pushes:?} passes: {retries} waits, {singly} one by one");
        assert!(found == usual, "ahead {is_ahead}, {way:?}, {pushes:?} passes");
    }
}

#[test]
fn a_discarded_step_leaves_the_box_and_the_spheres_as_before() {
    let fill = Fill::random(300).volume_fraction(0.3).temperature(1.0);
    let mut system = Scene::new(0.02).seed(89).periodic().fill(fill).build().unwrap();
    system.compression = Some(Compression { rate: 0.3, fraction: Some(0.6), pressure: None });
    let capacities = Capacities::for_spheres(300, false);
    let mut engine = GpuEngine::with(&system, context(), capacities, false, |_| NEVER, 0.0).unwrap();
    engine.step(0.0, None, false).unwrap();
    let state = |engine: &GpuEngine| {
        let mut spheres = system.spheres.clone();
        engine.read(&mut spheres).unwrap();
        (spheres, engine.engine.host.domain.system.bounds.clone())
    };
    let before = state(&engine);
    for in_pieces in [false, true] {
        engine.engine.substep_wise = in_pieces;
        engine.shrink(0.006, 0.006).unwrap();
        engine.step(system.dt, None, false).unwrap();
        assert!(state(&engine).1 != before.1, "the box did not shrink");
        engine.engine.discard().unwrap();
        assert!(state(&engine) == before, "in pieces {in_pieces}");
    }
}
