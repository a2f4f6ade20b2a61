//! Sources and sinks of a scene file.

use std::path::Path;

use carom::{
    Sink,
    files::parse_scene,
    scene::{Fill, Scene, Source},
};
use glam::DVec3;

const TEXT: &str = "
[world]
dt = 0.01
seed = 5
drag = 0.1
gravity = [0, 0, -9.81]
[bounds]
max = [10, 10, 20]
x = \"wall\"
y = \"wall\"
[materials.sand]
restitution = 0.4
density = 2.0
[[spheres]]
at = [{ position = [5, 5, 1] }]
[[spheres]]
source = { min = [0, 0, 15], max = [10, 10, 18], rate = 1000, diameters = [[1.0, 0.5], [0.5, 0.5]], count = 5000, from = 0.5, until = 2.0, spread = 0.25, name = \"spout\" }
velocity = [0, 0, -2]
material = \"sand\"
[[spheres]]
source = { min = [0, 0, 18], max = [10, 10, 20], rate = 2, diameter = 0.5 }
[[sinks]]
min = [-inf, -inf, -3]
max = [inf, inf, -1]
name = \"below\"
every = 3
[[sinks]]
min = [0, 0, 0]
max = [1, 1, 1]
";

#[test]
fn a_scene_file_equals_the_same_scene_in_code() {
    let read =
        parse_scene(TEXT, "test.toml", Some(Path::new("/nowhere")), &[]).unwrap_or_else(|e| panic!("{e}"));
    let inf = f64::INFINITY;
    let spout = Source {
        name: Some("spout".into()),
        ..Source::new([0.0, 0.0, 15.0], [10.0, 10.0, 18.0], 1000.0)
            .diameters([(1.0, 0.5), (0.5, 0.5)])
            .count(5000)
            .during(0.5, 2.0)
            .spread(0.25)
    };
    let below = Sink::new(DVec3::new(-inf, -inf, -3.0), DVec3::new(inf, inf, -1.0), "below");
    let written = Scene::new(0.01)
        .seed(5)
        .drag(0.1)
        .gravity([0.0, 0.0, -9.81])
        .bounds([0.0; 3], [10.0, 10.0, 20.0])
        .sides([carom::Side::Wall, carom::Side::Wall, carom::Side::Open])
        .material("sand", 0.4, 2.0)
        .fill(carom::scene::Placed { position: DVec3::new(5.0, 5.0, 1.0), ..Default::default() })
        .fill(Fill::from(spout).velocity([0.0, 0.0, -2.0]).material("sand"))
        .fill(Source::new([0.0, 0.0, 18.0], [10.0, 10.0, 20.0], 2.0).diameter(0.5))
        .sink(Sink { every: 3, ..below })
        .sink(Sink::new(DVec3::ZERO, DVec3::ONE, "sinks[1]"));
    let (read, written) = (read.build().unwrap(), written.build().unwrap());
    assert_eq!(read, written);
    assert_eq!((read.seed, read.drag, read.sources.len(), read.spheres.len()), (5, 0.1, 2, 1));
    assert_eq!((read.sources[0].name.as_str(), read.sources[1].name.as_str()), ("spout", "spheres[2]"));
    assert_eq!((read.sources[0].material, read.sources[0].velocity), (1, DVec3::NEG_Z * 2.0));
    assert_eq!((read.sources[0].from, read.sources[0].until), (0.5, 2.0));
}

#[test]
fn settings_reach_into_sources() {
    let settings = ["spheres.1.source.rate=7".to_owned(), "sinks.0.every=9".to_owned()];
    let scene = parse_scene(TEXT, "test.toml", Some(Path::new("/nowhere")), &settings).unwrap();
    let system = scene.build().unwrap();
    assert_eq!((system.sources[0].rate, system.sinks[0].every), (7.0, 9));
}
