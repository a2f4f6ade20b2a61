//! Times of impact, in f64. The code is independent of every other sweep in the crate.
//!
//! Times are counted from the time to which the arguments refer, and are >= 0.

use glam::DVec3;

// Gap, relative to the sum of the radii, at which a sphere touches a fixed one. The advancement below converges
// quadratically, so the bound only has to exceed the rounding of |d| (2e-16). A smaller bound may never be reached; a larger
// one makes spheres bounce visibly early.
const TOUCH: f64 = 1e-14;

// Steps of the advancement before the function returns and the caller continues from there. A grazing pass halves the gap
// in each step; all other cases need fewer than ten.
const ADVANCES: usize = 200;

/// The speed that rounding leaves in a component of velocities of these magnitudes.
///
/// Touching spheres that approach more slowly do not collide: rounding would absorb the impulse, and they would collide without
/// end. The resulting overlap, 1e-15 of their path, is rounding too.
pub(super) fn noise(speeds: f64) -> f64 {
    4.0 * f64::EPSILON * speeds
}

/// Time at which the gap `gap + speed t + acceleration t^2 / 2` closes; `noise` is the smallest significant speed.
///
/// A gap that is closed and opening belongs to a plane that the sphere has just left: the result is the time of return.
pub(super) fn closing_time(gap: f64, speed: f64, acceleration: f64, noise: f64) -> Option<f64> {
    let speed = if gap <= 0.0 && speed.abs() <= noise { 0.0 } else { speed };
    if speed < 0.0 {
        if gap <= 0.0 {
            return Some(0.0);
        }
        let discriminant = speed * speed - 2.0 * acceleration * gap;
        (discriminant >= 0.0).then(|| 2.0 * gap / (discriminant.sqrt() - speed))
    } else if acceleration < 0.0 {
        // Overlapping and opening: the clamp bounds the result by the time at which the gap stops opening.
        let discriminant = (speed * speed - 2.0 * acceleration * gap).max(0.0);
        Some((speed + discriminant.sqrt()) / -acceleration)
    } else {
        None
    }
}

/// Whether two spheres without relative acceleration may touch; false for most that pass at a distance. The arguments are those
/// of [`touching_time`].
///
/// Without a branch: the answer is unpredictable.
#[inline]
pub(super) fn may_touch(d: DVec3, w: DVec3, radius_sum: f64) -> bool {
    let b = d.dot(w);
    let a = w.length_squared();
    // The margin is a billion times the rounding of the difference.
    let passes = b * b < a * (d.length_squared() - radius_sum * radius_sum) * (1.0 - 1e-6);
    !((b >= 0.0) | passes | (a <= 0.0))
}

/// Time at which two spheres without relative acceleration touch.
///
/// `d`, `w`: centre and velocity of one relative to the other; `speed` is the speed of one of them. Spheres that overlap and
/// approach touch at time 0.
pub(super) fn touching_time(d: DVec3, w: DVec3, radius_sum: f64, speed: f64) -> Option<f64> {
    if !may_touch(d, w, radius_sum) {
        return None;
    }
    let (a, b) = (w.length_squared(), d.dot(w));
    let distance = d.length();
    let c = (distance - radius_sum) * (distance + radius_sum);
    if c <= 0.0 {
        return (b < -noise(speed + a.sqrt()) * distance).then_some(0.0);
    }
    // The discriminant from the offset at closest approach: b^2 - a c would cancel for distant pairs.
    let closest = d - w * (b / a);
    let q = a * (radius_sum * radius_sum - closest.length_squared());
    (q > 0.0).then(|| c / (q.sqrt() - b))
}

/// Time at which a sphere in free fall touches a fixed one.
///
/// `d`, `w`: centre and velocity of the falling sphere relative to the fixed one. Conservative advancement: the
/// distance is at least its component along the present normal. The tangent plane is therefore reached no later than the sphere,
/// and advancing by that time never passes the impact.
pub(super) fn falling_time(d: DVec3, w: DVec3, gravity: DVec3, radius_sum: f64, noise: f64) -> Option<f64> {
    let mut time = 0.0;
    for _ in 0..ADVANCES {
        let position = d + w * time + gravity * (0.5 * time * time);
        let distance = position.length();
        if distance == 0.0 {
            return None;
        }
        let normal = position / distance;
        let gap = distance - radius_sum;
        let speed = (w + gravity * time).dot(normal);
        if gap <= TOUCH * radius_sum && speed < -noise {
            return Some(time);
        }
        let step = closing_time(gap, speed, gravity.dot(normal), noise)?;
        if time + step == time {
            return Some(time);
        }
        time += step;
    }
    Some(time)
}

/// Whether the result of [`falling_time`] is an impact, and not a time from which to continue.
pub(super) fn touches(distance: f64, radius_sum: f64) -> bool {
    // The motion rounds the position once more; ten thousand times TOUCH is still invisible.
    distance - radius_sum <= 1e4 * TOUCH * radius_sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_time_solves_the_parabola() {
        for (gap, speed, acceleration) in
            [(2.0, -1.0, 0.0), (2.0, -1.0, -3.0), (2.0, -3.0, 1.0), (2.0, 1.5, -9.81), (0.0, 4.0, -9.81)]
        {
            let t: f64 = closing_time(gap, speed, acceleration, 0.0).unwrap();
            assert!(t > 0.0);
            assert!((gap + speed * t + 0.5 * acceleration * t * t).abs() < 1e-14);
            assert!(speed + acceleration * t < 0.0, "it must be closing, not opening");
        }
        assert_eq!(closing_time(2.0, -1.0, 1.0, 0.0), None);
        assert_eq!(closing_time(2.0, 1.0, 0.0, 0.0), None);
        assert_eq!(closing_time(0.0, 1.0, 1.0, 0.0), None);
        assert_eq!(closing_time(-0.1, -1.0, 5.0, 0.0), Some(0.0));
    }

    #[test]
    fn touching_time_of_distant_pairs_does_not_cancel() {
        // Exact root 1e8 - sqrt(1 - 0.25) along x with an offset of one half.
        let t = touching_time(DVec3::new(1e8, 0.5, 0.0), DVec3::new(-1.0, 0.0, 0.0), 1.0, 0.0).unwrap();
        assert!((t - (1e8 - 0.75f64.sqrt())).abs() < 2e-8);
        assert_eq!(touching_time(DVec3::X * 2.0, DVec3::X, 1.0, 0.0), None);
        assert_eq!(touching_time(DVec3::X * 0.9, DVec3::X, 1.0, 0.0), None);
        assert_eq!(touching_time(DVec3::X * 0.9, -DVec3::X, 1.0, 0.0), Some(0.0));
        assert_eq!(
            touching_time(DVec3::new(5.0, 1.0, 0.0), -DVec3::X, 1.0, 0.0),
            None,
            "a graze is no impact"
        );
        assert_eq!(touching_time(DVec3::X * 2.0, DVec3::ZERO, 1.0, 0.0), None);
    }

    #[test]
    fn touching_spheres_at_rounding_speed_do_not_collide() {
        let noise = noise(2.0);
        assert_eq!(touching_time(DVec3::X, -DVec3::X * 1e-16, 1.0, 1.0), None);
        assert_eq!(touching_time(DVec3::X, -DVec3::X * 1e-14, 1.0, 1.0), Some(0.0));
        assert_eq!(closing_time(0.0, -1e-16, 0.0, noise), None);
        assert_eq!(closing_time(0.0, -1e-14, 0.0, noise), Some(0.0));
        // Gravity alone closes the gap again: at rest.
        assert_eq!(closing_time(0.0, -1e-16, -9.81, noise), Some(0.0));
    }

    #[test]
    fn falling_time_finds_the_first_contact() {
        let gravity = DVec3::new(0.0, 0.0, -9.81);
        // Dropped on its top; thrown up past its side, over it and down on it; thrown at its shoulder.
        for (d, w) in [
            (DVec3::new(0.0, 0.0, 11.0), DVec3::ZERO),
            (DVec3::new(-3.0, 0.0, -4.0), DVec3::new(1.5, 0.1, 12.0)),
            (DVec3::new(-3.0, 0.2, 2.0), DVec3::new(3.5, 0.0, 1.0)),
        ] {
            let t = falling_time(d, w, gravity, 1.0, 0.0).unwrap();
            let gap = |t: f64| (d + w * t + gravity * (0.5 * t * t)).length() - 1.0;
            assert!(gap(t).abs() < 1e-13, "gap {} at {t}", gap(t));
            for k in 0..1000 {
                assert!(gap(t * f64::from(k) / 1000.0) > 0.0, "an earlier contact at {k}");
            }
        }
        assert_eq!(falling_time(DVec3::new(0.0, 0.0, -2.0), DVec3::ZERO, gravity, 1.0, 0.0), None);
        assert_eq!(falling_time(DVec3::new(2.0, 0.0, 1.0), DVec3::X, gravity, 1.0, 0.0), None);
    }
}
