//! Reads the spheres of a checkpoint.

use super::FileFault;
use crate::{
    files::{checkpoint::parse_checkpoint, frame::Frame, snapshot::bounds},
    scene::Placed,
};

pub(super) fn read(bytes: &[u8], sink: &mut dyn FnMut(Frame)) -> Result<(), FileFault> {
    let checkpoint = parse_checkpoint(bytes).map_err(|error| FileFault::of(error.to_string()))?;
    let system = checkpoint.system();
    let spheres = checkpoint.spheres();
    let has_materials = system.materials.len() > 1;
    let placed = |s: &crate::Sphere| Placed {
        id: Some(s.id),
        position: s.position,
        velocity: s.velocity,
        spin: s.spin,
        radius: s.radius,
        mass: Some(s.mass),
        material: has_materials.then(|| system.materials.name(s.material).to_owned()),
        fixed: s.fixed,
    };
    sink(Frame {
        time: Some(checkpoint.time()),
        step: Some(checkpoint.steps()),
        bounds: Some(bounds(system, &spheres)),
        spheres: spheres.iter().map(placed).collect(),
    });
    Ok(())
}
