//! `carom analyze`: measures structure, speeds, contacts, displacement and flow in the files of a run.

mod contacts;
mod input;
mod metrics;
mod motion;
mod network;
mod section;
mod structure;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::arguments::{assignment, positive, range, thread_count};
use super::atomic_file::{AtomicFile, cannot_write};
use super::command_error::{CommandError, Exit};
use super::run::print_object;
use super::screen::Screen;
use super::text::{Align, Table};
use input::Input;
use section::Section;

const EXAMPLES: &str = "\
Kinds of files, recognized by their content:
  states     every file of spheres that carom reads; several files, or a file with several states, give a displacement
  contacts   the file of `carom run --contacts`
  metrics    the file of `carom run --metrics`

Examples:
  carom run gas --time 2 --every 10 --out out --metrics steps.csv
  carom analyze out/*.xyz steps.csv --out analysis
  carom analyze out/final.xyz --what rdf --range 4 --bins 400 --json
  carom analyze out/*.xyz --what rdf,speeds --frames all
  carom run heap --backend cpu --out heap --contacts heap.csv
  carom analyze heap/final.xyz heap.csv --what coordination,forces
  carom analyze heap/final.csv --scene heap --what packing --axis z";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct AnalyzeArguments {
    /// Files of a run: states, contacts, metrics.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Measurements to make. Default: all that the files allow.
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    pub what: Vec<What>,
    /// Write to DIR, for each measurement, a table (.csv) and its chart (.svg and .png), and all figures (summary.json).
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON object with the figures on stdout.
    #[arg(long)]
    pub json: bool,
    /// Which states rdf, speeds, packing and coordination use.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "last")]
    pub frames: Frames,
    /// Number of bins of each histogram. Default: 200 for rdf, 50 for the others.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub bins: Option<u32>,
    /// Largest distance of rdf. Default: 5 mean diameters, or as far as the box allows.
    #[arg(long, value_name = "R", allow_negative_numbers = true, value_parser = positive)]
    pub range: Option<f64>,
    /// Also measure rdf between each two materials.
    #[arg(long)]
    pub partial: bool,
    /// Largest gap of two spheres in contact, over the sum of their radii.
    #[arg(long, value_name = "X", default_value_t = 1e-3, allow_negative_numbers = true, value_parser = fraction)]
    pub tolerance: f64,
    /// Contacts below which a sphere is a rattler. Default: 4, in 2D 3; 2 if the scene of --scene has friction.
    #[arg(long, value_name = "N")]
    pub least_contacts: Option<u32>,
    /// Axis of the profile of the packing fraction. Default: z, in 2D y.
    #[arg(long, value_enum)]
    pub axis: Option<Axis>,
    /// Shares of the longest time lag between which the diffusion coefficient is fitted.
    #[arg(long, value_name = "FROM,TO", default_value = "0.1,0.5", value_parser = range)]
    pub fit: (f64, f64),
    /// Scene of the run, for files that lack the box, the materials or the masses.
    #[arg(long, value_name = "SCENE")]
    pub scene: Option<String>,
    /// With --scene: replace a value of the scene, as for the run; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "scene", value_parser = assignment)]
    pub settings: Vec<String>,
    /// Number of dimensions, 2 or 3. Default: that of the scene; without a scene 2 if all spheres stay in the plane z = 0.
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub dimensions: Option<u8>,
    /// Number of threads; 0 = one for each core. The result does not depend on the number.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub threads: usize,
}

/// Measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Radial distribution function.
    Rdf,
    /// Distribution of speeds against Maxwell and Boltzmann.
    Speeds,
    /// Packing fraction, and its profile along an axis.
    Packing,
    /// Contacts of each sphere by distance.
    Coordination,
    /// Force network of the contacts file.
    Forces,
    /// Mean-square displacement over the states.
    Msd,
    /// Energy over time from the metrics file.
    Energy,
    /// Flow through sinks and sources from the metrics file.
    Flow,
}

/// States to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Frames {
    /// The latest state.
    Last,
    /// All states: their average.
    All,
}

/// An axis of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    X,
    Y,
    Z,
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

impl What {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    // Whether the files contain what this measurement needs.
    fn is_possible(self, input: &Input) -> bool {
        match self {
            Self::Rdf | Self::Coordination | Self::Packing => !input.states.is_empty(),
            Self::Speeds => input.states.iter().any(|state| state.has_velocities()),
            Self::Msd => input.states.len() > 1,
            Self::Forces => input.contacts.is_some(),
            Self::Energy => input.metrics.is_some(),
            Self::Flow => input.metrics.as_ref().is_some_and(metrics::has_flow),
        }
    }

    fn measure(self, input: &Input, arguments: &AnalyzeArguments) -> Result<Vec<Section>, CommandError> {
        match self {
            Self::Rdf => structure::rdf(input, arguments),
            Self::Speeds => structure::speeds(input, arguments),
            Self::Packing => structure::packing(input, arguments).map(|section| vec![section]),
            Self::Coordination => structure::coordination(input, arguments).map(|section| vec![section]),
            Self::Forces => network::forces(input, arguments).map(|section| vec![section]),
            Self::Msd => motion::displacement(input, arguments).map(|section| vec![section]),
            Self::Energy => metrics::energy(input).map(|section| vec![section]),
            Self::Flow => metrics::flow(input, arguments),
        }
    }
}

/// Runs `carom analyze`.
pub fn analyze(arguments: &AnalyzeArguments) -> Result<Exit, CommandError> {
    if arguments.fit.0 < 0.0 || arguments.fit.1 > 1.0 {
        return Err(CommandError::usage("--fit: expected two shares from 0 to 1, as in 0.1,0.5"));
    }
    if arguments.threads > 0 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).build();
        let pool = pool.map_err(|e| CommandError::usage(format!("--threads {}: {e}", arguments.threads)))?;
        return pool.install(|| measure(arguments));
    }
    measure(arguments)
}

fn measure(arguments: &AnalyzeArguments) -> Result<Exit, CommandError> {
    let input = Input::read(arguments)?;
    let mut screen = Screen::new(false, arguments.json);
    let mut sections = vec![];
    let is_chosen = !arguments.what.is_empty();
    for what in What::value_variants().iter().filter(|what| !is_chosen || arguments.what.contains(what)) {
        if !what.is_possible(&input) {
            if is_chosen {
                return Err(CommandError::usage(lacking(*what)));
            }
            continue;
        }
        match what.measure(&input, arguments) {
            Ok(found) => sections.extend(found),
            // Without --what, a measurement that does not apply to the files is no error.
            Err(error) if !is_chosen && error.exit == Exit::Usage => {
                screen.note(&format!("note: {} left out: {}", what.name(), error.message));
            }
            Err(error) => return Err(error),
        }
    }
    if sections.is_empty() {
        return Err(CommandError::usage("nothing can be measured in these files; the notes above say why"));
    }
    let object = summary(&input, &sections);
    if let Some(folder) = &arguments.out {
        write(folder, &sections, &object)?;
    }
    let mut told = vec![];
    for note in sections.iter().flat_map(|section| &section.notes) {
        if !told.contains(&note) {
            screen.note(&format!("note: {note}"));
            told.push(note);
        }
    }
    if arguments.json {
        print_object(&object)?;
    } else {
        print(&mut screen, &sections);
        if let Some(folder) = &arguments.out {
            screen.line(&format!("files     in {}", folder.display()));
        }
    }
    Ok(Exit::Done)
}

fn lacking(what: What) -> String {
    let needed = match what {
        What::Rdf | What::Packing | What::Coordination => "a file of spheres",
        What::Speeds => "a file of spheres that has velocities",
        What::Msd => "at least two states: several files of spheres, or a file with several states",
        What::Forces => "the file of `carom run --contacts`",
        What::Energy => "the file of `carom run --metrics`",
        What::Flow => "the file of `carom run --metrics` of a scene with sources or sinks",
    };
    format!("--what {}: needs {needed}, and none was given", what.name())
}

// The object of --json and of summary.json.
fn summary(input: &Input, sections: &[Section]) -> Value {
    let mut object = Map::new();
    object.insert("states".to_owned(), input.states.len().into());
    object.insert("sphere_count".to_owned(), json!(input.states.last().map(|state| state.ids.len())));
    object.insert("time".to_owned(), json!(input.states.last().and_then(|state| state.time)));
    for section in sections {
        let figures: Map<String, Value> =
            section.figures.iter().map(|figure| (figure.key.to_owned(), figure.value.clone())).collect();
        object.insert(section.stem.clone(), figures.into());
    }
    object.into()
}

fn print(screen: &mut Screen, sections: &[Section]) {
    for (k, section) in sections.iter().enumerate() {
        if k > 0 {
            screen.line("");
        }
        screen.line(&section.title);
        let mut table = Table::new(&[("  figure", Align::Left), ("value", Align::Left)]);
        for figure in &section.figures {
            table.row(vec![format!("  {}", figure.key), figure.text()]);
        }
        screen.text(&table.to_string());
    }
}

// The files of --out.
fn write(folder: &Path, sections: &[Section], object: &Value) -> Result<(), CommandError> {
    std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    for section in sections {
        let path = |ending: &str| folder.join(format!("{}.{ending}", section.stem));
        let mut table = AtomicFile::create(&path("csv"))?;
        table.line(&section.columns.join(","))?;
        section.rows.iter().try_for_each(|row| table.line(&row.join(",")))?;
        table.commit()?;
        let failed = |error: Box<dyn std::error::Error>| {
            CommandError::files(format!("cannot draw the chart of {}: {error}", section.stem))
        };
        write_bytes(&path("svg"), section.chart.svg().map_err(failed)?.as_bytes())?;
        write_bytes(&path("png"), &section.chart.png().map_err(failed)?)?;
    }
    write_bytes(&folder.join("summary.json"), format!("{object:#}\n").as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| cannot_write(path, &e))?;
    file.commit()
}
