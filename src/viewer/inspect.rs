//! Finds the sphere under the cursor and collects its properties.

use glam::DVec3;

use crate::{Sphere, System};

/// Most neighbours listed.
const LISTED: usize = 6;
/// Largest gap to a neighbour, in mean diameters of the pair.
const REACH: f64 = 0.5;

/// A sphere near the inspected sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Id of the neighbour.
    pub id: u32,
    /// Gap between the surfaces (length); negative for overlapping spheres.
    pub gap: f64,
}

/// Properties of an inspected sphere.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected {
    /// State of the sphere at `time`.
    pub sphere: Sphere,
    /// Name of the material.
    pub material: String,
    /// Time of the inspection (time).
    pub time: f64,
    /// Number of spheres whose surfaces are within half a mean diameter.
    pub neighbour_count: usize,
    /// The nearest neighbours, nearest first.
    pub neighbours: Vec<Neighbour>,
}

/// The id of the first sphere that a ray hits. `direction` has length 1.
pub fn first_hit<'a>(
    spheres: impl IntoIterator<Item = &'a Sphere>,
    from: DVec3,
    direction: DVec3,
) -> Option<u32> {
    let distance = |sphere: &Sphere| {
        let to = sphere.position - from;
        let along = to.dot(direction);
        // The square of the perpendicular distance, without the cancellation of |to|^2 - along^2.
        let aside = (to - direction * along).length_squared();
        let half = sphere.radius * sphere.radius - aside;
        let near = along - half.max(0.0).sqrt();
        (half >= 0.0 && near > 0.0).then_some(near)
    };
    let hits = spheres.into_iter().filter_map(|sphere| Some((distance(sphere)?, sphere.id)));
    hits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id)
}

impl Inspected {
    /// Inspects the sphere with this id; `spheres` holds all spheres at `time`, sorted by id. `None` if the sphere no
    /// longer exists.
    pub fn of(id: u32, spheres: &[Sphere], system: &System, time: f64) -> Option<Self> {
        let sphere = spheres[spheres.binary_search_by_key(&id, |s| s.id).ok()?];
        let mut near: Vec<Neighbour> = spheres
            .iter()
            .filter(|other| other.id != id)
            .filter_map(|other| {
                let touching = sphere.radius + other.radius;
                let apart = system.separation(sphere.position, other.position).length();
                (apart < (1.0 + REACH) * touching)
                    .then_some(Neighbour { id: other.id, gap: apart - touching })
            })
            .collect();
        near.sort_by(|a, b| a.gap.total_cmp(&b.gap));
        let neighbour_count = near.len();
        near.truncate(LISTED);
        let material = system.materials.name(sphere.material).to_owned();
        Some(Self { sphere, material, time, neighbour_count, neighbours: near })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Side};

    fn row(xs: &[f64]) -> Vec<Sphere> {
        let at = |(id, &x): (u32, &f64)| Sphere { id, position: DVec3::X * x, ..Sphere::default() };
        (0..).zip(xs).map(at).collect()
    }

    #[test]
    fn the_first_sphere_before_the_eye_is_hit() {
        let spheres = row(&[9.0, 4.0, -2.0]);
        assert_eq!(first_hit(&spheres, DVec3::ZERO, DVec3::X), Some(1));
        assert_eq!(first_hit(&spheres, DVec3::ZERO, DVec3::NEG_X), Some(2));
        assert_eq!(first_hit(&spheres, DVec3::Y * 0.49, DVec3::X), Some(1));
        assert_eq!(first_hit(&spheres, DVec3::Y * 0.51, DVec3::X), None);
        // A camera inside a sphere ignores that sphere.
        assert_eq!(first_hit(&spheres, DVec3::X * 4.1, DVec3::X), Some(0));
    }

    #[test]
    fn neighbours_are_found_across_a_period_the_nearest_first() {
        let spheres = row(&[0.2, 1.3, 9.0, 5.0]);
        let system = System {
            bounds: Bounds {
                max: DVec3::splat(10.0),
                sides: [Side::Periodic, Side::Open, Side::Open],
                ..Bounds::default()
            },
            ..System::default()
        };
        let told = Inspected::of(0, &spheres, &system, 2.5).unwrap();
        assert_eq!((told.sphere, told.time, told.neighbour_count), (spheres[0], 2.5, 2));
        let [a, b] = told.neighbours[..] else { panic!("{told:?}") };
        assert_eq!((a.id, b.id), (1, 2));
        assert!((a.gap - 0.1).abs() < 1e-12 && (b.gap - 0.2).abs() < 1e-12, "{told:?}");
        assert_eq!(told.material, "default");
        assert_eq!(Inspected::of(77, &spheres, &system, 0.0), None);
    }
}
