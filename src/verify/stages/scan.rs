//! The comparison of `scan`.

use super::{
    Bindings, Comparison, Findings, Memory, Pass, Site, Twin,
    bin::{buckets, histogram},
};
use crate::gpu::layout::SCAN_PART;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Scan,
    bindings: Bindings::Broad,
    input: |site, twin| {
        let mut input = Memory::new(&site.layout);
        input.put(site.layout.counts, &twin.counts());
        input
    },
    twin: Twin::scan,
    dispatches: |site, _| {
        let parts = site.frame.buckets.div_ceil(SCAN_PART);
        vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)]
    },
    compare,
};

fn compare(site: &Site, _: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let starts = &twin.core.starts;
    buckets("start of the bucket", twin, output.get(site.layout.starts, starts.len()), starts, findings);
    histogram("end of the bucket", &site.layout, twin, output, findings);
}
