//! The mean-square displacement over states.

use carom::analysis::{Domain, Snapshot, mean_square_displacement};

use super::{AnalyzeArguments, Input, section::Section};
use crate::cli::{
    chart::{Chart, Form, Series},
    command_error::CommandError,
    text::number,
};

/// Displacement between two states, in periods, from which a note warns that paths may be unwrapped wrongly.
const JUMP: f64 = 0.4;

/// The mean-square displacement and a diffusion coefficient.
pub fn displacement(input: &Input, arguments: &AnalyzeArguments) -> Result<Section, CommandError> {
    let mut states = vec![];
    for state in &input.states {
        let Some(time) = state.time else {
            let text = "a displacement needs the time of each state; .csv files have none, .xyz files do; of a file with steps, --scene gives \
                        the time";
            return Err(CommandError::usage(text));
        };
        states.push(Snapshot { time, ids: state.ids.clone(), positions: state.positions.clone() });
    }
    let open = Domain::around(&[], input.dimensions);
    let domains: Vec<Domain> = input.states.iter().map(|state| input.domain(state).unwrap_or(open)).collect();
    let found = mean_square_displacement(&states, &domains)?;
    let diffusion = found.diffusion(arguments.fit.0, arguments.fit.1, input.dimensions);

    let points = found.points.iter().map(|p| (p.lag, p.total())).collect();
    let mut series = vec![Series::new("all axes", Form::Points, points)];
    if let Some(fit) = &diffusion {
        let slope = 2.0 * input.dimensions.count() as f64 * fit.coefficient;
        let first = found.points.iter().find(|p| p.lag == fit.lags[0]).map_or(0.0, |p| p.total());
        let line = fit.lags.map(|lag| (lag, first + slope * (lag - fit.lags[0])));
        series.push(Series::new("slope of the fit", Form::Line, line.to_vec()));
    }
    let title = "Mean-square displacement";
    let labels = ["time lag".to_owned(), "mean-square displacement".to_owned()];
    let chart = Chart { title: title.to_owned(), labels, logarithmic: [true, true], series };
    let mut section = Section::new("msd", title, &["lag", "msd", "x", "y", "z", "origins"], chart);
    for point in &found.points {
        let [x, y, z] = point.squares.to_array();
        section.row(&[point.lag, point.total(), x, y, z, point.origins as f64]);
    }
    let last = &found.points[found.points.len() - 1];
    section.figure("states", states.len());
    section.figure("spheres", found.sphere_count);
    section.figure("averages_origins", found.averages_origins);
    section.figure("longest_lag", last.lag);
    section.figure("msd_at_longest_lag", last.total());
    section.figure("diffusion_coefficient", diffusion.map(|fit| fit.coefficient));
    section.figure("fit_lags", diffusion.map(|fit| fit.lags.to_vec()));
    section.figure("fit_exponent", diffusion.map(|fit| fit.exponent));
    section.figure("largest_jump", found.largest_jump);
    if let Some(text) = unwrapping(input, &domains, found.largest_jump) {
        section.notes.push(text);
    }
    if !found.averages_origins {
        section
            .notes
            .push("the states are not evenly spaced in time, so each is compared with the first only".into());
    }
    if let Some(fit) = diffusion.filter(|fit| (fit.exponent - 1.0).abs() > 0.1) {
        section.notes.push(format!(
            "the displacement grows as lag^{} where the line is fitted; its slope is a diffusion coefficient only near lag^1",
            number(fit.exponent, 3)
        ));
    }
    Ok(section)
}

// Why the paths across periodic axes may be wrong: a sphere moved far between two states, or is fast enough to cross half of a
// period.
fn unwrapping(input: &Input, domains: &[Domain], largest_jump: f64) -> Option<String> {
    let mut fastest = 0.0f64;
    for (k, pair) in input.states.windows(2).enumerate() {
        let interval = pair[1].time? - pair[0].time?;
        for axis in (0..3).filter(|axis| domains[k].periodic[*axis]) {
            let period = domains[k].max[axis] - domains[k].min[axis];
            let speeds = pair[0].velocities.iter().map(|v| v[axis].abs());
            fastest = fastest.max(speeds.fold(0.0, f64::max) * interval / period);
        }
    }
    let share = largest_jump.max(fastest);
    (share > JUMP).then(|| {
        format!(
            "between two states a sphere may move by {} periods; from half a period on, paths cannot be unwrapped: write states \
             more often",
            number(share, 2)
        )
    })
}
