//! Reads the impacts of a step from the records of the shaders.

use glam::{IVec3, Vec3};

use super::{
    Context,
    buffers::Buffers,
    host_mirror::HostMirror,
    layout::{LOG_COUNT, LOG_WORDS, WALL},
    readback::download,
};
use crate::{Error, Impact, Partner};

/// Appends the records of one submission in no particular order; `begins` holds the start of each of its substeps
/// (scaled time from the start of the step).
///
/// # Errors
/// [`Error::DeviceLost`].
pub fn read(
    context: &Context,
    buffers: &Buffers,
    host: &HostMirror,
    words: &[u32],
    start_time: f64,
    begins: &[f64],
    impacts: &mut Vec<Impact>,
) -> Result<(), Error> {
    let count = u64::from(words[LOG_COUNT as usize]);
    let from = 4 * u64::from(buffers.layout.log);
    let bytes = 4 * count * u64::from(LOG_WORDS);
    let read = download(context, &[(&buffers.pool, from, bytes)])?;
    let records: Vec<u32> = bytemuck::pod_collect_to_vec(&read[0]);
    parse(&records, host, start_time, begins, impacts);
    Ok(())
}

/// Appends the impacts of the records, in the order of the records.
pub fn parse(records: &[u32], host: &HostMirror, start_time: f64, begins: &[f64], impacts: &mut Vec<Impact>) {
    let units = &host.domain.units;
    for record in records.chunks_exact(LOG_WORDS as usize) {
        let float = |k: usize| f32::from_bits(record[k]);
        let vector = |k: usize| Vec3::new(float(k), float(k + 1), float(k + 2));
        let cell = IVec3::new(record[4] as i32, record[5] as i32, record[6] as i32);
        let partner = match record[3] {
            plane if plane & WALL != 0 => Partner::Wall(plane & !WALL),
            rank => Partner::Sphere(host.ids[rank as usize]),
        };
        impacts.push(Impact {
            time: start_time + (begins[record[0] as usize] + f64::from(float(1))) * units.time,
            sphere: host.ids[record[2] as usize],
            partner,
            point: host.domain.grid.world(cell, vector(7)) * units.length,
            normal: vector(10).as_dvec3(),
            impulse: f64::from(float(13)) * units.mass * units.velocity(),
        });
    }
}
