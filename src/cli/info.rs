//! `carom info`: describes a file of spheres.

use std::f64::consts::PI;
use std::path::PathBuf;

use carom::files::{Frame, FrameBounds, format_name};
use carom::scene::Placed;
use clap::Args;
use glam::DVec3;
use serde_json::{Map, Value, json};

use super::command_error::{CommandError, Exit};
use super::convert::{frame_index, read};
use super::run::print_object;
use super::screen::Screen;
use super::text::{counted, grouped, number};

const EXAMPLES: &str = "\
Examples:
  carom info out/final.xyz
  carom info run.lammpstrj.gz --frame 0
  carom info packing.data --json | jq .kinetic_energy";

/// Arguments of `carom info`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InfoArguments {
    /// A file of spheres; see docs/files.md for its formats.
    pub file: PathBuf,
    /// Describe this frame, counted from 0; negative numbers count from the end.
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = -1)]
    pub frame: i64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Runs `carom info`.
pub fn info(arguments: &InfoArguments) -> Result<Exit, CommandError> {
    let InfoArguments { file, frame, json } = arguments;
    let frames = read(file)?;
    let index = frame_index(file, &frames, *frame)?;
    let figures = Figures::of(&frames[index].spheres);
    let format = format_name(file).unwrap_or_default();
    if *json {
        let mut object = figures.object(&frames[index]);
        object.insert("format".to_owned(), format.into());
        object.insert("frames".to_owned(), frames.len().into());
        object.insert("frame".to_owned(), index.into());
        print_object(&object.into())?;
        return Ok(Exit::Done);
    }
    let mut screen = Screen::new(false, false);
    let times: Vec<f64> = frames.iter().filter_map(|frame| frame.time).collect();
    let span = match (times.first(), times.last()) {
        (Some(first), Some(last)) if times.len() > 1 => {
            format!(", time {} to {}", number(*first, 5), number(*last, 5))
        }
        _ => String::new(),
    };
    let lines = [
        ("format", format.to_owned()),
        ("frames", format!("{}{span}; below is frame {index}", grouped(frames.len() as u64))),
    ];
    for (name, text) in lines.into_iter().chain(figures.lines(&frames[index])) {
        screen.line(&format!("{name:<10}{text}"));
    }
    Ok(Exit::Done)
}

/// Smallest, mean and largest of some values.
#[derive(Clone, Copy)]
struct Range {
    low: f64,
    mean: f64,
    high: f64,
}

impl Range {
    /// `None` without values.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut count, mut sum) = (0_u64, 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (low, high) = (low.min(value), high.max(value));
            sum += value;
            count += 1;
        }
        (count > 0).then(|| Self { low, mean: sum / count as f64, high })
    }

    fn text(self) -> String {
        if self.low == self.high {
            return format!("{} each", number(self.low, 6));
        }
        format!("{} to {}, mean {}", number(self.low, 6), number(self.high, 6), number(self.mean, 6))
    }
}

/// Figures of the spheres of a frame.
struct Figures {
    count: u64,
    fixed: u64,
    /// The smallest and the largest id, if every sphere has one.
    ids: Option<(u32, u32)>,
    /// Ids that an earlier sphere has.
    repeated_ids: u64,
    radii: Option<Range>,
    /// Speeds of the spheres that are not fixed.
    speeds: Option<Range>,
    /// Sum of the masses, if every sphere has one.
    mass: Option<f64>,
    /// Energy of the motion of the centres and of the spins; fixed spheres have none.
    kinetic_energy: Option<f64>,
    momentum: Option<DVec3>,
    volume: f64,
    /// Area of the cross sections, if all spheres lie and move in the plane z = 0.
    area: Option<f64>,
    /// Corners of the smallest box that holds the spheres.
    extent: Option<(DVec3, DVec3)>,
    /// Numbers of spheres by material; without a name those without a material.
    materials: Vec<(Option<String>, u64)>,
}

impl Figures {
    fn of(spheres: &[Placed]) -> Self {
        let mut ids: Option<Vec<u32>> = spheres.iter().map(|sphere| sphere.id).collect();
        ids.iter_mut().for_each(|ids| ids.sort_unstable());
        let ids = ids.filter(|ids| !ids.is_empty());
        let repeats = |ids: &Vec<u32>| ids.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
        let moving = || spheres.iter().filter(|sphere| !sphere.fixed);
        // A solid sphere turns with the moment of inertia 2/5 m r^2.
        let energy = |s: &Placed| {
            let spin = 0.4 * s.radius * s.radius * s.spin.length_squared();
            Some(0.5 * s.mass? * (s.velocity.length_squared() + spin))
        };
        let mut materials: Vec<(Option<String>, u64)> = vec![];
        for sphere in spheres {
            match materials.iter_mut().find(|(name, _)| *name == sphere.material) {
                Some((_, count)) => *count += 1,
                None => materials.push((sphere.material.clone(), 1)),
            }
        }
        let corners = spheres.iter().map(|s| (s.position - s.radius, s.position + s.radius));
        let masses = || spheres.iter().map(|sphere| sphere.mass);
        let has_mass = masses().all(|mass| mass.is_some()) && !spheres.is_empty();
        let is_flat = spheres.iter().all(|sphere| sphere.position.z == 0.0 && sphere.velocity.z == 0.0);
        Self {
            count: spheres.len() as u64,
            fixed: (spheres.len() - moving().count()) as u64,
            repeated_ids: ids.as_ref().map_or(0, repeats),
            ids: ids.map(|ids| (ids[0], ids[ids.len() - 1])),
            radii: Range::of(spheres.iter().map(|sphere| sphere.radius)),
            speeds: Range::of(moving().map(|sphere| sphere.velocity.length())),
            mass: masses().sum::<Option<f64>>().filter(|_| has_mass),
            kinetic_energy: moving().map(energy).sum::<Option<f64>>().filter(|_| has_mass),
            momentum: moving()
                .try_fold(DVec3::ZERO, |sum, s| Some(sum + s.mass? * s.velocity))
                .filter(|_| has_mass),
            volume: spheres.iter().map(|s| 4.0 / 3.0 * PI * s.radius.powi(3)).sum(),
            area: is_flat.then(|| spheres.iter().map(|s| PI * s.radius * s.radius).sum()),
            extent: corners.reduce(|(low, high), (a, b)| (low.min(a), high.max(b))),
            materials,
        }
    }

    /// Volume of the spheres over that of the box.
    fn volume_fraction(&self, bounds: Option<FrameBounds>) -> Option<f64> {
        let size = bounds.map(|bounds| bounds.max - bounds.min)?;
        let fraction = match self.area {
            Some(area) => area / (size.x * size.y),
            None => self.volume / (size.x * size.y * size.z),
        };
        fraction.is_finite().then_some(fraction)
    }

    fn object(&self, frame: &Frame) -> Map<String, Value> {
        let range =
            |range: Option<Range>| range.map(|r| json!({ "min": r.low, "mean": r.mean, "max": r.high }));
        let vector = |v: DVec3| v.to_array();
        let materials: Vec<Value> =
            self.materials.iter().map(|(name, count)| json!({ "name": name, "spheres": count })).collect();
        let bounds = frame.bounds.map(|FrameBounds { min, max, periodic }| {
            json!({ "min": vector(min), "max": vector(max), "periodic": periodic })
        });
        let object = json!({
            "time": frame.time,
            "step": frame.step,
            "spheres": self.count,
            "fixed": self.fixed,
            "id_min": self.ids.map(|(low, _)| low),
            "id_max": self.ids.map(|(_, high)| high),
            "repeated_ids": self.repeated_ids,
            "box": bounds,
            "extent": self.extent.map(|(low, high)| json!({ "min": vector(low), "max": vector(high) })),
            "volume_fraction": self.volume_fraction(frame.bounds),
            "radius": range(self.radii),
            "speed": range(self.speeds),
            "mass": self.mass,
            "kinetic_energy": self.kinetic_energy,
            "momentum": self.momentum.map(vector),
            "materials": materials,
        });
        match object {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }

    fn lines(&self, frame: &Frame) -> Vec<(&'static str, String)> {
        let corners = |(low, high): (DVec3, DVec3)| {
            let words = |v: DVec3| v.to_array().map(|x| number(x, 6)).join(", ");
            format!("[{}] to [{}]", words(low), words(high))
        };
        let known = |x: Option<f64>| x.map_or("unknown".to_owned(), |x| number(x, 6));
        let step = frame.step.map_or(String::new(), |step| format!(", step {}", grouped(step)));
        let fixed = if self.fixed > 0 { format!(", {} fixed", grouped(self.fixed)) } else { String::new() };
        let bounds = frame.bounds.map_or("none".to_owned(), |FrameBounds { min, max, periodic }| {
            let axes: Vec<&str> = ["x", "y", "z"]
                .into_iter()
                .zip(periodic)
                .filter(|(_, is)| *is)
                .map(|(axis, _)| axis)
                .collect();
            let periodic =
                if axes.is_empty() { String::new() } else { format!(", periodic along {}", axes.join(", ")) };
            format!("{}{periodic}", corners((min, max)))
        });
        let ids = self.ids.map_or("none".to_owned(), |(low, high)| {
            let repeated = match self.repeated_ids {
                0 => "unique".to_owned(),
                count => format!("{} repeated", grouped(count)),
            };
            format!("{low} to {high}, {repeated}")
        });
        let materials: Vec<String> = self
            .materials
            .iter()
            .map(|(name, count)| {
                format!("{} {}", grouped(*count), name.as_deref().unwrap_or("without a name"))
            })
            .collect();
        let mut lines = vec![
            ("time", format!("{}{step}", known(frame.time))),
            ("spheres", format!("{}{fixed}", counted(self.count, "sphere"))),
            ("ids", ids),
            ("box", bounds),
        ];
        if let Some(extent) = self.extent {
            lines.push(("extent", corners(extent)));
        }
        if let Some(fraction) = self.volume_fraction(frame.bounds) {
            lines.push(("fraction", format!("{} of the box is filled", number(fraction, 4))));
        }
        if let Some(radii) = self.radii {
            lines.push(("radii", radii.text()));
        }
        if let Some(speeds) = self.speeds {
            lines.push(("speeds", speeds.text()));
        }
        lines.push(("mass", known(self.mass)));
        lines.push(("energy", format!("kinetic {}", known(self.kinetic_energy))));
        if self.materials.iter().any(|(name, _)| name.is_some()) {
            lines.push(("materials", materials.join(", ")));
        }
        lines
    }
}
