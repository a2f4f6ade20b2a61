//! Duration of a picture; needs an otherwise idle machine.

use std::time::Instant;

use carom::files::builtin;
use carom::render::{Camera, RenderWorld, Spheres, Studio, Style};
use carom::scene::Shape;

use super::tools::open;

const FRAMES: usize = 40;

tier!(campaign "about 5 s": a_picture_of_twenty_thousand_spheres_takes_less_than_150_ms);
fn a_picture_of_twenty_thousand_spheres_takes_less_than_150_ms() {
    let context = open();
    let mut scene = builtin("gas").unwrap().load(&[]).unwrap();
    let Shape::Random(random) = &mut scene.fills[0].shape else { unreachable!("the gas is a random fill") };
    random.count = Some(20_000);
    let system = scene.build().unwrap();
    let spheres = Spheres::upload(&context, &system.spheres, &system, None);
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    let mut studio = Studio::new(&context, [640, 480]).unwrap();
    let mut times: Vec<f64> = (0..FRAMES)
        .map(|_| {
            let start = Instant::now();
            studio.picture(&spheres, &render_world, &camera, &Style::default()).unwrap();
            1e3 * start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let median = times[FRAMES / 2];
    println!(
        "{}: best {:.0} ms, median {median:.0} ms, worst {:.0} ms",
        context.info(),
        times[0],
        times[FRAMES - 1]
    );
    assert!(median < 150.0, "median of {FRAMES} pictures: {median:.0} ms");
}
