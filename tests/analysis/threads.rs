//! Results do not depend on the number of threads.

use carom::Dimensions::Three;
use carom::analysis::{
    Snapshot, coordination, mean_square_displacement, packing_fraction, packing_profile, radial_distribution,
};
use glam::DVec3;

use crate::support::{domain, normal, points, rng, uniform};

#[test]
fn results_are_bit_identical_for_any_number_of_threads() {
    let domain = domain([30.0, 29.0, 31.0], [true, false, true], Three);
    let mut rng = rng(4);
    let positions = points(&mut rng, 30_000, &domain);
    let radii: Vec<f64> = positions.iter().map(|_| 0.1 + 0.4 * uniform(&mut rng)).collect();
    let moved: Vec<DVec3> = positions.iter().map(|p| *p + normal(&mut rng, Three)).collect();
    let state = |time, positions: &[DVec3]| Snapshot {
        time,
        ids: (0..30_000).collect(),
        positions: positions.to_vec(),
    };
    let states = [state(0.0, &positions), state(1.0, &moved)];
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (
                radial_distribution(&positions, &domain, 100, 3.0).unwrap(),
                packing_fraction(&positions, &radii, &domain).unwrap().to_bits(),
                packing_profile(&positions, &radii, &domain, 1, 20)
                    .unwrap()
                    .iter()
                    .map(|x| x.to_bits())
                    .collect::<Vec<_>>(),
                coordination(&positions, &radii, &domain, 1e-3, 4).unwrap(),
                mean_square_displacement(&states, &[domain]).unwrap(),
            )
        })
    };
    let one = run(1);
    for threads in [2, 3, 7] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
