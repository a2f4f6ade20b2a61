//! Intact files, which the tests damage.

use carom::{
    Backend, Options, Simulation, System,
    files::{BUILTIN, write_checkpoint, write_spheres},
    scene::{Fill, Lattice, LatticeKind, Scene, Shape},
};
use glam::DVec3;

/// The built-in scenes.
pub fn scenes() -> Vec<Vec<u8>> {
    BUILTIN.iter().map(|scene| scene.text.as_bytes().to_vec()).collect()
}

// Two systems: spheres of one material, and fixed and spinning ones of two.
fn systems() -> [System; 2] {
    let lattice = |count| {
        let lattice = Lattice {
            kind: LatticeKind::Cubic,
            count,
            spacing: 1.2,
            origin: DVec3::splat(0.7),
            diameter: 0.9,
        };
        Fill::from(Shape::Lattice(lattice))
    };
    let box_of = |scene: Scene| scene.bounds([0.0; 3], [6.0; 3]).periodic();
    let plain = box_of(Scene::new(0.1)).fill(lattice([2, 2, 1])).build().unwrap();
    let mut rich =
        box_of(Scene::new(0.1)).material("steel", 0.9, 2.0).fill(lattice([3, 1, 1])).build().unwrap();
    rich.spheres[0].fixed = true;
    rich.spheres[1].spin = DVec3::new(0.1, -2.5e-7, 3.0);
    rich.spheres[2].material = 1;
    [plain, rich]
}

/// Two files that carom writes with this ending.
pub fn written(ending: &str) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("a.{ending}"));
    let write = |system: &System| {
        write_spheres(&path, system, 1.5, &system.spheres).unwrap();
        std::fs::read(&path).unwrap()
    };
    systems().iter().map(write).collect()
}

/// Checkpoints of both kinds of engines.
pub fn checkpoints() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let [system, _] = systems();
    let write = |backend: Backend| {
        let options = Options { backend, ..Options::default() };
        let mut simulation = Simulation::new(system.clone(), options).unwrap();
        write_checkpoint(&path, &simulation.checkpoint().unwrap()).unwrap();
        std::fs::read(&path).unwrap()
    };
    [Backend::Cpu, Backend::Exact].map(write).into()
}

/// A binary PLY that carom writes, and a text with a list.
pub fn ply() -> Vec<Vec<u8>> {
    let text = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
                property float radius\nelement face 1\nproperty list uchar int vertex_index\nend_header\n\
                0 0 0 0.5\n1 2 3 0.25\n3 0 1 0\n";
    [written("ply"), vec![text.as_bytes().to_vec()]].concat()
}

/// A LAMMPS dump that carom writes, and one with scaled positions and diameters.
pub fn dump() -> Vec<Vec<u8>> {
    let text = "ITEM: TIMESTEP\n5\nITEM: NUMBER OF ATOMS\n1\nITEM: BOX BOUNDS pp pp ff\n0 1\n0 1\n0 1\n\
                ITEM: ATOMS id xs ys zs diameter\n1 0.5 0.5 0.5 0.2\n";
    [written("lammpstrj"), vec![text.as_bytes().to_vec()]].concat()
}

/// A LAMMPS data file.
pub fn data() -> Vec<Vec<u8>> {
    let text = "packing\n\n2 atoms\n1 atom types\n0 2 xlo xhi\n0 2 ylo yhi\n0 2 zlo zhi\n\nAtoms # sphere\n\n\
                1 1 0.5 2.5 0.25 0 1.5\n2 1 0.5 2.5 0.75 0 1.5\n\nVelocities\n\n1 0 0 1 0 0 0\n2 0 0 1 0 0 0\n";
    vec![text.as_bytes().to_vec()]
}

// A tetrahedron.
const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.5]];
const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

/// A binary and a text file.
pub fn stl() -> Vec<Vec<u8>> {
    let mut binary = vec![b' '; 80];
    binary.extend((FACES.len() as u32).to_le_bytes());
    let mut text = "solid a\n".to_owned();
    for face in FACES {
        binary.extend([0; 12]);
        text += "facet normal 0 0 0\nouter loop\n";
        for corner in face.map(|k| CORNERS[k]) {
            corner.iter().for_each(|x| binary.extend(x.to_le_bytes()));
            text += &format!("vertex {:e} {:e} {:e}\n", corner[0], corner[1], corner[2]);
        }
        binary.extend([0; 2]);
        text += "endloop\nendfacet\n";
    }
    text += "endsolid a\n";
    vec![binary, text.into_bytes()]
}

/// Files with corners alone, and with texture, normals, groups and negative indices.
pub fn obj() -> Vec<Vec<u8>> {
    let corners: String = CORNERS.iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    let faces: String = FACES.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1)).collect();
    let rich = format!(
        "# a\no one\n{corners}vt 0 0\nvn 0 0 1\ng part\nusemtl none\nf 1/1/1 2/1/1 3/1/1\nf -4//1 -3//1 -1//1\n"
    );
    vec![format!("{corners}{faces}").into_bytes(), rich.into_bytes()]
}
