//! Prepares a mesh for drawing: finds the parts that have an inside, and the edges to draw as lines.

use glam::DVec3;
use rayon::prelude::*;

use super::shell::Shell;
use crate::Mesh;

/// Cosine of the least angle between two faces whose edge is drawn as a line: 30 degrees. With a smaller angle coarse
/// curved surfaces become nets; with a larger angle the edges of a hexagonal prism disappear.
const SHARP: f64 = 0.866;

/// Number of sharp edges up to which they are drawn regardless of their share.
const FEW: usize = 512;

/// Share of sharp edges below which the sharp edges of a mesh with many edges are drawn. A larger share indicates rough
/// ground, not the outline of a body.
const SHARE: f64 = 0.1;

/// Least flatness of an open part that counts as a sheet: the length of the sum of its area vectors divided by the sum
/// of their lengths. A flat sheet has 1, ground with slopes of 40 degrees 0.77, a hemisphere 0.5, a cup as deep as wide
/// 0.2.
const LEVEL: f64 = 0.72;

/// Greatest mean thickness, relative to the diagonal of the bounds, of a closed part that counts as a bent plate, such
/// as a vessel modelled with its thickness. Blocks and pillars are thicker.
const THIN: f64 = 0.04;

/// Least share of the area of a bent plate that faces its middle: 0.5 for a vessel, 0 for a flat plate.
const INWARD: f64 = 0.25;

const NONE: u32 = u32::MAX;

/// Creates the shell of a mesh.
pub fn of_mesh(mesh: &Mesh) -> Shell {
    let points = mesh.vertices().to_vec();
    let normals = vec![DVec3::ZERO; points.len()];
    let mut made = Shell { points, normals, is_closed: true, ..Shell::default() };
    let mut faces = mesh.triangles().to_vec();
    let edges = Edges::new(&faces);
    for part in parts(&mut faces, &edges.across) {
        let sums = Sums::of(&made.points, &faces, &part);
        let is_open = part.iter().any(|&face| edges.across[face as usize].contains(&NONE));
        // The contents of a vessel lie between its far side and its near side. Both sides consist of an inner and an
        // outer skin with the same outside.
        let is_vessel = !is_open && sums.is_vessel();
        let ordered = part.iter().map(|&face| {
            let [a, b, c] = faces[face as usize];
            let is_inward = is_vessel && sums.rise(&made.points, [a, b, c]) * sums.volume < 0.0;
            if (sums.volume < 0.0) != is_inward { [a, c, b] } else { [a, b, c] }
        });
        let is_sheet = is_open && sums.area.length() > LEVEL * sums.size;
        if is_sheet { &mut made.sheets } else { &mut made.hollow }.extend(ordered);
        made.is_closed &= !is_open && !is_vessel;
    }
    let normals: Vec<_> =
        faces.par_iter().map(|&face| area(&made.points, face).normalize_or_zero()).collect();
    let is_sharp = |pair: &Pair| normals[pair.faces[0] as usize].dot(normals[pair.faces[1] as usize]) < SHARP;
    let sharp: Vec<_> = edges.pairs.iter().filter(|pair| is_sharp(pair)).map(|pair| pair.ends).collect();
    made.lines = edges.rims;
    if sharp.len() <= FEW || (sharp.len() as f64) < SHARE * edges.pairs.len() as f64 {
        made.lines.extend(sharp);
    }
    made
}

// An edge between two faces.
struct Pair {
    ends: [u32; 2],
    faces: [u32; 2],
}

struct Edges {
    pairs: Vec<Pair>,
    /// Edges with one face, or with more than two.
    rims: Vec<[u32; 2]>,
    /// For each edge of each face the opposite face, if there is exactly one.
    across: Vec<[u32; 3]>,
}

impl Edges {
    fn new(faces: &[[u32; 3]]) -> Self {
        let mut all: Vec<([u32; 2], u32)> = faces
            .par_iter()
            .enumerate()
            .flat_map_iter(|(index, face)| {
                (0..3).map(move |k| {
                    let (a, b) = (face[k], face[(k + 1) % 3]);
                    ([a.min(b), a.max(b)], 3 * index as u32 + k as u32)
                })
            })
            .collect();
        all.par_sort_unstable();
        let mut made = Self { pairs: vec![], rims: vec![], across: vec![[NONE; 3]; faces.len()] };
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            match *same {
                [(ends, a), (_, b)] => {
                    for (own, other) in [(a, b), (b, a)] {
                        made.across[own as usize / 3][own as usize % 3] = other / 3;
                    }
                    made.pairs.push(Pair { ends, faces: [a / 3, b / 3] });
                }
                _ => made.rims.push(same[0].0),
            }
        }
        made
    }
}

// Connected faces, oriented so that neighbours have the same side up.
fn parts(faces: &mut [[u32; 3]], across: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut seen = vec![false; faces.len()];
    let mut parts = vec![];
    for first in 0..faces.len() as u32 {
        if seen[first as usize] {
            continue;
        }
        seen[first as usize] = true;
        let (mut part, mut next) = (vec![first], 0);
        while let Some(&face) = part.get(next) {
            next += 1;
            for &other in across[face as usize].iter().filter(|&&other| other != NONE) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    // Neighbours with the same side up traverse their common edge in opposite directions.
                    if runs_alike(faces[face as usize], faces[other as usize]) {
                        faces[other as usize].swap(1, 2);
                    }
                    part.push(other);
                }
            }
        }
        parts.push(part);
    }
    parts
}

fn runs_alike(a: [u32; 3], b: [u32; 3]) -> bool {
    let edges = |t: [u32; 3]| [0, 1, 2].map(|k| (t[k], t[(k + 1) % 3]));
    edges(a).iter().any(|edge| edges(b).contains(edge))
}

// Twice the area vector of a face.
fn area(points: &[DVec3], face: [u32; 3]) -> DVec3 {
    let [a, b, c] = face.map(|corner| points[corner as usize]);
    (b - a).cross(c - a)
}

// Sums over a part; areas are doubled.
struct Sums {
    middle: DVec3,
    area: DVec3,
    size: f64,
    /// Six times the volume; > 0 if normals point away from the middle.
    volume: f64,
    /// Sum of the area vectors that face the middle while the rest faces away, and the sum of their lengths.
    inward: DVec3,
    inward_size: f64,
    diagonal: f64,
}

impl Sums {
    fn of(points: &[DVec3], faces: &[[u32; 3]], part: &[u32]) -> Self {
        let faces = || part.iter().map(|&face| faces[face as usize]);
        let size: f64 = faces().map(|face| area(points, face).length()).sum();
        let weighted = faces().map(|face| middle_of(points, face) * area(points, face).length());
        let corners = || faces().flatten().map(|corner| points[corner as usize]);
        let low = corners().reduce(DVec3::min).unwrap_or_default();
        let high = corners().reduce(DVec3::max).unwrap_or_default();
        let mut made = Self {
            middle: weighted.sum::<DVec3>() / size,
            area: faces().map(|face| area(points, face)).sum(),
            size,
            volume: 0.0,
            inward: DVec3::ZERO,
            inward_size: 0.0,
            diagonal: (high - low).length(),
        };
        made.volume = faces().map(|face| made.rise(points, face)).sum();
        for face in faces() {
            if made.rise(points, face) * made.volume < 0.0 {
                made.inward += area(points, face);
                made.inward_size += area(points, face).length();
            }
        }
        made
    }

    // Distance of a face from the middle along its area vector.
    fn rise(&self, points: &[DVec3], face: [u32; 3]) -> f64 {
        (middle_of(points, face) - self.middle).dot(area(points, face))
    }

    // Returns true for a plate bent around an inside.
    fn is_vessel(&self) -> bool {
        let thickness = 2.0 / 3.0 * self.volume.abs() / self.size;
        thickness < THIN * self.diagonal
            && self.inward_size > INWARD * self.size
            && self.inward.length() < LEVEL * self.inward_size
    }
}

fn middle_of(points: &[DVec3], face: [u32; 3]) -> DVec3 {
    face.map(|corner| points[corner as usize]).iter().sum::<DVec3>() / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    // A grid of n x n squares of two triangles, with every second triangle flipped, at these heights.
    fn ground(n: u32, height: impl Fn(f64, f64) -> f64) -> Mesh {
        let corners = (0..=n).flat_map(|y| (0..=n).map(move |x| (f64::from(x), f64::from(y))));
        let points = corners.map(|(x, y)| DVec3::new(x, y, height(x, y))).collect();
        let at = |x: u32, y: u32| y * (n + 1) + x;
        let squares = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
        let faces = squares
            .flat_map(|(x, y)| {
                [[at(x, y), at(x + 1, y), at(x + 1, y + 1)], [at(x, y), at(x + 1, y + 1), at(x, y + 1)]]
            })
            .enumerate()
            .map(|(k, [a, b, c])| if k % 2 == 0 { [a, b, c] } else { [a, c, b] })
            .collect();
        Mesh::new(points, faces).unwrap()
    }

    // A cube of side 2 around the origin, with randomly flipped faces.
    fn cube(lid: bool) -> Mesh {
        let points = (0..8)
            .map(|k| DVec3::from_array(std::array::from_fn(|a| if k >> a & 1 == 0 { -1.0 } else { 1.0 })))
            .collect();
        let mut faces = vec![];
        for (index, [a, b, c, d]) in
            [[0, 1, 3, 2], [0, 1, 5, 4], [0, 4, 6, 2], [1, 5, 7, 3], [2, 3, 7, 6], [4, 5, 7, 6]]
                .into_iter()
                .take(if lid { 6 } else { 5 })
                .enumerate()
        {
            let first = if index % 2 == 0 { [a, b, c] } else { [a, c, b] };
            faces.extend([first, [a, c, d]]);
        }
        Mesh::new(points, faces).unwrap()
    }

    #[test]
    fn ground_is_a_sheet_with_its_rim() {
        let shell = of_mesh(&ground(20, |x, y| 0.5 * (x * 0.9).sin() * (y * 0.7).cos()));
        assert_eq!((shell.sheets.len(), shell.hollow.len(), shell.lines.len()), (800, 0, 80));
        assert!(!shell.is_closed);
    }

    #[test]
    fn a_cube_faces_outward_and_has_twelve_edges_whatever_the_order_of_its_corners() {
        for lid in [true, false] {
            let shell = of_mesh(&cube(lid));
            assert_eq!((shell.is_closed, shell.sheets.len(), shell.lines.len()), (lid, 0, 12));
            for &face in &shell.hollow {
                let middle: DVec3 = face.map(|corner| shell.points[corner as usize]).iter().sum();
                assert!(area(&shell.points, face).dot(middle) > 0.0, "{face:?}");
            }
        }
    }

    // The surface of revolution of a closed outline (radii and heights) about z.
    fn turned(outline: &[[f64; 2]]) -> Mesh {
        let (n, rows) = (24, outline.len() as u32);
        let points = outline
            .iter()
            .flat_map(|&[r, z]| {
                (0..n).map(move |k| {
                    let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
                    DVec3::new(r * cos, r * sin, z)
                })
            })
            .collect();
        let at = |row: u32, k: u32| row % rows * n + k % n;
        let squares = (0..rows).flat_map(|row| (0..n).map(move |k| (row, k)));
        let faces = squares.flat_map(|(row, k)| {
            let [a, b, c, d] = [at(row, k), at(row, k + 1), at(row + 1, k), at(row + 1, k + 1)];
            [[a, b, d], [a, d, c]]
        });
        Mesh::new(points, faces.collect()).unwrap()
    }

    #[test]
    fn both_skins_of_a_vessel_have_their_outside_outside() {
        let funnel =
            of_mesh(&turned(&[[1.0, 0.0], [1.0, 2.0], [5.0, 7.0], [5.3, 7.0], [1.3, 2.0], [1.3, 0.0]]));
        assert!(!funnel.is_closed && funnel.sheets.is_empty());
        let steep = |face: &&[u32; 3]| area(&funnel.points, **face).normalize().z.abs() < 0.9;
        for &face in funnel.hollow.iter().filter(steep) {
            let out = middle_of(&funnel.points, face).with_z(0.0);
            assert!(area(&funnel.points, face).dot(out) > 0.0, "{face:?}");
        }
        // A thick ring is a body, and so is a flat plate.
        for outline in [
            [[2.0, 0.0], [2.0, 2.0], [5.0, 2.0], [5.0, 0.0]],
            [[0.1, 0.0], [0.1, 0.1], [5.0, 0.1], [5.0, 0.0]],
        ] {
            assert!(of_mesh(&turned(&outline)).is_closed);
        }
    }
}
