//! Stage `select` against its twin: the threats, the first propagation, and which impacts are selected.

use glam::DVec3;

use super::{
    Case, Slip, Total, agrees, before,
    memory::counter,
    notices,
    starts::{Start, dice, start},
};
use crate::{
    Side,
    cpu::event::Event,
    gpu::layout::{THREATS, VelocityBound},
    scene::{Fill, Scene},
    state::constants::WALL,
    step::schedule::Pass,
};

// Round 0 goes through all spheres, round 2 makes lists of those that are near.
fn in_round(start: &Start, round: u32) -> Case {
    let mut harness = before(start, Pass::Select);
    harness.site.round = round;
    let case = Case::with_leftovers(start, harness, Pass::Select, |input, _| {
        for next_event in &mut input.next_events {
            next_event.any = VelocityBound { time: 0.0, delta_v_bound: 1.0 };
            next_event.others = VelocityBound { time: 0.0, delta_v_bound: 2.0 };
        }
    });
    let sample = case.harness.twin.rounds.selected.iter().min().copied().unwrap_or(0);
    case.with_sample(sample as usize)
}

#[test]
fn select_agrees_with_its_twin() {
    agrees("select among all", |start| in_round(start, 0));
    agrees("select among those near", |start| in_round(start, 2));
}

// A gas that drifts by 60 and 36 diameters along x and y in the step; one sphere in `every` is faster by a factor.
fn drifting(name: &'static str, scene: Scene, size: [f64; 3], every: usize, factor: f64) -> Start {
    let fill =
        Fill::random(30_000).region([0.0; 3], size).temperature(2.0).diameters([(1.0, 0.9), (1.6, 0.1)]);
    let mut system = scene.seed(8).fill(fill).build().unwrap();
    for (k, sphere) in system.spheres.iter_mut().enumerate() {
        if k % every == 7 {
            sphere.velocity *= factor;
        }
        sphere.velocity += DVec3::new(2000.0, -1200.0, 0.0);
    }
    Start { name, system, substeps: 1, for_the_bulk: true }
}

// Every sphere is to meet the first plane, at a random time: so each of them may be too near to a threat.
fn all_struck(start: &Start) -> Case {
    let mut harness = before(start, Pass::Select);
    let (h, mut draw) = (harness.site.frame.h, dice(3));
    let rounds = &mut harness.twin.rounds;
    for event in &mut rounds.events {
        *event = Event { toi: h * draw() as f32, partner: WALL, link: 0, delta_v_bound: 1e-6 };
    }
    rounds.pending_list = (0..rounds.events.len() as u32).collect();
    (0..rounds.events.len()).for_each(|k| rounds.pending.insert(k));
    harness.site.round = 0;
    Case::new(start, harness, Pass::Select)
}

// The table has to find threats of short, long and very long reach, across the ends of periods whose numbers of cells are odd, in a gas that
// drifts.
#[test]
fn the_table_finds_every_threat() {
    let (periodic, open) = ([Side::Periodic, Side::Periodic, Side::Wall], [Side::Open; 3]);
    for (name, sides, size, every, factor) in [
        ("short reach", periodic, [71.0, 63.0, 57.0], 1000, 20.0),
        ("long reach", periodic, [251.0, 37.0, 29.0], 1000, 100.0),
        ("very long reach", periodic, [1601.0, 17.0, 9.0], 4000, 1000.0),
        ("beyond all levels", periodic, [1601.0, 17.0, 9.0], 10_000, 30_000.0),
        ("open", open, [71.0, 63.0, 57.0], 1000, 100.0),
    ] {
        let scene = Scene::new(0.03).sides(sides).bounds(DVec3::ZERO, DVec3::from(size));
        let scene = scene.wall(DVec3::new(0.0, 0.0, -9.0), DVec3::Z, "default");
        let case = all_struck(&drifting(name, scene, size, every, factor));
        let findings = case.findings(&case.run());
        let count = |what| findings.seen[what];
        let (threats, selected, not_selected) =
            (count("threats"), count("selected"), count("mutual and not selected"));
        println!("{name}: {threats} threats, {selected} selected, {not_selected} not");
        assert!(threats > 40 && selected > 500 && not_selected > 50, "{name}");
        Total::new().add(name, findings);
    }
}

#[test]
fn a_slip_in_select_is_noticed() {
    let input: &[Slip] = &[
        ("an event that is not mutual any more", |m, _, i| m.next_events[i].event.toi = 3e38),
        ("a change of velocity", |m, _, i| m.next_events[i].event.delta_v_bound *= 1.001),
        ("a pending sphere", |m, layout, i| {
            let pending = &mut m.work[layout.pending as usize..][..layout.sphere_count as usize];
            *pending.iter_mut().find(|k| **k == i as u32).unwrap() = 0;
        }),
    ];
    let output: &[Slip] = &[
        ("a bound", |m, _, i| m.next_events[i].any.delta_v_bound *= 1.0001),
        ("a time", |m, _, i| m.next_events[i].any.time += 0.01),
        ("all selected", |m, layout, _| m.put_selected(layout, 0, &[])),
    ];
    notices(&start("gas", 65), |start| in_round(start, 0), input, output);
    let output: &[Slip] = &[
        ("a threat", |m, layout, _| m.pool[layout.threats as usize + 8] += 1 << 10),
        ("the count of threats", |m, _, _| m.work[counter(2, THREATS)] -= 1),
    ];
    notices(&start("fast", 10_007), |start| in_round(start, 2), &[], output);
}
