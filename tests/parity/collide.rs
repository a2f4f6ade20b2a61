//! Stage 8 against its twin: the impacts of a round, their records, and the walks of what became fast.

use super::{
    Case, Harness, PRESENT, Slip, Verdict, agrees,
    memory::{Memory, constraints, counter},
    notices,
    starts::{Start, start},
    walks::Walks,
};
use crate::gpu::{
    impacts,
    layout::{
        Body, CONTACT_TIME_COUNT, FAST_COUNT, FROZEN, FROZEN_COUNT, LATE_COUNT, LOG_COUNT, Node, PAIR_COUNT,
        Tag, WALKERS, WALL_COUNT,
    },
};
use crate::{Impact, Partner, cpu::collide::Counts, gpu::buffer_layout::BufferLayout, state::units::Units};

/// Of velocities, as a share of the speeds that meet: the impulse is a quotient of two sums of three products times a
/// quotient of masses, each to a few units in the last place.
const SPEED: f32 = 2e-6;

/// Of the speeds of rims, the same for spins: an impulse moves the rim 5/2 times as much as the centre, and is as well known
/// as the slip.
const RIM: f32 = 3.0 * SPEED;

/// Of offsets, as a share of a cell and the way to the impact: one fused product, or what leaving a support projects.
const PLACE: f32 = 1e-6;

/// Of sums over impacts: each is good to a few units in the last place of f32, which the twin squares in f64.
const SUM: f64 = 1e-5;

/// The round that the dispatches belong to: one of those that make lists.
const ROUND: u32 = 2;

fn case(start: &Start) -> Case {
    let mut harness = Harness::in_substep(start);
    let twin = &mut harness.twin;
    twin.launch();
    twin.sweep();
    if start.name != "rough" {
        // The second round where there is one: with clocks, supports and contacts of the first. Of what is rough the first,
        // in which many more meet.
        twin.select();
        twin.collide();
        twin.resweep();
    }
    if twin.rounds.pending_list.is_empty() {
        twin.rounds.selected.clear();
    } else {
        twin.select();
    }
    let mut input = harness.memory();
    let layout = harness.layout;
    let selected = harness.twin.rounds.selected.clone();
    input.put_selected(&layout, ROUND, &selected);
    for node in &mut input.nodes {
        (node.loss, node.virial) = (0.25, 0.5);
    }
    let twin = &mut harness.twin;
    let before = twin.rounds.counts;
    let old_impacts = twin.rounds.impacts.len();
    let old_frozen = twin.rounds.frozen.len();
    let was_fast: Vec<bool> =
        (0..twin.core.state.len()).map(|i| twin.core.dynamic_candidates.is_fast(i)).collect();
    twin.collide();
    let expected = Expected::new(&harness, before, old_impacts, old_frozen, &was_fast, &input);
    let sample = selected.first().copied().unwrap_or(0) as usize;
    let all = harness.all();
    let dispatches =
        vec![("collide", ROUND, all), ("collide_walk", ROUND, all), ("collide_meet", ROUND, all)];
    let host = Harness::in_substep(start).site.host;
    Case::new(harness, input, dispatches, false, move |output, verdict| {
        expected.compare(output, &layout, verdict);
        expected.compare_impacts(output, &layout, &host, verdict);
    })
    .with_sample(sample)
}

// The twin after the stage.
struct Expected {
    bodies: Vec<Body>,
    old: Vec<Body>,
    rest: Vec<Tag>,
    clock: Vec<f32>,
    motion_margin: Vec<f32>,
    old_nodes: Vec<Node>,
    support: Vec<u8>,
    frozen: Vec<(u32, glam::Vec4)>,
    touched: Vec<u32>,
    walkers: Vec<u32>,
    was_fast: Vec<bool>,
    counts: Counts,
    impacts: Vec<Impact>,
    walks: Walks,
    edge: f32,
    fall: f32,
    h: f32,
    /// Speed of each sphere and its partner together, before the impact, with those of the rims where they matter.
    speeds: Vec<f32>,
    is_rough: bool,
    turned: u64,
    units: Units,
}

impl Expected {
    fn new(
        harness: &Harness,
        before: Counts,
        old_impacts: usize,
        old_frozen: usize,
        was_fast: &[bool],
        input: &Memory,
    ) -> Self {
        let (twin, rounds) = (&harness.twin, &harness.twin.rounds);
        let (bodies, rest) = constraints(&twin.core.state, &harness.host);
        let frozen = rounds.frozen.clone();
        let is_new = |i: &u32| !frozen[old_frozen..].iter().any(|(k, _)| k == i);
        let mut walkers: Vec<u32> = rounds.fast.iter().copied().filter(is_new).collect();
        walkers.sort_unstable();
        let minus = |a: u64, b: u64| a - b;
        let counts = Counts {
            pairs: minus(rounds.counts.pairs, before.pairs),
            walls: minus(rounds.counts.walls, before.walls),
            contact_time: minus(rounds.counts.contact_time, before.contact_time),
            late: minus(rounds.counts.late, before.late),
            dissipated: rounds.counts.dissipated - before.dissipated,
            virial: rounds.counts.virial - before.virial,
            wall_work: rounds.counts.wall_work - before.wall_work,
        };
        let old = &input.bodies[PRESENT];
        let is_rough = twin.core.domain.world.is_rough();
        let tags = &input.tags[PRESENT];
        let rim = |i: usize| if is_rough { tags[i].spin.length() * old[i].radius } else { 0.0 };
        let speed = |i: usize| old[i].velocity.length() + rim(i);
        let mut speeds: Vec<f32> = (0..old.len()).map(speed).collect();
        for &i in &rounds.selected {
            let event = input.next_events[i as usize].event;
            if (event.partner as usize) < old.len() {
                let sum = speed(i as usize) + speed(event.partner as usize);
                speeds[i as usize] = sum;
                speeds[event.partner as usize] = sum;
            }
        }
        let turned = tags.iter().zip(&rest).filter(|(old, new)| old.spin != new.spin).count() as u64;
        Self {
            old: input.bodies[PRESENT].clone(),
            old_nodes: input.nodes.clone(),
            clock: twin.core.clock.clone(),
            motion_margin: twin.core.motion_margin.clone(),
            support: twin.core.support.clone(),
            touched: rounds.touched_list.clone(),
            was_fast: was_fast.to_vec(),
            impacts: rounds.impacts[old_impacts..].to_vec(),
            walks: Walks::of_some(twin, &walkers),
            edge: harness.frame.edge.max_element(),
            fall: harness.frame.gravity.length() * harness.frame.h,
            h: harness.frame.h,
            units: twin.core.domain.units,
            bodies,
            rest,
            frozen,
            walkers,
            counts,
            speeds,
            is_rough,
            turned,
        }
    }

    fn compare(&self, output: &Memory, layout: &BufferLayout, verdict: &mut Verdict) {
        let mut is_touched = vec![false; self.bodies.len()];
        self.touched.iter().for_each(|&i| is_touched[i as usize] = true);
        for (i, &touched) in is_touched.iter().enumerate() {
            let (body, twin, node) = (output.bodies[PRESENT][i], self.bodies[i], output.nodes[i]);
            if !touched {
                // Nobody else is written.
                let tag = output.tags[PRESENT][i];
                verdict.equal(
                    "untouched",
                    i,
                    (body, node, tag),
                    (self.old[i], self.old_nodes[i], self.rest[i]),
                );
                continue;
            }
            let speed = self.speeds[i] + self.fall;
            let way = self.edge.max(twin.offset.abs().max_element()) + speed * self.h;
            verdict.near_vector("offset", i, body.offset, twin.offset, PLACE * way);
            verdict.near_vector("velocity", i, body.velocity, twin.velocity, SPEED * speed);
            verdict.equal("rest of", i, Body { offset: twin.offset, velocity: twin.velocity, ..body }, twin);
            let (tag, rest) = (output.tags[PRESENT][i], self.rest[i]);
            let rim = if self.is_rough { RIM * speed / twin.radius } else { 0.0 };
            verdict.near_vector("spin", i, tag.spin, rest.spin, rim);
            verdict.equal("tag", i, Tag { spin: rest.spin, ..tag }, rest);
            verdict.equal("clock", i, (node.clock, node.touched), (self.clock[i], ROUND + 1));
            let scale = way + self.motion_margin[i].abs();
            verdict.near("budget", i, node.motion_margin, self.motion_margin[i], PLACE * scale);
            match self.frozen.iter().find(|(k, _)| *k as usize == i) {
                Some((_, motion)) => {
                    verdict.equal("frozen", i, node.support & FROZEN, FROZEN);
                    let at = (layout.frozen + 4 * (node.support & !FROZEN)) as usize;
                    for axis in 0..4 {
                        let found = f32::from_bits(output.pool[at + axis]);
                        verdict.near("motion of", i, found, motion[axis], SPEED * speed);
                    }
                }
                None => verdict.equal("support", i, node.support, u32::from(self.support[i])),
            }
            let is_walker = self.walkers.binary_search(&(i as u32)).is_ok();
            let walk = if is_walker { ROUND + 2 } else { u32::from(self.was_fast[i]) };
            verdict.equal("walk", i, node.walk, walk);
        }
        let c = self.counts;
        for (what, count) in [("pairs", c.pairs), ("walls", c.walls), ("contact times", c.contact_time)] {
            verdict.saw(what, count);
        }
        verdict.saw("spins turned", self.turned);
        verdict.saw("supports", self.support.iter().filter(|s| **s > 0).count() as u64);
        verdict.saw("frozen", self.frozen.len() as u64);
        verdict.saw("walkers", self.walkers.len() as u64);
        let words = [PAIR_COUNT, WALL_COUNT, CONTACT_TIME_COUNT, LATE_COUNT, FROZEN_COUNT, FAST_COUNT];
        let found = words.map(|word| u64::from(output.work[word as usize]));
        let fast = self.was_fast.iter().filter(|fast| **fast).count()
            + self.walkers.iter().filter(|i| !self.was_fast[**i as usize]).count();
        let twin = [c.pairs, c.walls, c.contact_time, c.late, self.frozen.len() as u64, fast as u64];
        verdict.equal("pairs, walls, contact times, late, frozen, fast", 0, found, twin);
        let sum = |value: fn(&Node) -> f32, before: f64| {
            output.nodes.iter().map(|node| f64::from(value(node)) - before).sum::<f64>()
        };
        let mass = |i: &u32| 1.0 / f64::from(self.old[*i as usize].inverse_mass);
        let touched = || self.touched.iter().filter(|i| self.old[**i as usize].inverse_mass > 0.0);
        let speed = |i: &u32| f64::from(self.speeds[*i as usize] + self.fall);
        let energy: f64 = touched().map(|i| mass(i) * speed(i).powi(2)).sum();
        let moment: f64 = touched().map(|i| mass(i) * speed(i) * f64::from(self.edge)).sum();
        let (loss, virial) = (sum(|node| node.loss, 0.25), sum(|node| node.virial, 0.5));
        verdict.near("energy lost", 0, loss as f32, c.dissipated as f32, (SUM * energy) as f32);
        verdict.near("virial", 0, virial as f32, c.virial as f32, (SUM * moment) as f32);
        verdict.same_set("walkers", output.walkers(layout, ROUND), self.walkers.clone());
        self.walks.compare(output, layout, verdict);
    }

    fn compare_impacts(
        &self,
        output: &Memory,
        layout: &BufferLayout,
        host: &super::HostMirror,
        verdict: &mut Verdict,
    ) {
        let mut found = vec![];
        let count = output.work[LOG_COUNT as usize];
        let records = &output.pool[layout.log as usize..][..(count * crate::gpu::layout::LOG_WORDS) as usize];
        impacts::parse(records, host, 0.0, &[0.0; 2], &mut found);
        let key = |i: &Impact| (i.sphere, i.partner);
        let mut twins = self.impacts.clone();
        found.sort_by_key(key);
        twins.sort_by_key(key);
        verdict.equal("impacts", 0, found.len(), twins.len());
        let Units { length, time, mass } = self.units;
        // Of the fastest that met: an impact does not say which rows it belongs to.
        let speed = self.speeds.iter().fold(self.fall, |a, &b| a.max(b));
        for (found, twin) in found.iter().zip(&twins) {
            let id = twin.sphere as usize;
            verdict.equal("impact of", id, key(found), key(twin));
            let scaled = |v: glam::DVec3, unit: f64| (v / unit).as_vec3();
            verdict.near("time of", id, (found.time / time) as f32, (twin.time / time) as f32, 1e-9);
            let (a, b) = (scaled(found.point - twin.point, length), glam::Vec3::ZERO);
            verdict.near_vector("point of", id, a, b, PLACE * (self.edge + speed * self.h));
            verdict.near_vector("normal of", id, scaled(found.normal, 1.0), scaled(twin.normal, 1.0), 1e-5);
            let unit = mass * length / time;
            let (a, b) = ((found.impulse / unit) as f32, (twin.impulse / unit) as f32);
            verdict.near("impulse of", id, a, b, 8.0 * SPEED * speed);
            let is_wall = matches!(twin.partner, Partner::Wall(_));
            verdict.equal("kind of", id, matches!(found.partner, Partner::Wall(_)), is_wall);
        }
    }
}

#[test]
fn collide_agrees_with_its_twin() {
    agrees("collide", case);
}

#[test]
fn a_slip_in_collide_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[PRESENT][i].velocity.x += 1e-3),
        ("an offset", |m, _, i| m.bodies[PRESENT][i].offset.y += 1e-4),
        ("the time of an impact", |m, _, i| m.next_events[i].event.toi += 1e-4),
        ("an inverse mass", |m, _, i| m.bodies[PRESENT][i].inverse_mass *= 1.001),
        ("a selected impact", |m, layout, _| {
            m.work[layout.selected as usize] = m.work[layout.selected as usize + 1]
        }),
    ];
    let output: &[Slip] = &[
        ("an impulse", |m, _, i| m.bodies[PRESENT][i].velocity.z += 1e-4),
        ("a sphere that met nobody", |m, _, _| {
            let i = m.nodes.iter().position(|node| node.touched == 0).unwrap();
            m.bodies[PRESENT][i].velocity.x += 1e-6;
        }),
        ("a count", |m, _, _| m.work[PAIR_COUNT as usize] += 1),
        ("a record", |m, layout, _| m.pool[layout.log as usize + 13] += 1 << 12),
        ("a loss", |m, _, i| m.nodes[i].loss += 0.1),
    ];
    notices(&start("gas", 10_007), case, input, output);
    let input: &[Slip] = &[
        ("a spin", |m, _, i| m.tags[PRESENT][i].spin.z += 1e-3),
        ("a radius", |m, _, i| m.bodies[PRESENT][i].radius *= 1.001),
    ];
    let output: &[Slip] = &[
        ("what a spin gains", |m, _, i| m.tags[PRESENT][i].spin.x += 1e-4),
        ("the spin of one that met nobody", |m, _, _| {
            let i = m.nodes.iter().position(|node| node.touched == 0).unwrap();
            m.tags[PRESENT][i].spin.y += 1e-6;
        }),
    ];
    notices(&start("rough", 10_007), case, input, output);
    let output: &[Slip] = &[
        ("a walker", |m, _, _| m.work[counter(ROUND, WALKERS)] -= 1),
        ("whom a walker may meet", |m, layout, _| {
            let i = m.work[layout.walkers as usize];
            m.work[(layout.heads + i) as usize] = 0;
        }),
    ];
    notices(&start("fast", 10_007), case, &[], output);
}
