//! The comparison of `collide`: the impacts of a round, their records, and the traversals of the spheres that these impacts
//! made fast.

use std::collections::HashMap;

use glam::{DVec3, Vec3, Vec4};

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Tolerances, Twin, columns,
    dynamic_candidates, rest,
};
use crate::{
    Impact,
    gpu::{
        encode, impacts,
        layout::{
            CONTACT_TIME_COUNT, FAST_COUNT, FROZEN, FROZEN_COUNT, LATE_COUNT, LOG_COUNT, LOG_WORDS, Node,
            PAIR_COUNT, WALL_COUNT,
        },
    },
};

/// Tolerance of velocities, as a share of the speeds that meet: the impulse is a quotient of two sums of three products
/// times a quotient of masses, each to a few units in the last place.
const SPEED: f32 = 2e-6;

/// Tolerance of the speeds of rims and with them of spins: an impulse moves the rim 5/2 times as much as the centre, and
/// is as well known as the slip.
const RIM: f32 = 3.0 * SPEED;

/// Tolerance of offsets, as a share of a cell and the path to the impact: one fused product, or the projection of a
/// sphere that leaves a support.
const PLACE: f32 = 1e-6;

/// Tolerance of normals of impacts.
const NORMAL: f32 = 1e-5;

/// Tolerance of times of impacts, scaled.
const TIME: f32 = 1e-9;

/// Tolerance of sums over impacts: each is good to a few units in the last place of f32, which the twin squares in f64.
const SUM: f64 = 1e-5;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Collide,
    bindings: Bindings::View,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.put_selected(&site.layout, site.round, &twin.rounds.selected);
        input
    },
    twin: Twin::collide,
    dispatches: |site, all| {
        [&[("collide", site.round, all)], encode::walk(site.round, all).as_slice()].concat()
    },
    compare: |site, input, twin, output, findings| {
        Collide::new(site, input, twin, output).compare(findings);
    },
};

/// Both sides of the pass.
struct Collide<'a> {
    site: &'a Site,
    input: &'a Memory,
    twin: &'a Twin,
    output: &'a Memory,
    edge: f32,
    /// Velocity that gravity adds in the substep.
    fall: f32,
    /// Speed of each sphere and its partner together before the impact, with those of the rims where there is friction.
    speeds: Vec<f32>,
    /// Spheres that the pass made fast and did not stop, sorted.
    walkers: Vec<u32>,
}

impl<'a> Collide<'a> {
    fn new(site: &'a Site, input: &'a Memory, twin: &'a Twin, output: &'a Memory) -> Self {
        let (bodies, tags) = (&input.bodies[PRESENT], &input.tags[PRESENT]);
        let is_rough = twin.core.domain.world.is_rough();
        let rim = |i: usize| if is_rough { tags[i].spin.length() * bodies[i].radius } else { 0.0 };
        let speed = |i: usize| bodies[i].velocity.length() + rim(i);
        let mut speeds: Vec<f32> = (0..bodies.len()).map(speed).collect();
        let rounds = &twin.rounds;
        for &i in &rounds.selected {
            let (i, partner) = (i as usize, input.next_events[i as usize].event.partner as usize);
            if partner < bodies.len() {
                let sum = speed(i) + speed(partner);
                (speeds[i], speeds[partner]) = (sum, sum);
            }
        }
        let new_frozen = &rounds.frozen[input.work[FROZEN_COUNT as usize] as usize..];
        let is_walker = |i: &u32| new_frozen.iter().all(|(k, _)| k != i);
        let mut walkers: Vec<u32> = rounds.fast.iter().copied().filter(is_walker).collect();
        walkers.sort_unstable();
        let (edge, fall) = (site.frame.edge.max_element(), site.frame.gravity.length() * site.frame.h);
        Self { site, input, twin, output, edge, fall, speeds, walkers }
    }

    fn compare(&self, findings: &mut Findings) {
        self.spheres(findings);
        self.counters(findings);
        self.sums(findings);
        self.records(findings);
        let Self { site, twin, output, walkers, .. } = self;
        let found = output.walkers(&site.layout, site.round);
        findings.same_members("times in the list of spheres that became fast", found, walkers.clone());
        dynamic_candidates::compare(&site.layout, twin, walkers, false, output, findings);
        if site.layout.slots > 0 {
            rest::contact_flags(&site.layout, twin, output, findings);
        }
    }

    fn spheres(&self, findings: &mut Findings) {
        let Self { input, twin, output, .. } = self;
        let mut is_touched = vec![false; self.speeds.len()];
        twin.rounds.touched_list.iter().for_each(|&i| is_touched[i as usize] = true);
        let (bodies, tags) = columns(&twin.core.state, &self.site.host);
        let turned = (0..tags.len()).filter(|&i| tags[i].spin != input.tags[PRESENT][i].spin).count();
        findings.saw("spins turned", turned as u64);
        let frozen: HashMap<u32, Vec4> = twin.rounds.frozen.iter().copied().collect();
        for (i, &is_touched) in is_touched.iter().enumerate() {
            let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
            if is_touched {
                let speed = self.speeds[i] + self.fall;
                let way = self.path(bodies[i].offset, speed);
                let rim = if twin.core.domain.world.is_rough() { RIM * speed } else { 0.0 };
                let tolerances =
                    Tolerances { offset: Vec3::splat(PLACE * way), velocity: SPEED * speed, rim };
                findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
                self.node(i, [speed, way], frozen.get(&(i as u32)), findings);
            } else {
                // Other spheres are not written.
                let before = (input.bodies[PRESENT][i], input.tags[PRESENT][i]);
                findings.sphere(i, found, before, Tolerances::default());
                if output.nodes[i] != input.nodes[i] {
                    findings.node(i, output.nodes[i], input.nodes[i]);
                }
            }
        }
    }

    // Lengths that rounding is relative to.
    fn path(&self, offset: Vec3, speed: f32) -> f32 {
        self.edge.max(offset.abs().max_element()) + speed * self.site.frame.h
    }

    // The node of a touched sphere; where it was stopped, with its motion after the stop.
    fn node(&self, i: usize, [speed, way]: [f32; 2], frozen: Option<&Vec4>, findings: &mut Findings) {
        let (core, round, node) = (&self.twin.core, self.site.round, self.output.nodes[i]);
        let units = findings.units;
        findings.equal("clock, scaled", i, node.clock, core.clock[i]);
        findings.equal("round in which it was touched", i, node.touched, round + 1);
        let (margin, tolerance) = (core.motion_margin[i], PLACE * (way + core.motion_margin[i].abs()));
        findings.near("motion margin", units.length, i, node.motion_margin, margin, tolerance);
        match frozen {
            Some(motion) => {
                findings.equal("whether it was stopped", i, node.support & FROZEN, FROZEN);
                let at = (self.site.layout.frozen + 4 * (node.support & !FROZEN)) as usize;
                let words = self.output.pool.get(at..at + 4).unwrap_or(&[0; 4]);
                for (&word, expected) in words.iter().zip(motion.to_array()) {
                    let found = f32::from_bits(word);
                    findings.near("motion after the stop, scaled", 1.0, i, found, expected, SPEED * speed);
                }
            }
            None => findings.equal("support", i, node.support, u32::from(core.support[i])),
        }
        let was_fast = self.input.nodes[i].walk;
        let is_walker = self.walkers.binary_search(&(i as u32)).is_ok();
        findings.equal("number of its traversal", i, node.walk, if is_walker { round + 2 } else { was_fast });
    }

    fn counters(&self, findings: &mut Findings) {
        let Self { input, twin, output, walkers, .. } = self;
        let (now, before) = (&twin.rounds.counts, &twin.counts_before);
        let frozen = twin.rounds.frozen.len() as u64;
        let new_fast = walkers.iter().filter(|i| input.nodes[**i as usize].walk == 0).count() as u64;
        let fast = u64::from(input.work[FAST_COUNT as usize]) + new_fast;
        for (what, word, expected) in [
            ("pairs", PAIR_COUNT, now.pairs - before.pairs),
            ("walls", WALL_COUNT, now.walls - before.walls),
            ("contact times", CONTACT_TIME_COUNT, now.contact_time - before.contact_time),
            ("late", LATE_COUNT, now.late - before.late),
            ("frozen", FROZEN_COUNT, frozen),
            ("fast", FAST_COUNT, fast),
        ] {
            findings.equal(what, OVERALL, output.work[word as usize], expected as u32);
            if word != LATE_COUNT && word != FAST_COUNT {
                findings.saw(what, expected);
            }
        }
        findings.saw("supports", twin.core.support.iter().filter(|support| **support > 0).count() as u64);
        findings.saw("walkers", walkers.len() as u64);
    }

    // Energy lost and virial.
    fn sums(&self, findings: &mut Findings) {
        let Self { input, twin, output, .. } = self;
        let (now, before) = (&twin.rounds.counts, &twin.counts_before);
        let sum = |value: fn(&Node) -> f32| {
            let pairs = output.nodes.iter().zip(&input.nodes);
            pairs.map(|(after, before)| f64::from(value(after)) - f64::from(value(before))).sum::<f64>()
        };
        let inverse_mass = |i: &u32| input.bodies[PRESENT][*i as usize].inverse_mass;
        let (mut energy, mut moment) = (0.0, 0.0);
        for i in twin.rounds.touched_list.iter().filter(|i| inverse_mass(i) > 0.0) {
            let (mass, speed) =
                (1.0 / f64::from(inverse_mass(i)), f64::from(self.speeds[*i as usize] + self.fall));
            energy += mass * speed * speed;
            moment += mass * speed * f64::from(self.edge);
        }
        let unit = findings.units.energy();
        let lost = (sum(|node| node.loss), now.dissipated - before.dissipated);
        findings.near("energy lost", unit, OVERALL, lost.0, lost.1, SUM * energy);
        let virial = (sum(|node| node.virial), now.virial - before.virial);
        findings.near("virial", unit, OVERALL, virial.0, virial.1, SUM * moment);
    }

    fn records(&self, findings: &mut Findings) {
        let Self { site, twin, output, .. } = self;
        let mut found = vec![];
        let words = (output.work[LOG_COUNT as usize] * LOG_WORDS) as usize;
        let records = &output.pool[site.layout.log as usize..][..words];
        let begins = vec![0.0; site.frame.substep as usize + 1];
        impacts::parse(records, &site.host, 0.0, &begins, &mut found);
        let key = |impact: &Impact| (impact.sphere, impact.partner);
        let mut expected = twin.rounds.impacts[twin.impacts_before..].to_vec();
        found.sort_by_key(key);
        expected.sort_by_key(key);
        findings.equal("recorded impacts", OVERALL, found.len() as u32, expected.len() as u32);
        let units = findings.units;
        let scaled = |v: DVec3| (v / units.length).as_vec3();
        // Of the fastest that met: a record does not say which spheres by their index.
        let speed = self.speeds.iter().fold(self.fall, |a, &b| a.max(b));
        let indices: HashMap<u32, usize> = twin.core.state.id.iter().copied().zip(0..).collect();
        for (found, twin) in found.iter().zip(&expected) {
            let i = indices[&twin.sphere];
            findings.flag("partners of a recorded impact", i, key(found) == key(twin), true);
            let times = [found.time, twin.time].map(|time| (time / units.time) as f32);
            findings.near("time of a recorded impact", units.time, i, times[0], times[1], TIME);
            let points = (scaled(found.point - twin.point), Vec3::ZERO);
            let tolerance = PLACE * (self.edge + speed * site.frame.h);
            findings.near_vector(
                "point of a recorded impact",
                units.length,
                i,
                points,
                Vec3::splat(tolerance),
            );
            let normals = (found.normal.as_vec3(), twin.normal.as_vec3());
            findings.near_vector("normal of a recorded impact", 1.0, i, normals, Vec3::splat(NORMAL));
            let unit = units.mass * units.velocity();
            let impulses = (found.impulse / unit, twin.impulse / unit);
            let tolerance = 8.0 * SPEED * speed;
            findings.near("impulse of a recorded impact", unit, i, impulses.0, impulses.1, tolerance);
        }
    }
}
