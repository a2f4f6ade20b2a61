//! The rate of a cumulative count.

use super::check_bins;
use crate::Error;

/// Rate at which a count grows, such as that of the spheres that a sink has removed.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRate {
    /// Sum of all increments.
    pub total: u64,
    /// Time of the first and the last increment; `None` if nothing flowed.
    pub active: Option<[f64; 2]>,
    /// Mean rate (1/time) between the times at which a tenth and nine tenths of the total have flowed, which leaves out the start
    /// and the end; `None` if both are the same time.
    pub steady_rate: Option<f64>,
    /// Start of each interval, and the end of the last.
    pub edges: Vec<f64>,
    /// Rate in each interval (1/time).
    pub rates: Vec<f64>,
}

/// Rates of increments in `bins` equal intervals of time. `increments[k]` happened in the interval that ends at `times[k]`; the
/// first interval is as long as the second.
///
/// # Errors
/// [`Error::Invalid`] for fewer than two times, or times that do not increase.
pub fn flow_rate(times: &[f64], increments: &[u64], bins: usize) -> Result<FlowRate, Error> {
    check_bins(bins)?;
    if times.len() != increments.len() || times.len() < 2 {
        return Err(Error::Invalid(format!(
            "{} times and {} increments; a rate needs equally many, at least two",
            times.len(),
            increments.len()
        )));
    }
    if let Some(pair) = times.windows(2).find(|pair| !(pair[0] < pair[1] && pair[1].is_finite())) {
        return Err(Error::Invalid(format!(
            "time {} follows {}; expected increasing times",
            pair[1], pair[0]
        )));
    }
    let last = times[times.len() - 1];
    let start = times[0] - (times[1] - times[0]);
    let width = (last - start) / bins as f64;
    let edges: Vec<f64> = (0..=bins).map(|k| start + width * k as f64).collect();
    let mut rates = vec![0.0; bins];
    for (k, (time, increment)) in times.iter().zip(increments).enumerate() {
        // An increment is spread over its own interval, which may reach into several bins.
        let from = if k == 0 { start } else { times[k - 1] };
        let place = |t: f64| (((t - start) / width) as usize).min(bins - 1);
        for bin in place(from)..=place(*time) {
            let overlap = (time.min(edges[bin + 1]) - from.max(edges[bin])).max(0.0);
            rates[bin] += *increment as f64 * overlap / (time - from) / width;
        }
    }
    let total: u64 = increments.iter().sum();
    let flowing = || times.iter().zip(increments).filter(|(_, n)| **n > 0).map(|(t, _)| *t);
    let active = flowing().next().zip(flowing().next_back()).map(|(a, b)| [a, b]);
    let mut sum = 0;
    let running: Vec<u64> = increments
        .iter()
        .map(|n| {
            sum += n;
            sum
        })
        .collect();
    let reached = |share: f64| running.iter().position(|n| *n as f64 >= share * total as f64).unwrap_or(0);
    let (a, b) = (reached(0.1), reached(0.9));
    let steady_rate = (total > 0 && a < b).then(|| (running[b] - running[a]) as f64 / (times[b] - times[a]));
    Ok(FlowRate { total, active, steady_rate, edges, rates })
}
