//! `--events`: every impact of a run.

use std::collections::HashMap;

use crate::harness::Place;

// A dilute gas of spheres of mass 2.
const DILUTE: &str = r#"
[world]
dt = 0.02
steps = 80
seed = 11
[materials.default]
density = 3.8197186
[bounds]
x = "wall"
y = "periodic"
z = "periodic"
[[spheres]]
random = { count = 60, volume_fraction = 0.02, diameter = 1.0 }
temperature = 24.0
"#;

struct Event {
    step: u64,
    time: f64,
    sphere: u32,
    partner: Result<u32, String>,
    normal: [f64; 3],
    impulse: f64,
}

fn events(place: &Place, name: &str) -> Vec<Event> {
    let text = place.read(name);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("step,time,sphere,partner_sphere,partner_wall,x,y,z,nx,ny,nz,impulse"));
    let event = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |k: usize| cells[k].parse::<f64>().unwrap();
        let partner = cells[3].parse().map_err(|_| cells[4].to_owned());
        Event {
            step: cells[0].parse().unwrap(),
            time: number(1),
            sphere: cells[2].parse().unwrap(),
            partner,
            normal: [number(8), number(9), number(10)],
            impulse: number(11),
        }
    };
    lines.map(event).collect()
}

// Velocities by id, from a sphere file.
fn velocities(place: &Place, name: &str) -> HashMap<u32, [f64; 3]> {
    let text = place.read(name);
    let row = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        (cells[0] as u32, [cells[4], cells[5], cells[6]])
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_impulses_of_a_sphere_add_up_to_its_change_of_momentum() {
    for backend in ["cpu", "exact"] {
        let place = Place::new();
        place.write("dilute.toml", DILUTE);
        let run = ["run", "dilute.toml", "--backend", backend, "--json", "--out", "out", "--every", "1"];
        let ran = place.carom(&[&run[..], &["--events", "events.csv"]].concat()).expect(0);
        let list = events(&place, "events.csv");
        assert!(list.len() > 30, "{backend}: {} impacts", list.len());
        assert_eq!(ran.object()["impacts"], list.len());
        assert!(list.windows(2).all(|pair| pair[0].time <= pair[1].time), "{backend}");
        for event in &list {
            let end = 0.02 * event.step as f64;
            assert!((end - 0.02 - 1e-9..=end + 1e-9).contains(&event.time), "{backend}: {}", event.time);
        }
        assert!(list.iter().any(|event| event.partner == Err("x-max".to_owned())), "{backend}");
        // From the end of the first step to the end of the run; the mass is 2.
        let [before, after] =
            ["out/state-00000001.csv", "out/final.csv"].map(|name| velocities(&place, name));
        let mut momenta: HashMap<u32, [f64; 3]> = HashMap::new();
        for event in list.iter().filter(|event| event.step > 1) {
            let mut push = |id: u32, sign: f64| {
                let momentum = momenta.entry(id).or_default();
                (0..3).for_each(|axis| momentum[axis] += sign * event.impulse * event.normal[axis]);
            };
            push(event.sphere, 1.0);
            if let Ok(partner) = event.partner {
                push(partner, -1.0);
            }
        }
        for (id, velocity) in &before {
            let gained = momenta.get(id).copied().unwrap_or_default();
            for axis in 0..3 {
                let change = 2.0 * (after[id][axis] - velocity[axis]);
                assert!(
                    (change - gained[axis]).abs() < 1e-4,
                    "{backend}, sphere {id}: {change} {}",
                    gained[axis]
                );
            }
        }
    }
}

#[test]
fn cpu_and_exact_list_the_same_impacts_of_a_dilute_gas() {
    let place = Place::new();
    place.write("dilute.toml", DILUTE);
    let lists = ["cpu", "exact"].map(|backend| {
        let file = format!("{backend}.csv");
        place
            .carom(&["run", "dilute.toml", "--steps", "40", "--backend", backend, "--events", &file])
            .expect(0);
        events(&place, &file)
    });
    assert!(lists[0].len() > 8, "{} impacts", lists[0].len());
    assert_eq!(lists[0].len(), lists[1].len());
    for (cpu, exact) in lists[0].iter().zip(&lists[1]) {
        assert_eq!((cpu.step, cpu.sphere, &cpu.partner), (exact.step, exact.sphere, &exact.partner));
        assert!((cpu.time - exact.time).abs() < 1e-4, "{} {}", cpu.time, exact.time);
        assert!((cpu.impulse - exact.impulse).abs() < 1e-3, "{} {}", cpu.impulse, exact.impulse);
    }
}

#[test]
fn a_binary_file_has_the_same_impacts() {
    let place = Place::new();
    place.write("dilute.toml", DILUTE);
    for file in ["e.csv", "e.bin"] {
        place.carom(&["run", "dilute.toml", "--backend", "cpu", "--events", file, "--quiet"]).expect(0);
    }
    let list = events(&place, "e.csv");
    let bytes = std::fs::read(place.path("e.bin")).unwrap();
    assert_eq!((&bytes[..8], &bytes[8..16]), (&b"CAROMEV1"[..], &[88, 0, 0, 0, 0, 0, 0, 0][..]));
    let records: Vec<&[u8]> = bytes[16..].chunks(88).collect();
    assert_eq!(records.len(), list.len());
    for (record, event) in records.iter().zip(&list) {
        let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
        let float = |at: usize| f64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        assert_eq!(u64::from(word(0)), event.step);
        assert_eq!((float(8), word(16), float(80)), (event.time, event.sphere, event.impulse));
        match &event.partner {
            Ok(id) => assert_eq!((word(20), word(24)), (0, *id)),
            Err(name) => assert_eq!((word(20), ["x-min", "x-max"][word(24) as usize]), (1, name.as_str())),
        }
        assert_eq!([float(56), float(64), float(72)], event.normal);
    }
}

#[test]
fn an_events_file_is_refused_where_it_collides_or_has_another_ending() {
    let place = Place::new();
    let run = |options: &[&str]| place.carom(&[&["run", "pair.toml", "--backend", "cpu"], options].concat());
    run(&["--events", "e.txt"]).expect(2).silent().says(".csv or .bin");
    run(&["--events", "m.csv", "--metrics", "m.csv"]).expect(2).silent().says("--metrics writes too");
    run(&["--events", "none/e.csv"]).expect(4).silent().says("none/e.csv");
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
}
