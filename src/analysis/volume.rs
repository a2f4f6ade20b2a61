//! The volume of a sphere inside a box.

use std::f64::consts::PI;

use glam::DVec3;

use crate::Dimensions;

/// Volume of the part of a sphere inside a box with sides along the axes; in 2D the area of the part of a disc inside a rectangle.
/// Corners may be infinite.
///
/// Closed forms give the result in 2D, and in 3D if the sphere crosses the faces of one axis only; elsewhere an integral over
/// the areas of discs is accurate to 1e-10 of the volume of the sphere.
pub fn volume_in_box(center: DVec3, radius: f64, min: DVec3, max: DVec3, dimensions: Dimensions) -> f64 {
    let axes = dimensions.count();
    // The faces relative to the centre in radii: beyond 1 they cut nothing.
    let faces: [[f64; 2]; 3] = [0, 1, 2].map(|axis| {
        if axis >= axes {
            return [-1.0, 1.0];
        }
        [min, max].map(|corner| ((corner[axis] - center[axis]) / radius).clamp(-1.0, 1.0))
    });
    if faces.iter().any(|[low, high]| low >= high) {
        return 0.0;
    }
    let is_cut = |axis: &usize| faces[*axis] != [-1.0, 1.0];
    let cut: Vec<usize> = (0..axes).filter(is_cut).collect();
    if dimensions == Dimensions::Two {
        return radius * radius * disc_in_rectangle(1.0, faces[0], faces[1]);
    }
    let share = match cut[..] {
        [] => 4.0 / 3.0 * PI,
        [axis] => below_plane(faces[axis][1]) - below_plane(faces[axis][0]),
        [a, b] => integral(faces[3 - a - b], faces[a], faces[b]),
        _ => integral(faces[2], faces[0], faces[1]),
    };
    radius.powi(3) * share
}

// Volume of the unit sphere below a plane at height `h`.
fn below_plane(h: f64) -> f64 {
    PI * (1.0 + h).powi(2) * (2.0 - h) / 3.0
}

// Area under the half circle of radius `r` from the middle to `x`.
fn half_circle(r: f64, x: f64) -> f64 {
    let x = x.clamp(-r, r);
    0.5 * (x * (r * r - x * x).max(0.0).sqrt() + r * r * (x / r).asin())
}

// Area of the part of a disc of radius `r` with x <= a and y <= b.
fn disc_in_quadrant(r: f64, a: f64, b: f64) -> f64 {
    let (a, b) = (a.clamp(-r, r), b.clamp(-r, r));
    let until = |x: f64| 2.0 * (half_circle(r, x) + 0.25 * PI * r * r);
    if a * a + b * b >= r * r {
        // The corner lies outside the disc, so the disc loses two separate segments or is one segment itself.
        return match (a >= 0.0, b >= 0.0) {
            (true, true) => until(a) + until(b) - PI * r * r,
            (false, true) => until(a),
            (true, false) => until(b),
            (false, false) => 0.0,
        };
    }
    let at = (r * r - b * b).sqrt();
    let strip = half_circle(r, a) - half_circle(r, -at) + b * (a + at);
    if b >= 0.0 { until(-at) + strip } else { strip }
}

fn disc_in_rectangle(r: f64, [x0, x1]: [f64; 2], [y0, y1]: [f64; 2]) -> f64 {
    let corner = |x, y| disc_in_quadrant(r, x, y);
    (corner(x1, y1) - corner(x0, y1) - corner(x1, y0) + corner(x0, y0)).max(0.0)
}

// Points and weights of the Gauss-Legendre rule with 8 points on [-1, 1], the positive half. (Abramowitz & Stegun, table 25.4.)
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
];
// Parts of each smooth stretch of the integral.
const PARTS: usize = 8;

// Volume of the unit sphere between planes on three axes, as the integral of the areas of its discs over the first axis.
fn integral([low, high]: [f64; 2], x: [f64; 2], y: [f64; 2]) -> f64 {
    // Heights at which the disc begins to cross a side or a corner of the rectangle; between them its area is smooth.
    let mut cuts = vec![low, high];
    let mut cut = |square: f64| {
        let height = (1.0 - square).max(0.0).sqrt();
        cuts.extend([height, -height].into_iter().filter(|h| (low..=high).contains(h)));
    };
    for a in x {
        cut(a * a);
        y.iter().for_each(|b| cut(a * a + b * b));
    }
    y.iter().for_each(|b| cut(b * b));
    cuts.sort_unstable_by(f64::total_cmp);
    let area = |h: f64| disc_in_rectangle((1.0 - h * h).max(0.0).sqrt().max(1e-300), x, y);
    let mut sum = 0.0;
    for ends in cuts.windows(2).filter(|ends| ends[1] > ends[0]) {
        let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
        // The area has square roots at the ends of a stretch; the substitution h = middle + half * (3u - u^3)/2 removes them.
        for part in 0..PARTS {
            let (center, width) = ((2.0 * part as f64 + 1.0) / PARTS as f64 - 1.0, 1.0 / PARTS as f64);
            for (point, weight) in GAUSS.into_iter().flat_map(|(p, w)| [(p, w), (-p, w)]) {
                let u = center + width * point;
                let slope = 1.5 * (1.0 - u * u);
                sum += area(middle + half * 0.5 * (3.0 * u - u.powi(3))) * weight * width * slope * half;
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: DVec3 = DVec3::splat(f64::INFINITY);

    #[test]
    fn parts_of_a_sphere_have_their_exact_volumes() {
        let whole = 4.0 / 3.0 * PI;
        let part = |min: DVec3, max: DVec3| volume_in_box(DVec3::ONE, 1.0, min, max, Dimensions::Three);
        assert_eq!(part(-FAR, FAR), whole);
        assert_eq!(part(DVec3::new(2.0, 0.0, 0.0), FAR), 0.0);
        // Through the centre: half, a quarter, an eighth.
        for (planes, share) in [(1, 0.5), (2, 0.25), (3, 0.125)] {
            let min = DVec3::from_array([0, 1, 2].map(|axis| if axis < planes { 1.0 } else { -9.0 }));
            assert!((part(min, FAR) - share * whole).abs() < 1e-12, "{planes}: {}", part(min, FAR));
        }
        // A cap of height 1/2: pi h^2 (3 - h) / 3.
        assert!((part(DVec3::new(-9.0, 1.5, -9.0), FAR) - PI * 0.25 * 2.5 / 3.0).abs() < 1e-15);
        // A cube inside the sphere is full.
        let inner = part(DVec3::splat(0.5), DVec3::splat(1.5));
        assert!((inner - 1.0).abs() < 1e-12, "{inner}");
    }

    #[test]
    fn boxes_that_divide_space_divide_the_sphere() {
        for dimensions in [Dimensions::Two, Dimensions::Three] {
            let center = DVec3::new(0.31, 0.47, if dimensions == Dimensions::Two { 0.0 } else { -0.22 });
            let edges = [f64::NEG_INFINITY, -0.3, 0.05, 0.6, f64::INFINITY];
            let deep = if dimensions == Dimensions::Two { 1 } else { 4 };
            let mut sum = 0.0;
            for k in 0..4 * 4 * deep {
                let corner = |side: usize| {
                    DVec3::new(edges[k % 4 + side], edges[k / 4 % 4 + side], edges[k / 16 + side])
                };
                sum += volume_in_box(center, 0.7, corner(0), corner(1), dimensions);
            }
            let whole = if deep == 1 { PI * 0.49 } else { 4.0 / 3.0 * PI * 0.343 };
            assert!((sum / whole - 1.0).abs() < 1e-10, "{dimensions:?}: {sum} of {whole}");
        }
    }

    #[test]
    fn a_random_box_holds_the_share_of_points_that_fall_into_it() {
        // Against a fine grid of points in the sphere.
        let (min, max) = (DVec3::new(-0.2, -0.9, 0.1), DVec3::new(0.9, 0.35, 0.8));
        let n = 400;
        let at = |k: usize| (2.0 * k as f64 + 1.0) / n as f64 - 1.0;
        let mut inside = 0u64;
        for x in (0..n).map(at).filter(|x| (min.x..max.x).contains(x)) {
            for y in (0..n).map(at).filter(|y| (min.y..max.y).contains(y)) {
                let is_in = |z: &f64| (min.z..max.z).contains(z) && x * x + y * y + z * z < 1.0;
                inside += (0..n).map(at).filter(is_in).count() as u64;
            }
        }
        let counted = inside as f64 * (2.0 / n as f64).powi(3);
        let exact = volume_in_box(DVec3::ZERO, 1.0, min, max, Dimensions::Three);
        assert!((counted / exact - 1.0).abs() < 2e-3, "{exact}, counted {counted}");
    }
}
