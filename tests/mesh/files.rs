//! Mesh files: valid ones, and messages for invalid ones.

use std::fs;

use carom::{Error, Mesh, files::read_mesh};
use glam::DVec3;
use tempfile::TempDir;

use crate::shapes::{binary_stl, cube, facets, mesh, obj, text_stl};

/// A folder for temporary files.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn read(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<Mesh, Error> {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        read_mesh(&path)
    }

    fn refusal(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let text = self.read(name, bytes).expect_err("should be refused").to_string();
        assert!(text.contains(name), "{text} does not name {name}");
        text
    }
}

/// The cube with its vertices in the order in which its triangles use them.
fn loose_cube() -> Mesh {
    mesh(crate::shapes::soup(&cube()))
}

#[test]
fn a_cube_comes_back_from_every_kind_of_file() {
    let place = Place::new();
    assert_eq!(place.read("cube.stl", binary_stl(&cube(), "a cube")).unwrap(), loose_cube());
    assert_eq!(place.read("cube.stl", text_stl(&cube())).unwrap(), loose_cube());
    let read = place.read("cube.obj", obj(&cube())).unwrap();
    assert_eq!((read.vertices().len(), read.triangles().len(), read.warnings()), (8, 12, vec![]));
    let corners = |mesh: &Mesh| mesh.facets().map(|facet| facet.corners).collect::<Vec<_>>();
    assert_eq!(corners(&read), corners(&loose_cube()));
}

#[test]
fn the_ending_may_be_in_capitals() {
    let place = Place::new();
    assert!(place.read("CUBE.STL", text_stl(&cube())).is_ok());
    assert!(place.read("Cube.Obj", obj(&cube())).is_ok());
    assert!(place.refusal("cube.ply", obj(&cube())).contains("meshes are read from .stl and .obj files"));
}

#[test]
fn a_binary_file_may_start_like_text() {
    let place = Place::new();
    let bytes = binary_stl(&cube(), "solid cube by some program\nwith a line");
    assert_eq!(place.read("cube.stl", bytes).unwrap(), loose_cube());
}

#[test]
fn text_may_have_no_name_capitals_several_solids_and_normals_that_are_no_numbers() {
    let place = Place::new();
    let whole = text_stl(&cube());
    let (vertices, mut triangles) = cube();
    let second = triangles.split_off(5);
    let [first, second] = [triangles, second].map(|part| facets(&(vertices.clone(), part)));
    for text in [
        format!("solid\n{}endsolid\n", facets(&cube())),
        whole.to_uppercase(),
        whole.replace('\n', "\r\n"),
        whole.replace("normal 0 0 1", "normal nan nan nan"),
        whole.replace("endfacet", "endfacet\n\n"),
        format!("\u{feff}{whole}"),
        format!("solid a\n{first}endsolid a\nsolid b\n{second}endsolid b"),
    ] {
        assert_eq!(place.read("cube.stl", &text).unwrap(), loose_cube(), "{text}");
    }
    let latin = [b"solid W\xfcrfel\n".as_slice(), facets(&cube()).as_bytes(), b"endsolid W\xfcrfel"].concat();
    assert_eq!(place.read("cube.stl", latin).unwrap(), loose_cube());
}

#[test]
fn an_obj_may_have_polygons_groups_materials_and_much_else() {
    let text = "\
# a house without a floor
mtllib nowhere.mtl
o house
v -1 -1 0 0.5 0.5 0.5
v 1 -1 0 0.5 0.5 0.5
v 1 1 0 1.0
v -1 1 0
vt 0 0
vn 0 0 1
v 0 -1 2
v 0 1 2
g front
usemtl brick
s off
f 1/1/1 2//1 5/99/-1
g back
f 3 4 \\
  6
l 1 2 3
p 1
usemtl slate
f -5 -4 -1 -2   # the roof to the right, and in relative numbers
f 4 1 5 6
f 4 3 2 1
curv 0 1 2
";
    let mesh = Place::new().read("house.obj", text).unwrap();
    assert_eq!((mesh.vertices().len(), mesh.triangles().len()), (6, 8));
    assert_eq!(mesh.warnings(), []);
    let pentagon = "v 0 0 0\nv 2 0 0\nv 3 1 0\nv 1 3 0\nv 0 2 0\nf 1 2 3 4 5\n";
    let mesh = Place::new().read("five.obj", pentagon).unwrap();
    assert_eq!(mesh.triangles(), [[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
    assert_eq!(mesh.bounds(), [DVec3::ZERO, DVec3::new(3.0, 3.0, 0.0)]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let text = read_mesh("nowhere/cube.stl".as_ref()).unwrap_err().to_string();
    assert!(text.starts_with("cannot read the mesh nowhere/cube.stl: "), "{text}");
}

#[test]
fn malformed_binary_files_are_refused() {
    let place = Place::new();
    let good = binary_stl(&cube(), "a cube");
    let refused = |bytes: &[u8], expected: &str| {
        let text = place.refusal("bad.stl", bytes);
        assert!(text.ends_with(expected), "{text}\n{expected}");
    };
    refused(&[], "bad.stl: the file is empty; expected an STL");
    refused(&good[..50], "50 bytes are too few for an STL; it has at least 84");
    let cut = "its header tells of 12 triangles, which make 684 bytes, and the file has 683; it is cut off or no STL";
    refused(&good[..683], cut);
    let mut huge = good.clone();
    huge[80..84].fill(0xff);
    refused(
        &huge,
        "4294967295 triangles, which make 214748364834 bytes, and the file has 684; it is cut off or no STL",
    );
    let mut none = good.clone();
    none.truncate(84);
    none[80..84].fill(0);
    refused(&none, "the mesh has no triangles; it needs at least one");
    let mut nan = good.clone();
    nan[84 + 50 + 12 + 4..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
    refused(&nan, "vertex 3 is at (0, NaN, 0); every coordinate is a finite number");
    let solid = binary_stl(&cube(), "solid");
    assert!(place.read("bad.stl", &solid[..600]).is_err());
}

#[test]
fn malformed_texts_are_refused() {
    let place = Place::new();
    let good = text_stl(&cube());
    let refused = |text: &str, expected: &str| {
        let said = place.refusal("bad.stl", text);
        assert!(said.contains(expected), "{said}\n{expected}");
    };
    refused("solid cube\nendsolid cube\n", "the mesh has no triangles");
    refused("solid cube\n", "the text ends without endsolid; it is cut off");
    refused(&good[..good.len() / 2], "the text ends without endsolid; it is cut off");
    refused(&good.replacen("vertex 1e0", "vertex one", 1), "triangle 0, counted from 0: ");
    refused(&good.replacen("vertex 1e0", "vertex nan", 1), "expected finite f32, got NaN");
    refused(&good.replacen("vertex 1e0", "vertex 1e999", 1), "expected finite f32, got inf");
    refused(&good.replacen("endloop", "endlop", 1), "triangle 0, counted from 0: ");
    refused(&good.replacen("outer loop\n", "", 1), "triangle 0, counted from 0: ");
    refused("solid state is what this file is not about\nit is a letter\nendsolid\n", "triangle 0");
    refused(&format!("solid\n{}\nendsolid", "x ".repeat(100_000)), "...");
    refused(&"What is this? ".repeat(20), "it is cut off or no STL");
}

#[test]
fn malformed_objs_are_refused() {
    let place = Place::new();
    let good = obj(&cube());
    let refused = |text: &str, expected: &str| {
        let said = place.refusal("bad.obj", text);
        assert!(said.contains(expected), "{said}\n{expected}");
    };
    refused("", "it has no faces; expected lines such as f 1 2 3");
    refused("Dear reader,\nthis is a letter.\n", "it has no faces");
    refused("v 0 0 0\nv 1 0 0\n", "it has no faces");
    refused(&good.replacen("v 1 0 0", "v 1 0", 1), "line 2: position parse error, in \"v 1 0\"");
    refused(&good.replacen("v 1 0 0", "v 1 zero 0", 1), "line 2: position parse error, in \"v 1 zero 0\"");
    refused(&good.replacen("v 1 0 0", "v 1 nan 0", 1), "is at (1, NaN, 0)");
    refused(&good.replacen("v 1 0 0", "v 1 1e99 0", 1), "is at (1, inf, 0)");
    refused(&good.replacen("f 1 3 4", "f 1 3 x", 1), "line 9: face parse error, in \"f 1 3 x\"");
    refused(&good.replacen("f 1 3 4", "f 1 3", 1), "line 9: a face has 2 corners; it needs 3");
    let stray = "there are 8, counted from 1, and 8 before this line";
    refused(&good.replacen("f 1 3 4", "f 1 3 9", 1), &format!("line 9: a face names vertex 9; {stray}"));
    refused(&good.replacen("f 1 3 4", "f 1 -9 4", 1), &format!("line 9: a face names vertex -9; {stray}"));
    refused(&good.replacen("f 1 3 4", "f 1 3 0", 1), &format!("line 9: a face names vertex 0; {stray}"));
    refused(&good.replacen("f 1 3 4", "f 1 3 /4", 1), "line 9: a face names vertex 0");
    refused("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "none of 1 triangles has an area");
}
