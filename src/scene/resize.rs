//! Scales a scene to another number of spheres.

use glam::DVec3;

use super::{Scene, Shape};
use crate::Error;

impl Scene {
    /// The scene with `count` spheres in total in its random fills, at the same volume fraction: the box, the regions
    /// and the walls grow with the fills, and the camera moves away; all other spheres stay.
    ///
    /// # Errors
    /// [`Error::Invalid`] if no random fill has a count.
    pub fn resized(&self, count: u32) -> Result<Self, Error> {
        resized(self, count)
    }

    /// Number of spheres in the random fills that have a count.
    pub fn random_count(&self) -> u64 {
        random_counts(&mut self.clone()).into_iter().map(|count| *count).sum()
    }
}

fn resized(scene: &Scene, count: u32) -> Result<Scene, Error> {
    let mut scene = scene.clone();
    let counts = random_counts(&mut scene);
    let before: u64 = counts.iter().map(|count| **count).sum();
    if before == 0 {
        let text = "the scene has no random fill with a count, so it has no other size";
        return Err(Error::Invalid(text.to_owned()));
    }
    let factor = f64::from(count) / before as f64;
    // Running sums are rounded, so that the parts add up to `count`.
    let (mut sum_before, mut sum_after) = (0, 0);
    for part in counts {
        sum_before += *part;
        let sum = (sum_before as f64 * factor).round() as u64;
        *part = sum - sum_after;
        sum_after = sum;
    }
    let scale = factor.powf(1.0 / scene.world.dimensions.count() as f64);
    let origin = scene.bounds.min.unwrap_or(DVec3::ZERO);
    let place = |x: DVec3| origin + (x - origin) * scale;
    scene.bounds.max = scene.bounds.max.map(place);
    for point in [&mut scene.view.eye, &mut scene.view.target] {
        *point = point.map(place);
    }
    for fill in &mut scene.fills {
        if let Shape::Random(random) = &mut fill.shape {
            random.region = random.region.map(|(min, max)| (place(min), place(max)));
        }
    }
    for wall in &mut scene.walls {
        wall.shape = wall.shape.scaled(origin, scale)?;
        if let Some(rotation) = &mut wall.motion.rotation {
            rotation.point = place(rotation.point);
        }
    }
    Ok(scene)
}

fn random_counts(scene: &mut Scene) -> Vec<&mut u64> {
    let counts = scene.fills.iter_mut().filter_map(|fill| match &mut fill.shape {
        Shape::Random(random) => random.count.as_mut(),
        _ => None,
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Fill, Placed, View};

    #[test]
    fn the_volume_fraction_stays() {
        let scene = Scene::new(0.1)
            .bounds([1.0, 1.0, 1.0], [9.0, 9.0, 9.0])
            .fill(Fill::random(100))
            .fill(Fill::random(50).diameter(0.5));
        let scene = Scene { view: View { eye: Some(DVec3::splat(3.0)), ..scene.view.clone() }, ..scene };
        let larger = resized(&scene, 1200).unwrap();
        assert!((larger.view.eye.unwrap() - DVec3::splat(5.0)).length() < 1e-12);
        assert_eq!(larger.view.target, None);
        let edge = larger.bounds.max.unwrap() - DVec3::ONE;
        assert!((edge - DVec3::splat(16.0)).length() < 1e-12);
        let mut copy = larger.clone();
        assert_eq!(random_counts(&mut copy), [&800, &400]);
        assert_eq!(random_counts(&mut resized(&scene, 7).unwrap()).into_iter().map(|c| *c).sum::<u64>(), 7);
    }

    #[test]
    fn a_plane_grows_with_the_root_of_the_count() {
        let scene = Scene::new(0.1).flat().bounds([0.0; 3], [8.0, 8.0, 0.0]).fill(Fill::random(16));
        assert_eq!(resized(&scene, 64).unwrap().bounds.max, Some(DVec3::new(16.0, 16.0, 0.0)));
    }

    #[test]
    fn what_is_not_random_has_no_other_size() {
        assert!(resized(&Scene::new(0.1).fill(Placed::default()), 10).is_err());
    }
}
