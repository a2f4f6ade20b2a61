//! Bounds on the physics of a benchmark. A speed measured while the physics is wrong means nothing.

use std::f64::consts::FRAC_PI_6;

use carom::scene::{Scene, Shape};
use carom::{Dimensions, Side, System};

use super::physics::Physics;
use crate::cli::text::number;

/// Most collisions out of order, as a fraction of the impacts, where contacts do not rest. Such a step is repeated with its
/// impacts one by one, so none should be left; two pairs that meet within the rounding of f32 may be. Resting contacts have
/// no bound: a pile spreads an impulse over many contacts at once, and its impacts have no order.
const LATE_MAX: f64 = 1e-5;

/// Largest change of the total energy, relative to the start, where every impact is elastic, before [`ROUNDING_BIAS`]. An
/// impulse missed or applied twice changes the energy of one sphere by about its whole amount, 1e-5 of the energy of 100,000
/// spheres.
const ENERGY_ERROR_MAX: f64 = 1e-5;

/// Largest energy change that the ledger does not explain, relative to the energy that moved, before [`ROUNDING_BIAS`]. Twice
/// the bound of the total energy, because the ledger adds the rounding of its own entries: losses of impacts, work of walls,
/// relaxation.
const LEDGER_ERROR_MAX: f64 = 2e-5;

/// Energy that an impact may gain or lose by rounding, as a fraction of the mean energy of a sphere: two roundings of f32, of
/// 2^-24 each. All pairs of two sizes meet at nearly the same distance and with the same masses, so the factors of their
/// impulses may round to one side, and the energy drifts in proportion to the impacts. The worst built-in scene,
/// balls_in_a_box, loses 8e-8 per impact; equal spheres of diameter 1 less than 1e-8.
const ROUNDING_BIAS: f64 = 1.2e-7;

/// Largest change of the momentum, relative to sqrt(2 m E N). The two impulses of an impact are opposite to the bit, so only
/// the additions to the velocities round, with independent signs.
const MOMENTUM_ERROR_MAX: f64 = 1e-5;

/// Deepest overlap where contacts do not rest, in mean diameters of the pair. The rounding of f32 leaves about 1e-6; a missed
/// impact leaves up to 1.
const OVERLAP_MAX: f64 = 1e-5;

/// Deepest overlap where contacts rest, in mean diameters of the pair, if the spheres have similar sizes. Piles that form in
/// the built-in scenes overlap by up to 0.01 while spheres pour onto them, and by 0.017 in a gully of triangles.
const RESTING_OVERLAP_MAX: f64 = 0.02;

/// The same where spheres fall further than [`TALL`]. A sphere that drops into a pile presses its neighbours together in
/// proportion to its speed: in the built-in silo, 130 diameters tall, by up to 0.029. A solver that fails leaves 0.1 and more.
const TALL_OVERLAP_MAX: f64 = 0.05;

/// Extent of the spheres along gravity, in smallest diameters, above which a scene is tall.
const TALL: f64 = 100.0;

/// The same where the largest sphere has more than [`SIZE_RATIO`] times the diameter of the smallest. A heavy sphere sinks
/// into light ones before they support it: by 0.22 in pours of sizes 1 to 20.
const UNEQUAL_OVERLAP_MAX: f64 = 0.25;

/// Ratio of the diameters from which spheres are of unequal size.
const SIZE_RATIO: f64 = 4.0;

/// Allowed deviation of Z from the equation of state, as a fraction.
const COMPRESSIBILITY_ERROR: f64 = 0.05;

/// Statistical error of Z over `1 / sqrt(impacts)`, as a fraction.
const COMPRESSIBILITY_SCATTER: f64 = 6.0;

/// Fewest impacts from which Z is compared. With fewer, the statistical error exceeds a fifth.
const COMPRESSIBILITY_IMPACTS: u64 = 1000;

/// Fewest spheres for which Z is compared. Smaller periodic systems correlate with their own images, and the conserved
/// momentum takes a share 1/N of Z.
const COMPRESSIBILITY_SPHERES: usize = 100;

/// Largest volume fraction at which Z is compared. The fluid begins to freeze at 0.494, and random fills start further from
/// equilibrium the denser they are: in the first ten steps Z deviates by 2% at 0.3 and 0.4, and by 7% at 0.45.
const COMPRESSIBILITY_FRACTION: f64 = 0.4;

/// The properties of a scene on which the bounds depend.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// Number of spheres at the start, >= 1.
    pub spheres: usize,
    /// Whether contacts may rest under gravity.
    pub rests: bool,
    /// Largest over smallest diameter, sources included; 1 without spheres.
    pub size_ratio: f64,
    /// Extent of spheres and sources along gravity, in smallest diameters; 0 without gravity.
    pub height: f64,
    /// Volume fraction, if the scene is a fluid of equal spheres to which an equation of state applies.
    pub fluid: Option<f64>,
}

impl Conditions {
    pub fn new(scene: &Scene, system: &System) -> Self {
        let own = system.spheres.iter().map(|sphere| 2.0 * sphere.radius);
        let poured = system.sources.iter().flat_map(|source| source.diameters.iter().map(|(d, _)| *d));
        let (mut least, mut most) = (f64::INFINITY, 0.0f64);
        for diameter in own.chain(poured) {
            (least, most) = (least.min(diameter), most.max(diameter));
        }
        let size_ratio = if most > 0.0 { most / least } else { 1.0 };
        Self {
            spheres: system.spheres.len().max(1),
            rests: system.contacts_may_rest(),
            size_ratio,
            height: if most > 0.0 { height(system) / least } else { 0.0 },
            fluid: (size_ratio == 1.0).then(|| fluid_fraction(scene, system)).flatten(),
        }
    }
}

fn height(system: &System) -> f64 {
    let down = system.gravity.normalize_or_zero();
    let corners = system.sources.iter().flat_map(|source| [source.min, source.max]);
    let depths = system.spheres.iter().map(|sphere| sphere.position).chain(corners).map(|x| x.dot(down));
    let (low, high) = depths.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    (high - low).max(0.0)
}

// The volume fraction of a periodic fluid in 3D. Only random fills of the whole box start like a fluid; a lattice or a group
// in one place may take longer than the run to become one. Restitutions below 1 change the equation of state.
fn fluid_fraction(scene: &Scene, system: &System) -> Option<f64> {
    let is_random = scene.fills.iter().all(|fill| {
        let is_whole = matches!(&fill.shape, Shape::Random(random) if random.region.is_none());
        is_whole && fill.inside.is_none()
    });
    let is_elastic = system.materials.surfaces().iter().all(|surface| surface.is_elastic());
    let is_periodic = system.bounds.sides == [Side::Periodic; 3] && system.dimensions == Dimensions::Three;
    let is_fluid = is_random && is_elastic && is_periodic && system.spheres.len() >= COMPRESSIBILITY_SPHERES;
    let volume = (system.bounds.max - system.bounds.min).element_product();
    let filled: f64 = system.spheres.iter().map(|sphere| FRAC_PI_6 * (2.0 * sphere.radius).powi(3)).sum();
    is_fluid.then(|| filled / volume)
}

/// The figures outside their bounds, each with the bound; empty if the physics is right.
pub fn failed(physics: &Physics, conditions: &Conditions) -> Vec<String> {
    let mut failed = vec![];
    let counts =
        [("unresolved", physics.unresolved), ("stopped", physics.stopped), ("nonfinite", physics.nonfinite)];
    for (name, count) in counts {
        if count > 0 {
            failed.push(format!("{name} is {count}, not 0"));
        }
    }
    if !conditions.rests {
        let most = LATE_MAX * physics.impacts as f64;
        if physics.late as f64 > most {
            failed.push(format!("late is {}, more than {} of the impacts", physics.late, number(most, 3)));
        }
    }
    let mut at_most = |name: &str, x: f64, bound: f64| {
        // A figure that is not a number fails, too.
        if x.is_nan() || x.abs() > bound {
            failed.push(format!("{name} is {}, beyond {}", number(x, 3), number(bound, 3)));
        }
    };
    let drift = ROUNDING_BIAS * physics.impacts as f64 / conditions.spheres as f64;
    match physics.energy_error {
        Some(error) => at_most("energy_error", error, ENERGY_ERROR_MAX + drift),
        None => at_most("ledger_error", physics.ledger_error, LEDGER_ERROR_MAX + drift),
    }
    if let Some(error) = physics.momentum_error {
        at_most("momentum_error", error, MOMENTUM_ERROR_MAX);
    }
    let overlap = match conditions {
        Conditions { rests: false, .. } => OVERLAP_MAX,
        Conditions { size_ratio, .. } if *size_ratio > SIZE_RATIO => UNEQUAL_OVERLAP_MAX,
        Conditions { height, .. } if *height > TALL => TALL_OVERLAP_MAX,
        _ => RESTING_OVERLAP_MAX,
    };
    at_most("deepest_overlap", physics.deepest_overlap, overlap);
    failed.extend(wrong_compressibility(physics, conditions));
    failed
}

// Compares Z with the equation of state of the hard-sphere fluid. (Carnahan & Starling, J. Chem. Phys. 51, 635, 1969.)
fn wrong_compressibility(physics: &Physics, conditions: &Conditions) -> Option<String> {
    let (z, fraction) = (physics.compressibility?, conditions.fluid?);
    if fraction > COMPRESSIBILITY_FRACTION || physics.impacts < COMPRESSIBILITY_IMPACTS {
        return None;
    }
    let expected = carnahan_starling(fraction);
    let share = COMPRESSIBILITY_ERROR + COMPRESSIBILITY_SCATTER / (physics.impacts as f64).sqrt();
    let is_near = (z - expected).abs() <= share * expected;
    (!is_near).then(|| {
        format!(
            "compressibility is {}, not {} within {} %",
            number(z, 4),
            number(expected, 4),
            number(100.0 * share, 2)
        )
    })
}

fn carnahan_starling(fraction: f64) -> f64 {
    let x = fraction;
    (1.0 + x + x * x - x * x * x) / (1.0 - x).powi(3)
}

#[cfg(test)]
mod tests {
    use carom::files::builtin;
    use carom::scene::Fill;

    use super::*;

    const GAS: Conditions =
        Conditions { spheres: 100_000, rests: false, size_ratio: 1.0, height: 0.0, fluid: Some(0.2) };
    const PILE: Conditions =
        Conditions { spheres: 100_000, rests: true, size_ratio: 1.2, height: 20.0, fluid: None };

    // A run of a million impacts in which nothing is wrong.
    fn right() -> Physics {
        Physics {
            energy_error: Some(1e-8),
            ledger_error: 1e-8,
            momentum_error: Some(1e-9),
            compressibility: Some(carnahan_starling(0.2)),
            collision_rate: 1.0,
            late: 0,
            crowded: 0,
            event_driven: 0,
            impacts: 1_000_000,
            unresolved: 0,
            stopped: 0,
            nonfinite: 0,
            deepest_overlap: 1e-6,
        }
    }

    // Asserts that `within` passes and `beyond` fails, with `name` as the only figure.
    #[track_caller]
    fn bound(conditions: Conditions, name: &str, within: Physics, beyond: Physics) {
        assert_eq!(failed(&within, &conditions), Vec::<String>::new());
        let failed = failed(&beyond, &conditions);
        assert!(failed.len() == 1 && failed[0].starts_with(&format!("{name} is ")), "{name}: {failed:?}");
    }

    #[test]
    fn no_sphere_is_unresolved_stopped_or_not_finite() {
        for conditions in [GAS, PILE] {
            bound(conditions, "unresolved", right(), Physics { unresolved: 1, ..right() });
            bound(conditions, "stopped", right(), Physics { stopped: 1, ..right() });
            bound(conditions, "nonfinite", right(), Physics { nonfinite: 1, ..right() });
        }
    }

    #[test]
    fn late_is_a_share_of_the_impacts_unless_contacts_rest() {
        let late = |late| Physics { late, ..right() };
        bound(GAS, "late", late(10), late(11));
        bound(GAS, "late", late(0), Physics { impacts: 0, late: 1, ..right() });
        assert!(failed(&late(1000), &PILE).is_empty());
    }

    #[test]
    fn energy_changes_in_neither_direction() {
        // 1e-5, and 0.12e-5 for ten impacts of every sphere.
        let change = |x| Physics { energy_error: Some(x), ..right() };
        for sign in [1.0, -1.0] {
            bound(GAS, "energy_error", change(1.11e-5 * sign), change(1.13e-5 * sign));
        }
        let of_few = |x| Physics { impacts: 0, ..change(x) };
        bound(GAS, "energy_error", of_few(0.99e-5), of_few(1.01e-5));
        bound(GAS, "energy_error", right(), change(f64::NAN));
    }

    #[test]
    fn the_ledger_counts_where_energy_is_lost() {
        let lossy = |ledger_error| Physics { energy_error: None, ledger_error, ..right() };
        bound(PILE, "ledger_error", lossy(2.11e-5), lossy(2.13e-5));
        assert!(failed(&Physics { ledger_error: 1.0, ..right() }, &GAS).is_empty());
    }

    #[test]
    fn momentum_counts_where_it_is_conserved() {
        let change = |x| Physics { momentum_error: Some(x), ..right() };
        bound(GAS, "momentum_error", change(0.99e-5), change(1.01e-5));
        assert!(failed(&Physics { momentum_error: None, ..right() }, &GAS).is_empty());
    }

    #[test]
    fn overlaps_depend_on_resting_contact_and_sizes() {
        let overlap = |deepest_overlap| Physics { deepest_overlap, ..right() };
        bound(GAS, "deepest_overlap", overlap(0.99e-5), overlap(1.01e-5));
        bound(
            PILE,
            "deepest_overlap",
            overlap(0.99 * RESTING_OVERLAP_MAX),
            overlap(1.01 * RESTING_OVERLAP_MAX),
        );
        let unequal = Conditions { size_ratio: 4.1, ..PILE };
        bound(unequal, "deepest_overlap", overlap(0.249), overlap(0.251));
        let tall = Conditions { height: 101.0, ..PILE };
        bound(tall, "deepest_overlap", overlap(0.049), overlap(0.051));
        // Unequal sizes alone do not allow overlaps.
        let mixture = Conditions { size_ratio: 4.1, ..GAS };
        bound(mixture, "deepest_overlap", overlap(0.99e-5), overlap(1.01e-5));
    }

    #[test]
    fn compressibility_is_that_of_the_fluid() {
        // 5% and 0.6% for the scatter of a million impacts.
        let of = |factor: f64| Physics { compressibility: Some(factor * carnahan_starling(0.2)), ..right() };
        bound(GAS, "compressibility", of(1.055), of(1.057));
        bound(GAS, "compressibility", of(0.945), of(0.943));
        // 5% and 19% for a thousand impacts; no bound for fewer.
        let few = |factor, impacts| Physics { impacts, ..of(factor) };
        bound(GAS, "compressibility", few(1.23, 1000), few(1.25, 1000));
        assert!(failed(&few(2.0, 999), &GAS).is_empty());
        assert!(failed(&of(2.0), &Conditions { fluid: Some(0.41), ..GAS }).is_empty());
        assert!(failed(&of(2.0), &Conditions { fluid: None, ..GAS }).is_empty());
        assert!(failed(&Physics { compressibility: None, ..right() }, &GAS).is_empty());
    }

    #[test]
    fn conditions_follow_from_the_scene() {
        let of = |name: &str| {
            let scene = builtin(name).unwrap().load(&[]).unwrap();
            Conditions::new(&scene, &scene.build().unwrap())
        };
        let gas = of("gas");
        assert!(!gas.rests && gas.size_ratio == 1.0);
        assert!(gas.fluid.is_some_and(|fraction| (fraction - 0.2).abs() < 1e-6), "{gas:?}");
        // Restitution, walls, sizes.
        assert!(["cooling", "gas_box", "mixture"].map(of).iter().all(|of| of.fluid.is_none()));
        assert_eq!(of("mixture").size_ratio, 4.0);
        let nut = of("brazil_nut");
        assert!(nut.rests && nut.size_ratio > SIZE_RATIO);
        assert!(of("silo").height > TALL && of("pile50").height < TALL && gas.height == 0.0);
        // Elastic spheres under gravity do not rest.
        assert!(!of("bounce").rests);
    }

    #[test]
    fn only_random_fills_of_the_whole_box_are_fluids() {
        let of = |fill: Fill| {
            let scene = Scene::new(0.1).periodic().bounds([0.0; 3], [10.0; 3]).fill(fill);
            Conditions::new(&scene, &scene.build().unwrap()).fluid
        };
        assert!(of(Fill::random(200)).is_some());
        assert!(of(Fill::random(99)).is_none());
        assert!(of(Fill::random(200).region([0.0; 3], [8.0; 3])).is_none());
        assert!(of(Fill::lattice([6, 6, 6], 1.5)).is_none());
    }
}
