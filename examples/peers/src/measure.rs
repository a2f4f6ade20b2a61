//! Measures of a state, the same for all engines: overlap, energy, spheres outside the box.

use glam::{DVec3, IVec3};

use crate::case::{Case, DIAMETER};

/// Deepest overlap of spheres with each other and with the faces of the box, in diameters; 0 if nothing overlaps. Spheres that
/// have left the box count only against each other.
pub fn deepest_overlap(centers: &[DVec3], case: &Case) -> f64 {
    // A uniform grid with cells of one diameter: overlapping spheres are at most one cell apart.
    let low = centers.iter().copied().reduce(DVec3::min).unwrap_or(DVec3::ZERO);
    let high = centers.iter().copied().reduce(DVec3::max).unwrap_or(DVec3::ZERO);
    let count = ((high - low) / DIAMETER).as_ivec3() + 1;
    let cell = |x: DVec3| ((x - low) / DIAMETER).as_ivec3();
    let index = |c: IVec3| ((c.z * count.y + c.y) * count.x + c.x) as usize;
    let mut heads = vec![usize::MAX; count.as_i64vec3().element_product() as usize];
    let mut next = vec![usize::MAX; centers.len()];
    let mut deepest: f64 = 0.0;
    for (i, &center) in centers.iter().enumerate() {
        let here = cell(center);
        for z in (here.z - 1).max(0)..=(here.z + 1).min(count.z - 1) {
            for y in (here.y - 1).max(0)..=(here.y + 1).min(count.y - 1) {
                for x in (here.x - 1).max(0)..=(here.x + 1).min(count.x - 1) {
                    let mut other = heads[index(IVec3::new(x, y, z))];
                    while other != usize::MAX {
                        deepest = deepest.max(1.0 - center.distance(centers[other]) / DIAMETER);
                        other = next[other];
                    }
                }
            }
        }
        next[i] = heads[index(here)];
        heads[index(here)] = i;
        deepest = deepest.max(0.5 - face_distance(center, case).unwrap_or(f64::INFINITY) / DIAMETER);
    }
    deepest
}

/// Number of spheres whose centres are outside the box. An open box has no upper end.
pub fn left(centers: &[DVec3], case: &Case) -> usize {
    let is_inside = |center: &&DVec3| face_distance(**center, case).is_some_and(|distance| distance > 0.0);
    centers.len() - centers.iter().filter(is_inside).count()
}

/// Kinetic and potential energy of all spheres, in units of a sphere's mass. Spheres do not spin in the gas, where the energy is
/// used.
pub fn energy(centers: &[DVec3], velocities: &[DVec3], case: &Case) -> f64 {
    let each = |(x, v): (&DVec3, &DVec3)| 0.5 * v.length_squared() + case.gravity * x.z;
    centers.iter().zip(velocities).map(each).sum()
}

/// Distance of a centre from the nearest face of the box, negative below the floor of an open box; `None` outside the walls, and
/// below the floor or above the lid of a closed box.
fn face_distance(center: DVec3, case: &Case) -> Option<f64> {
    let sides = center.x.min(case.width - center.x).min(center.y).min(case.width - center.y);
    let ends = if case.has_lid { center.z.min(case.height - center.z) } else { center.z };
    let is_outside = sides <= 0.0 || case.has_lid && ends <= 0.0;
    (!is_outside).then_some(sides.min(ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_of_all_overlaps_is_found() {
        let drop = Case::drop(4, 0.1);
        assert_eq!(deepest_overlap(&drop.centers, &drop), 0.0);
        let mut centers = drop.centers.clone();
        centers[7] = centers[62] + DVec3::new(0.0, 0.0, 0.9);
        assert!((deepest_overlap(&centers, &drop) - 0.1).abs() < 1e-12);
        centers[3].z = 0.3;
        assert!((deepest_overlap(&centers, &drop) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn every_face_of_a_closed_box_counts() {
        let gas = Case::gas(4, 0.2, 0.1).unwrap();
        let middle = DVec3::splat(0.5 * gas.width);
        assert_eq!(deepest_overlap(&[middle], &gas), 0.0);
        for axis in 0..3 {
            for (inside, outside) in [(0.3, -0.3), (gas.width - 0.3, gas.width + 0.3)] {
                let mut center = middle;
                center[axis] = inside;
                assert!((deepest_overlap(&[center], &gas) - 0.2).abs() < 1e-12);
                assert_eq!(left(&[center], &gas), 0);
                center[axis] = outside;
                assert_eq!(deepest_overlap(&[center], &gas), 0.0);
                assert_eq!(left(&[middle, center], &gas), 1);
            }
        }
    }

    #[test]
    fn spheres_leave_an_open_box_through_walls_and_floor_only() {
        let drop = Case::drop(4, 0.1);
        let middle = DVec3::splat(0.5 * drop.width);
        assert_eq!(
            left(&[middle.with_z(10.0 * drop.height), middle.with_x(-0.1), middle.with_z(-0.1)], &drop),
            2
        );
        assert!((deepest_overlap(&[middle.with_z(-0.1)], &drop) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn the_energy_is_kinetic_plus_potential() {
        let drop = Case::drop(2, 0.1);
        let (x, v) = ([DVec3::Z, 2.0 * DVec3::Z], [DVec3::new(1.0, 2.0, 2.0), DVec3::ZERO]);
        assert!((energy(&x, &v, &drop) - (4.5 + 3.0 * 9.81)).abs() < 1e-12);
        let gas = Case::gas(8, 0.2, 0.1).unwrap();
        assert!((energy(&gas.centers, &gas.velocities, &gas) - 1.5 * 512.0 * 3.0).abs() < 1e-9);
    }
}
