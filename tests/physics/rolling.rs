//! One sphere on a plane slides, rolls, spins and stops as the closed forms predict.

use carom::{Backend, Materials, Plane, Simulation, Sphere, Surface, System};
use glam::DVec3;

use crate::support::{simulate, simulate_silently};

on_each_engine!(
    a_sliding_ball_comes_to_roll_at_five_sevenths_of_its_speed (gpu: long "a minute or two"),
    backspin_brings_a_ball_back,
    a_ball_on_an_incline_rolls_or_slides_as_friction_lets_it (gpu: long "a minute or two"),
    rolling_resistance_stops_a_rolling_ball_where_it_should (gpu: long "a minute or two"),
    twisting_resistance_stops_a_spinning_ball_in_time (gpu: long "a minute or two"),
    a_lossy_ball_comes_to_rest_at_the_closed_form_time (gpu: long "a minute or two"),
    balls_that_lie_on_a_floor_bounce_off_each_other_and_off_walls (gpu: long "a minute or two"),
    a_bullet_does_not_leave_a_box_whose_corner_it_hits (gpu: long "a minute or two"),
);

const GRAVITY: f64 = 9.81;
const RADIUS: f64 = 0.05;

// A sphere that touches the plane z = 0; gravity is tilted by `slope` (radians) towards +x.
fn on_a_plane(surface: Surface, slope: f64, velocity: DVec3, spin: DVec3) -> System {
    let mut system = System {
        dt: 1.0 / 60.0,
        gravity: GRAVITY * DVec3::new(slope.sin(), 0.0, -slope.cos()),
        ..System::default()
    };
    system.materials = Materials::empty();
    system.materials.add("ball", surface, 1000.0);
    system
        .walls
        .push(Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() }.into());
    system.spheres.push(Sphere {
        position: DVec3::new(0.3, -0.2, RADIUS),
        velocity,
        spin,
        radius: RADIUS,
        ..Sphere::default()
    });
    system
}

fn rough(friction: f64) -> Surface {
    Surface { restitution: 0.5, friction, ..Surface::default() }
}

fn run(simulation: &mut Simulation, time: f64) -> Sphere {
    let steps = (time / simulation.system().dt).round() as u64;
    simulation.run(steps, |_| std::ops::ControlFlow::Continue(())).unwrap();
    simulation.spheres()[0]
}

// Asserts that |a - b| is within a share of b.
fn within(a: f64, b: f64, share: f64, what: &str) {
    println!("{what}: {a:.6}, expected {b:.6}: off by {:.2e}", (a - b) / b);
    assert!((a - b).abs() <= share * b.abs(), "{what}: {a}, not {b}");
}

fn ledger_closes(simulation: &Simulation) {
    let summary = simulation.summary();
    assert!(summary.ledger_error <= 1e-5, "ledger off by {:e}", summary.ledger_error);
}

fn a_sliding_ball_comes_to_roll_at_five_sevenths_of_its_speed(backend: Backend) {
    for (speed, friction) in [(1.0, 0.1), (2.0, 0.3), (0.2, 0.8)] {
        let system = on_a_plane(rough(friction), 0.0, DVec3::X * speed, DVec3::ZERO);
        let mut simulation = simulate_silently(&system, backend);
        // The sphere slides for 2 v / (7 mu g).
        let sliding = 2.0 * speed / (7.0 * friction * GRAVITY);
        let ball = run(&mut simulation, 1.5 * sliding + 0.1);
        within(ball.velocity.x, speed * 5.0 / 7.0, 0.01, "speed");
        within(ball.spin.y, ball.velocity.x / RADIUS, 1e-3, "spin");
        assert!(ball.velocity.y.abs() + ball.velocity.z.abs() <= 1e-6, "{ball:?}");
        // Then the sphere rolls without loss.
        let later = run(&mut simulation, 3.0);
        within(later.velocity.x, ball.velocity.x, 1e-4, "speed later");
        assert!((later.position.z - RADIUS).abs() <= 2e-3 * RADIUS, "{later:?}");
        ledger_closes(&simulation);
    }
}

fn backspin_brings_a_ball_back(backend: Backend) {
    // The final rolling speed is (v - 2/5 r w) 5/7: backwards for a large spin.
    let (speed, spin) = (1.0, -100.0);
    let system = on_a_plane(rough(0.3), 0.0, DVec3::X * speed, DVec3::Y * spin);
    let ball = run(&mut simulate_silently(&system, backend), 2.0);
    within(ball.velocity.x, 5.0 / 7.0 * (speed + 0.4 * RADIUS * spin), 0.01, "speed");
}

fn a_ball_on_an_incline_rolls_or_slides_as_friction_lets_it(backend: Backend) {
    for degrees in [5.0f64, 20.0, 40.0] {
        let slope = degrees.to_radians();
        // Rolling needs mu >= 2/7 tan(slope).
        for (friction, acceleration) in [
            (1.0, 5.0 / 7.0 * GRAVITY * slope.sin()),
            (0.3, 5.0 / 7.0 * GRAVITY * slope.sin()),
            (0.02, GRAVITY * (slope.sin() - 0.02 * slope.cos())),
            (0.0, GRAVITY * slope.sin()),
        ] {
            let system = on_a_plane(rough(friction), slope, DVec3::ZERO, DVec3::ZERO);
            let mut simulation = simulate_silently(&system, backend);
            let ball = run(&mut simulation, 1.0);
            within(ball.velocity.x, acceleration, 0.01, &format!("{degrees} degrees, mu {friction}: speed"));
            within(ball.position.x - 0.3, 0.5 * acceleration, 0.01, "way");
            ledger_closes(&simulation);
        }
    }
}

fn rolling_resistance_stops_a_rolling_ball_where_it_should(backend: Backend) {
    for (speed, resistance) in [(0.5, 0.02), (1.0, 0.1)] {
        let surface = Surface { rolling_friction: resistance, ..rough(0.6) };
        let spin = DVec3::Y * (speed / RADIUS);
        let system = on_a_plane(surface, 0.0, DVec3::X * speed, spin);
        let mut simulation = simulate_silently(&system, backend);
        let stop = 0.7 * speed * speed / (resistance * GRAVITY);
        let ball = run(&mut simulation, 4.0 * stop / speed);
        within(ball.position.x - 0.3, stop, 0.01, "way");
        assert!(ball.velocity.length() <= 1e-5 * speed, "{ball:?}");
        ledger_closes(&simulation);
    }
    // On a slope less steep than the rolling resistance the sphere stays in place.
    let surface = Surface { rolling_friction: 0.2, ..rough(0.6) };
    let system = on_a_plane(surface, 0.15, DVec3::ZERO, DVec3::ZERO);
    let ball = run(&mut simulate_silently(&system, backend), 5.0);
    assert!((ball.position.x - 0.3).abs() <= 1e-4 * RADIUS, "{ball:?}");
}

fn twisting_resistance_stops_a_spinning_ball_in_time(backend: Backend) {
    let (spin, resistance) = (20.0, 0.05);
    let surface = Surface { twisting_friction: resistance, ..rough(0.6) };
    let time = spin * RADIUS / (2.5 * resistance * GRAVITY);
    let spun = |share: f64| {
        let system = on_a_plane(surface, 0.0, DVec3::ZERO, DVec3::Z * spin);
        // The same number of steps for every duration.
        let system = System { dt: time / 60.0, ..system };
        run(&mut simulate_silently(&system, backend), share * time)
    };
    within(spun(0.5).spin.z, 0.5 * spin, 0.01, "spin at half the time");
    assert!(spun(1.05).spin.z.abs() <= 1e-6 * spin);
    // Without resistance the sphere spins permanently.
    let system = on_a_plane(rough(0.6), 0.0, DVec3::ZERO, DVec3::Z * spin);
    within(run(&mut simulate_silently(&system, backend), 5.0).spin.z, spin, 1e-6, "spin");
}

fn a_lossy_ball_comes_to_rest_at_the_closed_form_time(backend: Backend) {
    // Bounces slower than the resting threshold are omitted, which is a larger share of a short fall.
    for (restitution, height, share) in [(0.5, 1.0, 0.01), (0.3, 0.5, 0.02), (0.7, 1.0, 0.01)] {
        let surface = Surface { restitution, ..Surface::default() };
        let mut system = on_a_plane(surface, 0.0, DVec3::ZERO, DVec3::ZERO);
        system.spheres[0].position.z = RADIUS + height;
        let mut simulation = simulate(&system, backend);
        let fall = (2.0 * height / GRAVITY).sqrt();
        let expected = fall * (1.0 + restitution) / (1.0 - restitution);
        // Time of the last impact, after which the sphere is at rest.
        let mut stopped = 0.0;
        for _ in 0..(1.5 * expected * 60.0) as u32 {
            simulation.step().unwrap();
            stopped = simulation.impacts().last().map_or(stopped, |impact| impact.time);
        }
        within(stopped, expected, share, &format!("e {restitution}: time of the last impact"));
        let ball = simulation.spheres()[0];
        assert!(
            ball.velocity.length() <= 1e-6 && (ball.position.z - RADIUS).abs() <= 2e-3 * RADIUS,
            "{ball:?}"
        );
        ledger_closes(&simulation);
    }
}

fn balls_that_lie_on_a_floor_bounce_off_each_other_and_off_walls(backend: Backend) {
    for speed in [0.05, 0.3, 2.0] {
        let surface = Surface { restitution: 0.9, ..Surface::default() };
        let mut system = on_a_plane(surface, 0.0, DVec3::X * speed, DVec3::ZERO);
        let first = system.spheres[0];
        system.spheres.push(Sphere {
            id: 1,
            position: first.position + 0.5 * DVec3::X,
            velocity: -DVec3::X * speed,
            ..first
        });
        let mut simulation = simulate_silently(&system, backend);
        run(&mut simulation, 0.4 / speed);
        let [a, b] = simulation.spheres()[..] else { unreachable!("two balls") };
        within(a.velocity.x, -0.9 * speed, 1e-3, "speed after");
        within(b.velocity.x, 0.9 * speed, 1e-3, "speed after");

        let mut system = on_a_plane(surface, 0.0, DVec3::X * speed, DVec3::ZERO);
        let wall = DVec3::X * 0.6;
        system
            .walls
            .push(Plane { point: wall, normal: -DVec3::X, material: 0, name: "cushion".into() }.into());
        let ball = run(&mut simulate_silently(&system, backend), 0.5 / speed);
        within(ball.velocity.x, -0.9 * speed, 1e-3, "speed off the wall");
    }
}

fn a_bullet_does_not_leave_a_box_whose_corner_it_hits(backend: Backend) {
    let surface = Surface { restitution: 0.9, ..Surface::default() };
    let mut system = on_a_plane(surface, 0.0, DVec3::new(200.0, 170.0, -150.0), DVec3::ZERO);
    let elastic = system.materials.add("steel", Surface::default(), 1000.0);
    for (k, normal) in [DVec3::X, DVec3::Y, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z].into_iter().enumerate()
    {
        let material = if k % 2 == 0 { elastic } else { 0 };
        system.walls.push(Plane { point: -normal, normal, material, name: format!("side {k}") }.into());
    }
    system.spheres[0].material = elastic;
    let mut simulation = simulate_silently(&system, backend);
    for step in 0..600 {
        simulation.step().unwrap();
        let ball = simulation.spheres()[0];
        let inside =
            ball.position.abs().max_element() <= 1.0 - RADIUS + 1e-4 && ball.position.z >= RADIUS - 1e-4;
        assert!(inside, "step {step}: {ball:?}");
    }
    let summary = simulation.summary();
    assert!(summary.wall_impacts > 100, "{}", summary.wall_impacts);
    // The rest of the ball needs 10 substeps a step, its speed none.
    assert!(summary.substeps < 20 * 600, "{} substeps", summary.substeps);
}
