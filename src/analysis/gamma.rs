//! The incomplete gamma function of half-integer order: the Maxwell-Boltzmann and the chi-square distribution.

/// The regularised lower incomplete gamma function P(a, y) for `a` a positive multiple of 1/2, to about 1e-14.
///
/// y^a e^-y / Gamma(a+1) * sum over n of y^n / ((a+1)...(a+n)): all terms are positive, so nothing cancels (Abramowitz & Stegun,
/// 6.5.4 and 6.5.29).
pub(super) fn lower_gamma(a: f64, y: f64) -> f64 {
    if y <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
    // Far beyond the mean nothing is left above y: the exponent of the Chernoff bound exceeds 50.
    if y > a && y - a - a * (y / a).ln() > 50.0 {
        return 1.0;
    }
    while term > 1e-17 * sum {
        n += 1.0;
        term *= y / (a + n);
        sum += term;
    }
    ((a * y.ln() - y - ln_gamma(a + 1.0)).exp() * sum).min(1.0)
}

// ln Gamma(a) by the recurrence from Gamma(1/2) = sqrt(pi) or Gamma(1) = 1.
fn ln_gamma(a: f64) -> f64 {
    let is_whole = a.fract() == 0.0;
    let (mut at, mut sum) = if is_whole { (1.0, 0.0) } else { (0.5, 0.5 * std::f64::consts::PI.ln()) };
    while at < a - 0.25 {
        sum += f64::ln(at);
        at += 1.0;
    }
    sum
}

/// Share of the chi-square distribution with `freedom` degrees of freedom above `chi_square`.
pub(super) fn chi_square_tail(chi_square: f64, freedom: usize) -> f64 {
    1.0 - lower_gamma(0.5 * freedom as f64, 0.5 * chi_square)
}

/// Share of the Kolmogorov-Smirnov distances of `count` samples above `distance`. (Stephens 1970, as in Press et al., Numerical
/// Recipes, 14.3.)
pub(super) fn kolmogorov_tail(distance: f64, count: usize) -> f64 {
    let root = (count as f64).sqrt();
    let x = (root + 0.12 + 0.11 / root) * distance;
    // Below this the series converges slowly, and its value is 1 to 1e-9.
    if x < 0.27 {
        return 1.0;
    }
    let term = |k: i32| {
        let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
        sign * (-2.0 * f64::from(k * k) * x * x).exp()
    };
    (1..=20).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_have_their_tabulated_values() {
        // P(1, y) = 1 - e^-y; P(1/2, y) = erf(sqrt(y)), erf(1) = 0.8427007929497149.
        assert!((lower_gamma(1.0, 2.0) - (1.0 - (-2f64).exp())).abs() < 1e-15);
        assert!((lower_gamma(0.5, 1.0) - 0.842_700_792_949_714_9).abs() < 1e-15);
        // Quantiles of chi-square at 5%: 3.841 (1), 18.307 (10), 124.342 (100).
        for (chi_square, freedom) in [(3.841_458_8, 1), (18.307_038, 10), (124.342_113, 100)] {
            assert!((chi_square_tail(chi_square, freedom) - 0.05).abs() < 1e-7, "{freedom}");
        }
        assert!(chi_square_tail(1e6, 10) == 0.0 && chi_square_tail(0.0, 10) == 1.0);
        // The Kolmogorov distribution exceeds 1.3581 in 5% of cases.
        let count = 1_000_000;
        assert!((kolmogorov_tail(1.3581 / 1e3, count) - 0.05).abs() < 1e-4);
    }
}
