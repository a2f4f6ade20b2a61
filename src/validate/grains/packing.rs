//! Settled packings.

use super::super::{Case, Estimate, Expected, Group, Source, Study};
use super::world;
use crate::analysis::{Domain, packing_fraction};
use crate::{Error, Partner, Simulation};

pub const CASE: Case = Case {
    name: "packing",
    group: Group::Grains,
    title: "Packing fraction and coordination number of settled spheres, with friction and without",
    method: "Spheres of three sizes (0.9, 1, 1.1 mean diameters d) fall loosely into a box with periodic sides and \
             settle. The measurement leaves out 4 d above the floor, which orders the spheres, and 4 d below the surface. \
             Contacts that carry no force do not count. Errors come from independent seeds.\n\n\
             Frictionless: random close packing, with published fractions from 0.63 to 0.645. Spheres that carry a load \
             have six contacts on average if they do not overlap (isostatic). With overlaps of up to 0.002 d (compression \
             by 0.003 of the volume fraction) the law of O'Hern and others, 7.7 times the square root of the excess \
             fraction, allows 0.4 contacts more; spheres with fewer than four contacts are left out.\n\n\
             Friction 0.5: random loose packing of poured spheres, with published fractions from 0.58 to 0.62 and 4 to 5 \
             contacts, between the isostatic numbers for infinite friction (4) and none (6). Spheres with fewer than two \
             contacts are left out. Nothing resists rolling: with a rolling and a twisting friction of 0.01 the packing fraction \
             is 0.578 instead of 0.582 (10 seeds each, errors 0.0005).",
    quick: true,
    exact: false,
    measure,
};

const SCOTT: Source = Source::Unverified(
    "Scott & Kilgour, J. Phys. D 2, 863 (1969); Onoda & Liniger, Phys. Rev. Lett. 64, 2727 (1990)",
);
const OHERN: Source = Source::Unverified("O'Hern, Silbert, Liu & Nagel, Phys. Rev. E 68, 011306 (2003)");
const AGNOLIN: Source =
    Source::Cited("Agnolin & Roux, Phys. Rev. E 76, 061302 (2007), arXiv:0705.3194, abstract");
const SILBERT: Source =
    Source::Unverified("Silbert, Ertas, Grest, Halsey & Levine, Phys. Rev. E 65, 031304 (2002)");

/// Height that the floor orders, and the same depth below the surface.
const MARGIN: f64 = 4.0;

fn scene(count: u64, width: f64, steps: u64, friction: f64, seed: u64) -> String {
    let height = (count as f64 * 0.53 / (0.4 * width * width)).ceil();
    format!(
        "{}[bounds]\nmin = [0, 0, 0]\nmax = [{width}, {width}, {height}]\nx = \"periodic\"\ny = \"periodic\"\nz = \"wall\"\n\n\
         [materials.default]\nrestitution = 0.3\nfriction = {friction}\n\n\
         [[spheres]]\nrandom = {{ count = {count}, diameters = [[0.9, 0.3333], [1.0, 0.3334], [1.1, 0.3333]] }}\n",
        world(steps, seed)
    )
}

/// Packing fraction and coordination number away from the floor and the surface.
fn packing(simulation: &Simulation, least_contacts: u32) -> Result<[f64; 2], Error> {
    let spheres = simulation.try_spheres()?;
    let top = spheres.iter().map(|s| s.position.z).fold(0.0, f64::max);
    let mut domain = Domain::of(simulation.system());
    (domain.min.z, domain.max.z) = (MARGIN, top - MARGIN);
    let (positions, radii): (Vec<_>, Vec<_>) = spheres.iter().map(|s| (s.position, s.radius)).unzip();
    let mut touching = vec![0u32; spheres.len()];
    for contact in simulation.contacts()?.iter().filter(|contact| contact.force.length() > 0.0) {
        touching[contact.sphere as usize] += 1;
        if let Partner::Sphere(id) = contact.partner {
            touching[id as usize] += 1;
        }
    }
    let inside = spheres.iter().filter(|s| s.position.z > domain.min.z && s.position.z < domain.max.z);
    let counts: Vec<f64> = inside
        .map(|s| touching[s.id as usize])
        .filter(|&count| count >= least_contacts)
        .map(f64::from)
        .collect();
    Ok([packing_fraction(&positions, &radii, &domain)?, Estimate::of(&counts).mean])
}

fn measure(study: &mut Study) -> Result<(), Error> {
    // Smaller beds are looser, and fewer seeds leave the scatter uncertain.
    let (count, width, steps, seeds) = (2000, 9.0, 700, 5);
    let largest = study.depth().pick([0.005, 0.1], [0.002, 0.05]);
    // Name, friction, least contacts of a sphere that carries a load, expected fraction and contacts with their errors.
    for (name, friction, least, [(fraction, fraction_error), (contacts, contacts_error)], source) in [
        ("frictionless", 0.0, 4, [(0.6375, 0.0075), (6.0, 0.4)], OHERN),
        ("friction 0.5", 0.5, 2, [(0.60, 0.02), (4.5, 0.5)], SILBERT),
    ] {
        let mut values = [vec![], vec![]];
        for seed in 1..=seeds {
            let text = scene(count, width, steps, friction, seed);
            let mut simulation = study.simulation(&format!("friction-{friction}-seed-{seed}"), &text)?;
            if !study.steps(&mut simulation, steps, |_| {})? {
                return Ok(());
            }
            for (values, value) in values.iter_mut().zip(packing(&simulation, least)?) {
                values.push(value);
            }
        }
        let expected = Expected {
            value: fraction,
            theory_error: fraction_error,
            largest_error: largest[0],
            source: SCOTT,
        };
        study.check(format!("packing fraction, {name}"), expected, Estimate::of(&values[0]));
        let expected =
            Expected { value: contacts, theory_error: contacts_error, largest_error: largest[1], source };
        study.check(format!("coordination number, {name}"), expected, Estimate::of(&values[1]));
    }
    study.published("packing fraction, frictionless", "0.639", AGNOLIN);
    study.published("coordination number, frictionless", "6", AGNOLIN);
    study.published("packing fraction, friction 0.5", "0.593 at friction 0.3", AGNOLIN);
    study.published("coordination number, friction 0.5", "4.5 at friction 0.3", AGNOLIN);
    Ok(())
}
