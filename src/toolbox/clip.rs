//! Clips the motion of a sphere at its first contact.

use super::shape::Still;
use super::sweep::{Contact, first_contact_within, sweep_still};
use super::vector::{Scalar, Vector};

/// The first contact of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<V: Vector> {
    /// Index of the sphere touched; among simultaneous contacts the lowest index.
    pub index: usize,
    /// Time and place.
    pub contact: Contact<V>,
}

/// A motion that ends at its first contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clipped<V: Vector> {
    /// The clipped displacement.
    pub displacement: V,
    /// The contact that ended the motion, with times as fractions of the whole displacement; `None` without contact.
    pub hit: Option<Hit<V>>,
}

/// The part of `displacement` that `sphere` can move before it touches one of the `obstacles`.
///
/// Displaced by the result, the sphere touches the obstacle to the rounding of the distances. A sphere that touches or overlaps
/// an obstacle at the start cannot move deeper (the result is 0) but can move away freely. A displacement of NaN is not
/// clipped.
///
/// ```
/// use carom::toolbox::{Still, clip_motion};
/// use glam::Vec2;
///
/// let walker = Still { position: Vec2::ZERO, radius: 1.0 };
/// let pillar = Still { position: Vec2::new(5.0, 0.0), radius: 1.0 };
/// let clipped = clip_motion(&walker, Vec2::new(6.0, 0.0), &[pillar]);
/// assert_eq!(clipped.displacement, Vec2::new(3.0, 0.0));
/// assert_eq!(clipped.hit.unwrap().contact.fraction, 0.5);
/// ```
pub fn clip_motion<V: Vector>(sphere: &Still<V>, displacement: V, obstacles: &[Still<V>]) -> Clipped<V> {
    let whole = V::Scalar::ONE;
    let sphere = sphere.with_velocity(displacement);
    let mut first: Option<(usize, V::Scalar)> = None;
    for (index, obstacle) in obstacles.iter().enumerate() {
        let d = sphere.position - obstacle.position;
        if let Some(time) = first_contact_within(d, displacement, sphere.radius + obstacle.radius, whole)
            && first.is_none_or(|(_, soonest)| time < soonest)
        {
            first = Some((index, time));
        }
    }
    let hit = first.and_then(|(index, _)| {
        sweep_still(&sphere, &obstacles[index], whole).map(|contact| Hit { index, contact })
    });
    let displacement = hit.map_or(displacement, |hit| displacement * hit.contact.fraction);
    Clipped { displacement, hit }
}
