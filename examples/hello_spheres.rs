//! Three spheres in a row: the first is shot at the second, which strikes the third.
//!
//! `cargo run --release --example hello_spheres`

use carom::{Options, Simulation, Sphere, System};
use glam::DVec3;

fn main() -> Result<(), carom::Error> {
    let mut system = System { dt: 0.1, ..System::default() };
    for (id, x, speed) in [(0, 0.0, 2.0), (1, 2.0, 0.0), (2, 4.0, 0.0)] {
        system.spheres.push(Sphere {
            id,
            position: DVec3::new(x, 0.0, 0.0),
            velocity: DVec3::new(speed, 0.0, 0.0),
            ..Sphere::default()
        });
    }
    // Diameter 1, gaps 1: contacts at t = 0.5 and t = 1.
    let options = Options { record_impacts: true, ..Options::default() };
    let mut simulation = Simulation::new(system, options)?;
    let mut times = vec![];
    while simulation.time() < 1.5 {
        simulation.step()?;
        for impact in simulation.impacts() {
            println!("t = {:.6}: sphere {} and {:?}", impact.time, impact.sphere, impact.partner);
            times.push(impact.time);
        }
    }

    assert_eq!(times.len(), 2);
    assert!((times[0] - 0.5).abs() < 1e-6 && (times[1] - 1.0).abs() < 1e-6);
    // Equal masses, elastic, head-on: the speed is passed on.
    for (sphere, speed) in simulation.spheres().iter().zip([0.0, 0.0, 2.0]) {
        println!("sphere {}: x = {:.6}, v = {:.6}", sphere.id, sphere.position.x, sphere.velocity.x);
        assert!((sphere.velocity.x - speed).abs() < 1e-6);
    }
    Ok(())
}
