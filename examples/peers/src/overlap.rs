//! The deepest overlap of spheres with each other, with the floor and with the walls.

use glam::{DVec3, IVec3};

use crate::drop::{DIAMETER, Drop};

/// Deepest overlap, in diameters; 0 if nothing overlaps. Spheres that have left the box count only against each other.
pub fn deepest(centers: &[DVec3], drop: &Drop) -> f64 {
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
        let is_inside = center.x > 0.0 && center.x < drop.width && center.y > 0.0 && center.y < drop.width;
        if is_inside {
            let sides = center.x.min(drop.width - center.x).min(center.y).min(drop.width - center.y);
            deepest = deepest.max((0.5 * DIAMETER - sides.min(center.z)) / DIAMETER);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_of_all_overlaps_is_found() {
        let drop = Drop::new(4, 0.1);
        assert_eq!(deepest(&drop.centers, &drop), 0.0);
        let mut centers = drop.centers.clone();
        centers[7] = centers[62] + DVec3::new(0.0, 0.0, 0.9);
        assert!((deepest(&centers, &drop) - 0.1).abs() < 1e-12);
        centers[3].z = 0.3;
        assert!((deepest(&centers, &drop) - 0.2).abs() < 1e-12);
    }
}
