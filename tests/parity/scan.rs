//! Stage 2 against its twin.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{
    Case, Harness, Site, Slip, Verdict,
    memory::Memory,
    notices,
    starts::{SIZES, Start, dice, start},
};
use crate::gpu::layout::{Frame, SCAN_GROUP, SCAN_PART};
use crate::{
    cpu::scan::scan,
    gpu::{buffer_layout::BufferLayout, static_world::StaticWorld},
};

// A histogram of any length, on a system of one sphere.
fn of_length(buckets: usize) -> Case {
    let harness = Harness::new(&start("gas", 1));
    let layout = BufferLayout::new(
        1,
        buckets,
        StaticWorld::of(&harness.host.domain.world),
        0,
        harness.layout.capacities,
    );
    let base = layout.frame(&harness.host.domain.grid, &harness.host.domain.world, 1.0);
    let frame = Frame { buckets: buckets as u32, ..base };
    let mut draw = dice(buckets as u64);
    let counts: Vec<u32> = (0..buckets).map(|_| (draw() * 5.0) as u32).collect();
    let site = Site { name: format!("{buckets} buckets"), layout, frame, ..harness.site };
    on_counts(site, counts)
}

fn on_counts(site: Site, counts: Vec<u32>) -> Case {
    let layout = site.layout;
    let mut input = Memory::new(&layout);
    input.put(layout.counts, &counts);
    let parts = (counts.len() as u32).div_ceil(SCAN_PART);
    let dispatches = vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)];
    let mut starts = vec![0; counts.len() + 1];
    let cursors: Vec<AtomicU32> = counts.iter().map(|&n| AtomicU32::new(n)).collect();
    scan(&cursors, &mut starts, &mut vec![]);
    let cursors: Vec<u32> = cursors.iter().map(|n| n.load(Relaxed)).collect();
    Case::new(site, input, dispatches, true, move |output, verdict| {
        for (bucket, &start) in starts.iter().enumerate() {
            verdict.equal("start", bucket, output.work[layout.starts as usize + bucket], start);
        }
        for (bucket, &cursor) in cursors.iter().enumerate() {
            verdict.equal("cursor", bucket, output.work[layout.counts as usize + bucket], cursor);
        }
    })
}

// The histogram that the broad phase of a system makes.
fn case(start: &Start) -> Case {
    let mut harness = Harness::new(start);
    harness.twin.bin();
    let counts = harness.twin.counts();
    on_counts(harness.site, counts)
}

#[test]
fn scan_agrees_with_its_twin() {
    let part = SCAN_PART as usize;
    let mut total = Verdict::new("scan");
    let lengths = SIZES.into_iter().skip(1).chain([part - 1, part, part + 1, 3 * part + 17]);
    // More parts than the one workgroup of `scan_sums` has lanes.
    let lengths = lengths.chain([(SCAN_GROUP as usize + 1) * part + 5]);
    let cases = lengths.map(of_length);
    for case in cases.chain(SIZES.map(|size| case(&start("gas", size)))) {
        let verdict = case.verdict(&case.run());
        verdict.assert_clean();
        total.add(verdict);
    }
    total.report();
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
