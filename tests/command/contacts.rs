//! `--contacts`: the contacts at the end of a run.

use crate::harness::Place;

/// A column of three spheres of mass 2 on a floor, far from the origin, and a fourth sphere that is still falling.
const COLUMN: &str = r#"
[world]
gravity = [0, 0, -10]
dt = 0.01
steps = 100
[materials.default]
restitution = 0.5
friction = 0.5
[[walls]]
plane = { point = [0, 0, 0], normal = [0, 0, 1] }
[[spheres]]
at = [
    { id = 7, position = [100, 0, 0.5], mass = 2.0 },
    { id = 3, position = [100, 0, 1.5], mass = 2.0 },
    { id = 9, position = [100, 0, 2.5], mass = 2.0 },
    { id = 1, position = [120, 0, 30], mass = 2.0 },
]
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("column.toml", COLUMN);
    place
}

// The rows of the file, each a list of cells.
fn rows(place: &Place, name: &str) -> Vec<Vec<String>> {
    let text = place.read(name);
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("sphere,partner_sphere,partner_wall,x,y,z,nx,ny,nz,fx,fy,fz,tx,ty,tz,bx,by,bz,gap")
    );
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_column_lists_its_contacts_with_their_forces() {
    let place = place();
    place.carom(&["run", "column.toml", "--backend", "cpu", "--contacts", "c.csv"]).expect(0);
    let rows = rows(&place, "c.csv");
    let ids: Vec<_> = rows.iter().map(|row| (&row[0][..], &row[1][..], &row[2][..])).collect();
    assert_eq!(ids, [("3", "7", ""), ("3", "9", ""), ("7", "", "walls[0]")]);
    let numbers: Vec<Vec<f64>> =
        rows.iter().map(|row| row[3..].iter().map(|cell| cell.parse().unwrap()).collect()).collect();
    // Point, normal, force, torque, branch, gap: sphere 3 lies on 7 and supports 9; sphere 7 lies on the floor.
    for (row, [height, up, force, branch]) in
        numbers.iter().zip([[1.0, 1.0, 40.0, 1.0], [2.0, -1.0, -20.0, -1.0], [0.0, 1.0, 60.0, 0.5]])
    {
        let near = |found: &[f64], expected: [f64; 3], within: f64| {
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off <= within, "{found:?}, not {expected:?}");
        };
        near(&row[0..3], [100.0, 0.0, height], 0.01);
        near(&row[3..6], [0.0, 0.0, up], 1e-6);
        near(&row[6..9], [0.0, 0.0, force], 0.02);
        near(&row[9..12], [0.0; 3], 1e-6);
        near(&row[12..15], [0.0, 0.0, branch], 0.01);
        assert!(row[15].abs() <= 0.005, "gap {}", row[15]);
    }
}

#[test]
fn a_run_without_lasting_contacts_writes_a_header_alone() {
    let place = Place::new();
    place.carom(&["run", "gas.toml", "--contacts", "c.csv"]).expect(0);
    assert_eq!(rows(&place, "c.csv"), Vec::<Vec<String>>::new());
    assert_eq!(place.names("."), ["c.csv", "gas.toml", "pair.toml"]);
}

#[test]
fn a_backend_without_contacts_is_refused_before_the_run_and_writes_nothing() {
    let place = Place::new();
    place
        .carom(&["run", "pair.toml", "--backend", "exact", "--contacts", "c.csv", "--out", "out", "--json"])
        .expect(2)
        .silent()
        .says("exact")
        .says("cpu");
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
}

#[test]
fn a_bad_path_ends_the_command_before_the_run() {
    let place = place();
    let run =
        |path: &str| place.carom(&["run", "column.toml", "--backend", "cpu", "--json", "--contacts", path]);
    run("no/such/c.csv").expect(4).silent().says("c.csv");
    std::fs::create_dir(place.path("d.csv")).unwrap();
    run("d.csv").expect(4).silent().says("directory");
    run("c.txt").expect(2).silent().says(".csv");
    run("").expect(2).silent().says(".csv");
    let both = ["run", "column.toml", "--backend", "cpu", "--contacts", "m.csv", "--metrics", "./m.csv"];
    place.carom(&both).expect(2).silent().says("--metrics");
    let both = ["run", "column.toml", "--backend", "cpu", "--contacts", "out/final.csv", "--out", "./out"];
    place.carom(&both).expect(2).silent().says("--out");
    assert_eq!(place.names("."), ["column.toml", "d.csv", "gas.toml", "pair.toml"]);
}

#[test]
fn a_failed_run_writes_no_contacts_and_says_so() {
    let place = Place::new();
    let far = "[world]\ndt = 0.5\n[[spheres]]\nat = [{ position = [0, 0, 0], velocity = [1e30, 0, 0] }]\n";
    place.write("runaway.toml", far);
    place
        .carom(&["run", "runaway.toml", "--backend", "cpu", "--contacts", "c.csv"])
        .expect(1)
        .says("no contacts");
    assert_eq!(place.names("."), ["gas.toml", "pair.toml", "runaway.toml"]);
}
