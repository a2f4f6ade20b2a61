//! A Galton board sorts marbles by the binomial distribution.

use carom::{Backend, Options, Simulation, Sink, Source, Sphere, Surface, System, files::builtin};
use glam::DVec3;

const ROWS: f64 = 12.0;
const BINS: usize = 13;
/// Distance between bins.
const SPACING: f64 = 2.56;

// The scene with this number of marbles.
fn board(marbles: u32) -> System {
    let settings = [format!("spheres.0.source.count={marbles}")];
    builtin("galton").unwrap().load(&settings).unwrap().build().unwrap()
}

fn left_of(bin: usize) -> f64 {
    (bin as f64 - 0.5 * BINS as f64) * SPACING
}

/// Marbles in the bins, from left to right, summed over boards side by side; sinks keep the bins from filling up.
fn sort(backend: Backend, boards: u32, each: u32, dt: f64) -> [u64; BINS] {
    const APART: f64 = 40.0;
    let mut one = board(each);
    // Friction matters only in the bins, and `exact` does not model it.
    let marble = *one.materials.surface(0, 0);
    one.materials.set_surface(0, 0, Surface { friction: 0.0, ..marble });
    let mut system = System { spheres: vec![], sources: vec![], dt, ..one.clone() };
    system.bounds.max.x += APART * f64::from(boards);
    for board in 0..boards {
        let shift = DVec3::X * APART * f64::from(board);
        // Without the posts, which have no function while the bins stay empty.
        for pin in one.spheres.iter().filter(|sphere| sphere.position.y > 45.5) {
            let id = system.spheres.len() as u32;
            system.spheres.push(Sphere { id, position: pin.position + shift, ..*pin });
        }
        for source in &one.sources {
            let (min, max) = (source.min + shift, source.max + shift);
            system.sources.push(Source { min, max, ..source.clone() });
        }
        for bin in 0..BINS {
            let min = shift + DVec3::X * left_of(bin);
            let max = shift + DVec3::new(left_of(bin + 1), 43.0, 0.0);
            system.sinks.push(Sink::new(min, max, &format!("board {board}, bin {bin}")));
        }
    }
    let marbles = u64::from(boards * each);
    let mut simulation = Simulation::new(system, Options { backend, ..Options::default() }).unwrap();
    let most = f64::from(each) / one.sources[0].rate + 400.0;
    while simulation.summary().removed < marbles {
        simulation.step().unwrap();
        assert!(simulation.time() < most, "marbles are stuck: {:?}", simulation.sink_counts());
    }
    let mut counts = [0; BINS];
    for (place, count) in simulation.sink_counts().iter().enumerate() {
        counts[place % BINS] += count.removed;
    }
    let s = simulation.summary();
    println!("{} pins, time {}, {} substeps, {:.1} s", 102 * boards, s.time, s.substeps, s.wall_seconds);
    counts
}

/// Fails unless mean and variance agree with the binomial distribution within three standard errors.
fn judge(counts: &[u64; BINS]) {
    let total = counts.iter().sum::<u64>() as f64;
    let moment = |center: f64, power: i32| {
        let sum = |(bin, &count): (usize, &u64)| count as f64 * (bin as f64 - center).powi(power);
        counts.iter().enumerate().map(sum).sum::<f64>() / total
    };
    let mean = moment(0.0, 1);
    let variance = moment(mean, 2) * total / (total - 1.0);
    let (p, expected) = (0.5, 0.25 * ROWS);
    let error_of_mean = (expected / total).sqrt();
    // The fourth central moment of the distribution is 3 v^2 + v (1 - 6 p (1 - p)).
    let fourth = 3.0 * expected * expected + expected * (1.0 - 6.0 * p * (1.0 - p));
    let error_of_variance = ((fourth - expected * expected) / total).sqrt();
    println!(
        "{total} marbles: mean {mean:.3}, off by {:+.2} standard errors; variance {variance:.3}, off by {:+.2}; {counts:?}",
        (mean - p * ROWS) / error_of_mean,
        (variance - expected) / error_of_variance,
    );
    assert!((mean - p * ROWS).abs() < 3.0 * error_of_mean, "mean {mean}");
    assert!((variance - expected).abs() < 3.0 * error_of_variance, "variance {variance}");
}

#[test]
fn a_galton_board_sorts_marbles_as_coins_fall() {
    judge(&sort(Backend::Exact, 1, 400, 0.25));
}

tier!(long "5 s": a_galton_board_sorts_thousands_of_marbles_as_coins_fall);
fn a_galton_board_sorts_thousands_of_marbles_as_coins_fall() {
    judge(&sort(Backend::Exact, 1, 3000, 0.25));
}

tier!(long "about a minute": thirty_galton_boards_sort_marbles_as_coins_fall);
fn thirty_galton_boards_sort_marbles_as_coins_fall() {
    judge(&sort(Backend::Cpu, 30, 12, 0.05));
}

// The scene unchanged, with bins that fill up.
tier!(long "more than 4 min": the_bins_of_the_galton_board_fill_as_coins_fall);
fn the_bins_of_the_galton_board_fill_as_coins_fall() {
    let system = board(300);
    let mut simulation = Simulation::new(system, Options::default()).unwrap();
    let steps = builtin("galton").unwrap().load(&[]).unwrap().world.steps;
    simulation.run(steps, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let mut counts = [0; BINS];
    for sphere in simulation.spheres().iter().filter(|sphere| !sphere.fixed) {
        assert!(sphere.position.y < 46.0, "a marble is still on the board: {sphere:?}");
        assert!(sphere.velocity.length() < 1e-3, "a marble still moves: {sphere:?}");
        counts[((sphere.position.x - left_of(0)) / SPACING) as usize] += 1;
    }
    judge(&counts);
}
