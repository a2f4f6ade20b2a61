//! The radial distribution function.

use carom::Dimensions::{Three, Two};
use carom::analysis::{Domain, RadialDistribution, partial_radial_distributions, radial_distribution};
use glam::DVec3;

use crate::support::{domain, points, rng};

#[test]
fn an_ideal_gas_has_g_of_one_in_every_kind_of_box() {
    for (seed, periodic, dimensions) in [
        (1, [true; 3], Three),
        (2, [false; 3], Three),
        (3, [true, false, true], Three),
        (4, [false, false, true], Three),
        (5, [true, true, false], Two),
        (6, [false, false, false], Two),
        (7, [true, false, false], Two),
    ] {
        let domain = domain([11.0, 8.5, 9.7], periodic, dimensions);
        let mut rng = rng(seed);
        let states: Vec<RadialDistribution> = (0..8)
            .map(|_| radial_distribution(&points(&mut rng, 4000, &domain), &domain, 40, 4.2).unwrap())
            .collect();
        let g = RadialDistribution::average(&states).unwrap();
        assert_eq!(g.centers, 32_000);
        // The pairs of a bin are nearly independent, so their number has nearly the deviation of a Poisson number. In a box with
        // ends, a sphere in the middle has more pairs than one in a corner; then the places of 32,000 spheres add 0.35%.
        let ends = if domain.axes_without_period().count() > 0 { 4.5 * 0.0035 } else { 0.0 };
        for k in 0..40 {
            let allowed = 4.5 / g.ideal_pairs[k].sqrt() + ends;
            assert!(
                (g.g[k] - 1.0).abs() < allowed,
                "seed {seed}, bin {k}: g = {}, allowed {allowed}",
                g.g[k]
            );
        }
        let (found, expected) = (g.pairs.iter().sum::<u64>() as f64, g.ideal_pairs.iter().sum::<f64>());
        let allowed = 4.5 / expected.sqrt() + ends;
        assert!((found / expected - 1.0).abs() < allowed, "seed {seed}: {found} pairs, expected {expected}");
    }
}

// Sites of a lattice of cubic cells with these points in each, in a periodic box.
fn lattice(cells: u32, basis: &[DVec3]) -> (Vec<DVec3>, Domain) {
    let at =
        |k: u32| DVec3::new(f64::from(k % cells), f64::from(k / cells % cells), f64::from(k / cells / cells));
    let sites = (0..cells.pow(3)).flat_map(|k| basis.iter().map(move |b| at(k) + *b));
    // An origin off the sites, and images outside the box.
    let min = DVec3::new(0.1, -0.2, 0.3);
    (sites.collect(), Domain::periodic(min, min + f64::from(cells), Three))
}

#[test]
fn lattices_have_their_shells() {
    let simple = [DVec3::ZERO];
    let centered =
        [DVec3::ZERO, DVec3::new(0.5, 0.5, 0.0), DVec3::new(0.5, 0.0, 0.5), DVec3::new(0.0, 0.5, 0.5)];
    // Squares of the distances, and neighbours at each (Conway & Sloane, Sphere Packings, tables 4.9 and 4.11).
    let cubic = [(1.0f64, 6u64), (2.0, 12), (3.0, 8), (4.0, 6), (5.0, 24), (6.0, 24)];
    let fcc = [(0.5f64, 12u64), (1.0, 6), (1.5, 24), (2.0, 12), (2.5, 24), (3.0, 8), (3.5, 48), (4.0, 6)];
    for (basis, shells) in [(&simple[..], &cubic[..]), (&centered[..], &fcc[..])] {
        let (sites, domain) = lattice(6, basis);
        // No shell lies on an edge of these bins, and the tables are complete up to this range.
        let bins = 400;
        let g = radial_distribution(&sites, &domain, bins, 2.05).unwrap();
        let mut counts = vec![0; bins];
        for (square, neighbors) in shells {
            let bin = (square.sqrt() / g.bin_width) as usize;
            if bin < bins {
                counts[bin] += neighbors * sites.len() as u64 / 2;
            }
        }
        assert_eq!(g.pairs, counts);
        assert_eq!(g.neighbors(1.05), shells.iter().filter(|s| s.0 < 1.1).map(|s| s.1 as f64).sum::<f64>());
    }
}

#[test]
fn the_cells_find_the_pairs_that_brute_force_finds() {
    for seed in 0..60 {
        let mut rng = rng(seed);
        let dimensions = if seed % 4 == 3 { Two } else { Three };
        let periodic = [seed % 2 == 0, seed % 3 != 0, dimensions == Three && seed % 5 < 3];
        let size = [1.0 + (seed % 7) as f64, 2.0 + (seed % 3) as f64, 1.5 + (seed % 11) as f64];
        let domain = domain(size, periodic, dimensions);
        let mut positions = points(&mut rng, 2 + 7 * seed as usize, &domain);
        let axes = dimensions.count();
        let longest =
            (0..axes).map(|a| if periodic[a] { 0.5 * size[a] } else { size[a] }).fold(9.0, f64::min);
        let range = longest * [1.0, 0.5, 0.2, 0.05][seed as usize % 4];
        let bins = 17;
        let mut counts = vec![0u64; bins];
        for (i, a) in positions.iter().enumerate() {
            for b in &positions[..i] {
                let distance = domain.separation(*a, *b).length();
                if distance < range {
                    counts[(distance / range * bins as f64) as usize] += 1;
                }
            }
        }
        // Any image of a sphere will do.
        for (k, p) in positions.iter_mut().enumerate() {
            for axis in (0..axes).filter(|axis| periodic[*axis]) {
                p[axis] += size[axis] * ((k % 5) as f64 - 2.0);
            }
        }
        let g = radial_distribution(&positions, &domain, bins, range).unwrap();
        assert_eq!(g.pairs, counts, "seed {seed}, range {range}, {domain:?}");
    }
}

#[test]
fn partial_distributions_add_up_to_the_whole() {
    let domain = domain([9.0, 8.0, 7.0], [true, true, false], Three);
    let positions = points(&mut rng(5), 900, &domain);
    // No sphere of kind 1.
    let kinds: Vec<usize> = (0..900).map(|k| [0, 2, 2][k % 3]).collect();
    let whole = radial_distribution(&positions, &domain, 30, 3.0).unwrap();
    let parts = partial_radial_distributions(&positions, &kinds, &domain, 30, 3.0).unwrap();
    let keys: Vec<_> = parts.iter().map(|part| (part.first, part.second)).collect();
    assert_eq!(keys, [(0, 0), (0, 2), (2, 2)]);
    for bin in 0..30 {
        assert_eq!(parts.iter().map(|part| part.distribution.pairs[bin]).sum::<u64>(), whole.pairs[bin]);
        let ideal: f64 = parts.iter().map(|part| part.distribution.ideal_pairs[bin]).sum();
        assert!((ideal / whole.ideal_pairs[bin] - 1.0).abs() < 1e-12);
    }
    // Each of the 300 spheres of kind 0 sees kinds 0 and 2: together all its neighbours.
    let mixed = &parts[1].distribution;
    assert_eq!(mixed.neighbors(3.0), mixed.pairs.iter().sum::<u64>() as f64 / 300.0);
}

#[test]
fn the_contact_value_is_that_of_the_curve_through_the_bins_above_contact() {
    let domain = Domain::periodic(DVec3::ZERO, DVec3::splat(20.0), Three);
    let mut g = radial_distribution(&points(&mut rng(1), 100, &domain), &domain, 200, 5.0).unwrap();
    for k in 0..200 {
        let x = g.radius(k) - 1.0;
        g.g[k] = if x < 0.0 { 0.0 } else { 3.5 * f64::exp(-1.2 * x + 0.8 * x * x) };
        g.pairs[k] = u64::from(x > 0.0) * 1000;
        g.ideal_pairs[k] = 1000.0 / g.g[k].max(1e-9);
    }
    assert!((g.contact_value(1.0).unwrap() - 3.5).abs() < 1e-9);
    // The bin that straddles contact does not count.
    assert!((g.contact_value(0.99).unwrap() - 3.5).abs() < 0.1);
    assert_eq!(g.contact_value(4.99), None);
}
