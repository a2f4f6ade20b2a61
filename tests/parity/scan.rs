//! Stage `scan` against its twin.

use std::sync::atomic::AtomicU32;

use super::{
    Case, Slip, Total, before, notices,
    starts::{SIZES, Start, dice, start},
};
use crate::gpu::{
    buffer_layout::BufferLayout,
    layout::{Frame, SCAN_GROUP, SCAN_PART},
    static_world::StaticWorld,
};
use crate::step::schedule::Pass;

// A histogram of any length, on a system of one sphere.
fn of_length(buckets: usize) -> Case {
    let start = start("gas", 1);
    let mut harness = before(&start, Pass::Scan);
    let (site, core) = (&mut harness.site, &mut harness.twin.core);
    let static_world = StaticWorld::of(&site.host.domain.world);
    site.layout = BufferLayout::new(1, buckets, static_world, 0, site.layout.capacities);
    let base = site.layout.frame(&site.host.domain.grid, &site.host.domain.world, 1.0);
    site.frame = Frame { buckets: buckets as u32, ..base };
    let mut draw = dice(buckets as u64);
    core.cursors = (0..buckets).map(|_| AtomicU32::new((draw() * 5.0) as u32)).collect();
    core.starts = vec![0; buckets + 1];
    let case = Case::new(&start, harness, Pass::Scan);
    Case { name: format!("{buckets} buckets"), ..case }
}

// The histogram that the broad phase of a system makes.
fn case(start: &Start) -> Case {
    Case::of(start, Pass::Scan)
}

#[test]
fn scan_agrees_with_its_twin() {
    let part = SCAN_PART as usize;
    let mut total = Total::new();
    let lengths = SIZES.into_iter().skip(1).chain([part - 1, part, part + 1, 3 * part + 17]);
    // More parts than the one workgroup of `scan_sums` has lanes.
    let lengths = lengths.chain([(SCAN_GROUP as usize + 1) * part + 5]);
    let cases = lengths.map(of_length);
    for case in cases.chain(SIZES.map(|size| case(&start("gas", size)))) {
        total.add(&case.name, case.findings(&case.run()));
    }
    total.report("scan", &[]);
}

#[test]
fn a_slip_in_scan_is_noticed() {
    let input: &[Slip] = &[
        ("a count", |m, layout, _| m.work[layout.counts as usize + 100] += 1),
        ("the last count", |m, layout, _| m.work[layout.starts as usize - 1 - gap(layout)] += 1),
    ];
    let output: &[Slip] = &[
        ("the total", |m, layout, _| m.work[layout.sums as usize - 1] += 1),
        ("a cursor", |m, layout, _| m.work[layout.counts as usize + 7] += 1),
    ];
    notices(&start("gas", 10_007), case, input, output);
}

// Words between the counts and the starts.
fn gap(layout: &BufferLayout) -> usize {
    (layout.starts - layout.heads) as usize
}
