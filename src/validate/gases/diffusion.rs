//! Self-diffusion.

use std::f64::consts::PI;

use super::super::theory::{
    SELF_DIFFUSION, SPEEDY_DIFFUSION, enskog_diffusion, enskog_viscosity, self_diffusion, speedy_diffusion,
};
use super::super::{Case, Chart, Curve, CurveForm, Depth, Estimate, Expected, Group, Source, Study};
use super::gas::Gas;
use crate::analysis::{Domain, Snapshot, mean_square_displacement};
use crate::{Error, Simulation};

pub const CASE: Case = Case {
    name: "diffusion",
    group: Group::Gases,
    title: "Self-diffusion of hard spheres against molecular dynamics",
    method: "500 elastic spheres (the full run adds 4,000) move in a periodic box at kT = 1 and the volume fractions phi 0.1 and 0.3. They start \
             at random positions; the first 100 collisions per sphere of the run are not measured. A step takes half a collision per \
             sphere, so that no sphere crosses half the box in a step, and the paths can be unwrapped.\n\n\
             D is the slope of the mean-square displacement over 6 times the lag, for lags from 3 to 6 of the time L^2/(4 pi^2 viscosity \
             / density) in which the slowest flow of the box decays. The displacement is that of all pairs of states of a block of 12 such \
             times; D is the mean over blocks (40 in the quick run, 240 in the full one, 8 with 4,000 spheres), with its standard error.\n\n\
             A periodic box slows the diffusion by 2.837 kT/(6 pi viscosity L) (Duenweg & Kremer, J. Chem. Phys. 99, 6983 (1993); Yeh & \
             Hummer, J. Phys. Chem. B 108, 15873 (2004)). This amount, with the viscosity of Enskog's theory, is added to D. It is 5% \
             (phi = 0.1) to 10% (phi = 0.3) of D for 500 spheres; with an error of a tenth for the viscosity and the small box, 0.5% to 1%.\n\n\
             The expected value is a fit to the molecular dynamics of Erpenbeck and Wood, extrapolated to infinite size; the error of the fit and of \
             the extrapolation is taken as 2%. The error of the theory is the sum of both, 3%. The full run also compares the two sizes with each \
             other: the corrected values must agree within 2%, twice the error of the larger correction.\n\n\
             Two further values are listed without a verdict. Enskog's theory neglects correlated collisions. Speedy's fit to older simulations is \
             12% below that of Erpenbeck and Wood at phi = 0.3, which is the size of the correction for 500 spheres.",
    quick: true,
    exact: true,
    measure,
};

const PER_STEP: f64 = 0.5;
const MELT: f64 = 100.0;
/// Length of a block in decay times of the slowest flow.
const BLOCK: f64 = 12.0;

/// A box to measure the diffusion in.
struct Run {
    gas: Gas,
    /// Steps between two states, and states in a block.
    stride: u64,
    states: u64,
    blocks: u64,
}

impl Run {
    fn new(count: usize, phi: f64, blocks: u64) -> Self {
        let gas = Gas::new(count, phi, PER_STEP, 0);
        let density = 6.0 * phi / PI;
        let decay = gas.edge().powi(2) * density / (4.0 * PI * PI * enskog_viscosity(phi));
        let steps = BLOCK * decay / gas.dt();
        let stride = (steps / 48.0).ceil().max(1.0);
        let states = (steps / stride).ceil() as u64;
        let steps = (MELT / PER_STEP) as u64 + blocks * states * stride as u64;
        Self { gas: Gas { steps, ..gas }, stride: stride as u64, states, blocks }
    }

    /// The amount by which the periodic box lowers D.
    fn box_correction(&self) -> f64 {
        2.837_297 / (6.0 * PI * enskog_viscosity(self.gas.fraction) * self.gas.edge())
    }
}

/// Positions along unwrapped paths.
struct Paths {
    domain: Domain,
    last: Snapshot,
}

impl Paths {
    fn snapshot(simulation: &Simulation) -> Result<Snapshot, Error> {
        let spheres = simulation.try_spheres()?;
        let ids = spheres.iter().map(|s| s.id).collect();
        let positions = spheres.iter().map(|s| s.position).collect();
        Ok(Snapshot { time: simulation.time(), ids, positions })
    }

    fn new(simulation: &Simulation) -> Result<Self, Error> {
        Ok(Self { domain: Domain::of(simulation.system()), last: Self::snapshot(simulation)? })
    }

    /// Moves the paths to the current state.
    fn follow(&mut self, simulation: &Simulation) -> Result<(), Error> {
        let now = Self::snapshot(simulation)?;
        self.last.time = now.time;
        for (path, position) in self.last.positions.iter_mut().zip(now.positions) {
            *path += self.domain.separation(position, *path);
        }
        Ok(())
    }
}

/// D of each block, and the mean-square displacements of the last block over their lags.
struct Measured {
    coefficients: Vec<f64>,
    points: Vec<(f64, f64)>,
}

fn follow(study: &mut Study, run: &Run, simulation: &mut Simulation) -> Result<Option<Measured>, Error> {
    if !study.steps(simulation, (MELT / PER_STEP) as u64, |_| {})? {
        return Ok(None);
    }
    // The paths are unwrapped here, step by step, so the analysis gets a box without periodic axes.
    let mut paths = Paths::new(simulation)?;
    let open = Domain { periodic: [false; 3], ..paths.domain };
    let mut measured = Measured { coefficients: vec![], points: vec![] };
    for _ in 0..run.blocks {
        let mut states = vec![paths.last.clone()];
        for _ in 0..run.states {
            for _ in 0..run.stride {
                if study.stopped() {
                    return Ok(None);
                }
                simulation.step()?;
                paths.follow(simulation)?;
            }
            states.push(paths.last.clone());
        }
        let displacement = mean_square_displacement(&states, &[open])?;
        let line = displacement.diffusion(3.0 / BLOCK, 6.0 / BLOCK, run.gas.dimensions);
        measured.coefficients.push(line.map_or(f64::NAN, |line| line.coefficient));
        measured.points = displacement.points.iter().skip(1).map(|p| (p.lag, p.total())).collect();
    }
    Ok(Some(measured))
}

fn measure(study: &mut Study) -> Result<(), Error> {
    let mut curves = vec![];
    for phi in [0.1, 0.3] {
        let sizes = match study.depth() {
            Depth::Quick => vec![(500, 40, 0.015)],
            Depth::Full => vec![(500, 240, 0.006), (4_000, 8, 0.01)],
        };
        let mut both = vec![];
        for (count, blocks, statistics) in sizes {
            let run = Run::new(count, phi, blocks);
            let mut simulation = study.simulation(&format!("phi-{phi}-{count}"), &run.gas.scene())?;
            let Some(measured) = follow(study, &run, &mut simulation)? else { return Ok(()) };
            let inside = Estimate::of(&measured.coefficients);
            let correction = run.box_correction();
            let quantity = format!("D at phi = {phi} with {count} spheres, corrected for the box");
            let value = self_diffusion(phi);
            let expected = Expected {
                value,
                theory_error: 0.03 * value,
                largest_error: statistics * value,
                source: SELF_DIFFUSION,
            };
            let whole = Estimate { mean: inside.mean + correction, error: inside.error };
            let note = format!("D in the box {:.5}, correction {correction:.5}", inside.mean);
            study.check_with_note(quantity.clone(), expected, whole, note);
            let enskog = Source::Unverified("theory of Enskog, Chapman & Cowling 1970");
            study.published(quantity.clone(), format!("{:.5}", enskog_diffusion(phi)), enskog);
            study.published(quantity, format!("{:.5}", speedy_diffusion(phi)), SPEEDY_DIFFUSION);
            both.push(whole);
            let label = format!("phi = {phi}, {count} spheres");
            curves.push(Curve::new(label, CurveForm::Points, measured.points));
        }
        if let [small, large] = both[..] {
            let ratio = small.mean / large.mean;
            let error = ratio * (small.error / small.mean).hypot(large.error / large.mean);
            let expected =
                Expected { value: 1.0, theory_error: 0.02, largest_error: 0.015, source: Source::Measured };
            let quantity = format!("corrected D of 500 spheres over that of 4,000 at phi = {phi}");
            study.check(quantity, expected, Estimate { mean: ratio, error });
        }
    }
    study.chart(Chart {
        title: "Mean-square displacement in one block".to_owned(),
        labels: ["lag".to_owned(), "mean-square displacement (diameters^2)".to_owned()],
        logarithmic: [true; 2],
        curves,
    });
    Ok(())
}
