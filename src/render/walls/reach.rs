//! Bounds of walls over the whole of their motion.

use glam::DVec3;

use super::shell::Shell;
use crate::{System, Wall, WallShape};

/// Bounds of all permanent walls except planes, over all rotations and oscillations; a constant velocity does not
/// extend the bounds. `None` without such walls.
pub fn reach(system: &System) -> Option<[DVec3; 2]> {
    let walls = system.walls.iter().filter(|wall| wall.is_lasting());
    let bounds = walls.filter_map(reach_of);
    bounds.reduce(|[low, high], [l, h]| [low.min(l), high.max(h)])
}

fn reach_of(wall: &Wall) -> Option<[DVec3; 2]> {
    let rotation = wall.motion.rotation.filter(|rotation| rotation.speed != 0.0);
    let made;
    let points = match &wall.shape {
        WallShape::Mesh(mesh) => mesh.vertices(),
        shape => {
            made = Shell::new(shape, false).points;
            &made
        }
    };
    let [low, high] = match (&wall.shape, rotation) {
        (WallShape::Mesh(mesh), None) => mesh.bounds(),
        (_, None) => bounds(points.iter().map(|&point| [point; 2]))?,
        (_, Some(rotation)) => {
            let axis = rotation.axis.normalize();
            // Half extent of a circle about the axis, for a radius of 1.
            let wide = (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt);
            bounds(points.iter().map(|&point| {
                let off = point - rotation.point;
                let middle = axis * off.dot(axis);
                let half = wide * (off - middle).length();
                [rotation.point + middle - half, rotation.point + middle + half]
            }))?
        }
    };
    let Some(oscillation) = wall.motion.oscillation else { return Some([low, high]) };
    let ends = [-1.0, 1.0].map(|end| oscillation.amplitude * (end - oscillation.phase.sin()));
    Some([low + ends[0].min(ends[1]), high + ends[0].max(ends[1])])
}

fn bounds(pieces: impl Iterator<Item = [DVec3; 2]>) -> Option<[DVec3; 2]> {
    pieces.reduce(|[low, high], [l, h]| [low.min(l), high.max(h)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Oscillation, Rotation, WallMotion};

    fn drum() -> Wall {
        let (from, to) = (DVec3::new(0.0, -1.0, 5.0), DVec3::new(0.0, 1.0, 5.0));
        Wall::new(WallShape::Cone { from, to, radii: [2.0; 2], closed: [true; 2] }, 0, "drum")
    }

    fn of(wall: Wall) -> Option<[DVec3; 2]> {
        reach(&System { walls: vec![wall], ..System::default() })
    }

    #[test]
    fn a_wall_reaches_as_far_as_it_ever_gets() {
        let close = |a: [DVec3; 2], b: [DVec3; 2]| (0..2).all(|k| a[k].distance(b[k]) < 5e-3);
        let still = [DVec3::new(-2.0, -1.0, 3.0), DVec3::new(2.0, 1.0, 7.0)];
        assert!(close(of(drum()).unwrap(), still));
        let mut wall = drum();
        // A rotation about the wall's own axis keeps its place; a rotation about another axis moves it around.
        wall.motion.rotation = Some(Rotation { point: DVec3::Z * 5.0, axis: DVec3::Y, speed: 1.0 });
        assert!(close(of(wall.clone()).unwrap(), still));
        wall.motion.rotation = Some(Rotation { point: DVec3::ZERO, axis: DVec3::Y, speed: 1.0 });
        let [low, high] = of(wall).unwrap();
        assert!(
            low.distance(DVec3::new(-7.0, -1.0, -7.0)) < 0.01
                && high.distance(DVec3::new(7.0, 1.0, 7.0)) < 0.01
        );
        let swing = Oscillation { amplitude: DVec3::X * -0.5, frequency: 3.0, phase: 0.0 };
        let mut wall = drum();
        wall.motion = WallMotion { oscillation: Some(swing), ..WallMotion::default() };
        let [low, high] = of(wall).unwrap();
        assert!((low.x + 2.5).abs() < 5e-3 && (high.x - 2.5).abs() < 5e-3, "{low} {high}");
    }

    #[test]
    fn planes_and_what_comes_and_goes_are_left_out() {
        let mut wall = drum();
        wall.span[1] = 3.0;
        assert_eq!(of(wall), None);
        let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
        assert_eq!(of(Wall::new(plane, 0, "floor")), None);
    }
}
