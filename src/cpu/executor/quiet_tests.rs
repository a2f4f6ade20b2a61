//! Passes that skip quiet spheres leave the bits that they leave where no sphere is quiet.

use glam::{Vec3, Vec4};

use super::CpuExecutor;
use crate::{
    Side, Surface, System,
    cpu::{
        Stepper,
        advance::{self, advance},
        bits::Bits,
        core::{Core, tests::layers},
        launch::launch,
        relax::Relax,
        sleep::Sleep,
    },
    state::columns::{NEVER, State},
    step::schedule::{BROAD_PHASE, SUBSTEP_BEGIN, execute},
};

fn bits(column: &[Vec4]) -> Vec<[u32; 4]> {
    column.iter().map(|v| v.to_array().map(f32::to_bits)).collect()
}

// The columns of all spheres, bit for bit.
fn columns(state: &State) -> impl PartialEq + use<> {
    let State { place, cell, motion, spin, id } = state;
    ([place, motion, spin].map(|column| bits(column)), cell.clone(), id.clone())
}

// Layers that come to rest, and two spheres that land on them.
fn settling() -> System {
    let mut system = layers([Side::Wall, Side::Periodic, Side::Wall]);
    let felt = Surface { restitution: 0.3, friction: 0.5, rolling_friction: 0.02, ..Surface::default() };
    system.materials.add("felt", felt, 1.0);
    system.spheres.iter_mut().for_each(|sphere| sphere.material = 1);
    system
}

// Calls `visit` after every step and a further broad phase.
fn for_steps(mut visit: impl FnMut(usize, &mut CpuExecutor)) {
    let system = settling();
    let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
    for k in 0..1400 {
        stepper.step(k as f64 * system.dt, None, false).unwrap();
        execute(BROAD_PHASE, &mut stepper.engine).unwrap();
        visit(k, &mut stepper.engine);
    }
}

#[test]
fn the_state_before_a_broad_phase_is_kept_where_no_sphere_leaves_its_cell() {
    let (mut kept, mut moving) = (0, 0);
    for_steps(|k, executor| {
        let (before, is_in_order) = executor.core.before_broad_phase();
        if is_in_order {
            assert!(columns(before) == columns(&executor.core.state), "step {k}");
            kept += 1;
            let moves = |motion: &&Vec4| motion.truncate() != Vec3::ZERO;
            moving += before.motion.iter().filter(moves).count();
        }
    });
    println!("{kept} broad phases kept the order, {moving} moving spheres in them");
    assert!(kept > 300 && moving > 1000);
}

#[test]
fn a_quiet_sphere_is_launched_moved_and_measured_like_any_other() {
    let (mut quiet, mut fast) = (0, 0);
    for_steps(|k, executor| {
        if !k.is_multiple_of(7) {
            return;
        }
        let frame = executor.now.frame;
        execute(SUBSTEP_BEGIN, executor).unwrap();
        let CpuExecutor { core, relax, .. } = &mut *executor;
        let core: &Core = core;
        quiet += core.sleep.quiet().map_or(0, Bits::count);
        let all = [&core.sleep, &Sleep::default()];

        let moved = all.map(|sleep| {
            let (mut state, mut motion_margin) = (core.state.clone(), core.motion_margin.clone());
            let mut support = core.support.clone();
            let inputs = advance::Inputs {
                frame,
                grid: &core.domain.grid,
                walls: &core.domain.world.walls,
                sleep,
                clock: &core.clock,
                cell: &core.state.cell,
                rested: &core.rested,
            };
            let State { place, motion, spin, .. } = &mut state;
            let outputs = advance::Outputs {
                place,
                motion,
                spin,
                motion_margin: &mut motion_margin,
                support: &mut support,
            };
            advance(inputs, outputs);
            let margins: Vec<u32> = motion_margin.iter().map(|margin| margin.to_bits()).collect();
            (columns(&state), margins, support)
        });
        assert!(moved[0] == moved[1], "step {k}");

        let mut motion_margin = core.motion_margin.clone();
        // Just too short and just long enough for a sphere at rest, and in most parts of 64 spheres neither.
        let path = frame.path(frame.velocity_at_rest(), 1.0, 0.0);
        motion_margin.iter_mut().step_by(150).for_each(|margin| *margin = path.next_down());
        motion_margin.iter_mut().skip(1).step_by(150).for_each(|margin| *margin = path);
        let found = all.map(|sleep| {
            let (mut set, mut list) = (Bits::default(), vec![]);
            set.reset(core.state.len());
            launch(&core.state, sleep, &frame, &motion_margin, &set);
            set.list(&mut list);
            list
        });
        assert_eq!(found[0], found[1], "step {k}");
        fast += found[0].len();

        let deepest = [relax, &mut Relax::default()].map(|relax| relax.deepest(&core.view(frame)));
        assert_eq!(deepest[0].to_bits(), deepest[1].to_bits(), "step {k}");
        executor.undo();
    });
    println!("{quiet} quiet spheres, {fast} fast ones");
    assert!(quiet > 50_000 && fast > 1000);
}

// Spheres of the heap are shot through it, so that fast ones strike quiet ones.
#[test]
fn a_heap_without_quiet_spheres_has_the_same_bits() {
    let system = settling();
    let mut all = [(); 2].map(|()| Stepper::new(&system, |_| NEVER, 0.0).unwrap());
    all[1].engine.core.sleep.has_no_quiet = true;
    let (mut struck, mut least, mut most) = (0, u64::MAX, 0);
    for k in 0..1300_usize {
        let is_shot = k >= 700 && k.is_multiple_of(100);
        for stepper in &mut all {
            if is_shot {
                let core = &mut stepper.engine.core;
                let i = core.state.id.iter().position(|&id| id as usize == 53 * k % 1200).unwrap();
                core.sleep.rouse(i, &core.lists);
                if core.state.inverse_mass(i) > 0.0 {
                    core.state.motion[i] += Vec3::new(20.0, 3.0, -8.0).extend(0.0);
                }
            }
        }
        let quiet = all[0].engine.core.sleep.quiet().map(|quiet| {
            let mut list = vec![];
            quiet.list(&mut list);
            list
        });
        for stepper in &mut all {
            stepper.step(k as f64 * system.dt, None, false).unwrap();
        }
        let [core, other] = all.each_ref().map(|stepper| &stepper.engine.core);
        assert!(columns(&core.state) == columns(&other.state), "step {k}");
        assert_eq!(core.sleep.sleep_timer, other.sleep.sleep_timer, "step {k}");
        if is_shot {
            let touched = &all[0].engine.rounds.first_touch;
            struck += quiet.into_iter().flatten().filter(|&i| touched.contains(i as usize)).count();
        }
        if k >= 700 {
            (least, most) = (least.min(core.sleep.count()), most.max(core.sleep.count()));
        }
    }
    println!("{struck} quiet spheres struck, {least} to {most} asleep");
    assert!(struck > 10 && least + 100 < most);
}

// The rounds stop a sphere before its impact, without a contact that would wake it.
#[test]
fn a_sleeping_sphere_that_is_stopped_counts_as_moved() {
    let mut stopped = 0;
    for_steps(|k, executor| {
        if k < 700 || !k.is_multiple_of(50) {
            return;
        }
        let frame = executor.now.frame;
        execute(SUBSTEP_BEGIN, executor).unwrap();
        let CpuExecutor { core, rounds, .. } = &mut *executor;
        let is_free = |&i: &usize| core.sleep.is_quiet(i) && core.state.inverse_mass(i) > 0.0;
        let Some(i) = (0..core.state.len()).find(is_free) else { return };
        assert!(!core.sleep.moved().contains(i));
        let before = core.state.place[i];
        rounds.freeze(core, frame, i, 0.4 * frame.h);
        assert!(core.state.place[i] != before && core.sleep.moved().contains(i) && !core.sleep.is_quiet(i));
        rounds.thaw(core);
        executor.undo();
        stopped += 1;
    });
    assert!(stopped > 5, "{stopped}");
}
