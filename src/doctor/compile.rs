//! Section `compile`: time from opening a device to its first steps, and to compile the pipelines of every variant that the built-in
//! scenes need.

use std::time::Instant;

use super::{Examination, Table, Target, systems};
use crate::{
    Backend, Error, Options, Simulation,
    files::BUILTIN,
    gpu::{host_mirror::HostMirror, pipelines::Pipelines, shaders::Variant},
    state::columns::NEVER,
};

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    start(examination, target)?;
    let variants = variants(examination)?;
    // Its cache is empty, and stays apart from that of the user.
    let context = target.context.open_again(target.adapter.as_deref())?;
    let has_cache = context.pipeline_cache().is_some();
    if !has_cache {
        examination.note("the device has no pipeline cache: a program compiles at every start, unless the driver keeps a cache");
    }
    let columns = ["variant", "scenes", "pipelines", "seconds_cold", "seconds_warm"];
    let mut table = Table::new("variants", &columns);
    let total = variants.len();
    for (k, (variant, scenes)) in variants.into_iter().enumerate() {
        if examination.is_over(|| format!("{} of {total} variants were not compiled", total - k)) {
            break;
        }
        let seconds = || -> Result<f64, Error> {
            let begin = Instant::now();
            let pipelines = Pipelines::new(&context, variant);
            pipelines.compile(&context, pipelines.entries())?;
            Ok(begin.elapsed().as_secs_f64())
        };
        let cold =
            seconds().map_err(|error| Error::Unsupported(format!("{}: {error}", scenes.join(", "))))?;
        let warm = if has_cache { Some(seconds()?) } else { None };
        let pipelines: usize = variant.modules().map(|module| module.entries.len()).sum();
        table.row(vec![
            describe(variant).into(),
            scenes.join(" ").into(),
            pipelines.into(),
            cold.into(),
            warm.into(),
        ]);
    }
    examination.table(table);
    examination.note(
        "a driver may keep a cache of its own, which makes `cold` shorter than the first start of a program",
    );
    context.check()
}

// The phases of the start of a program; each is without the time in which pipelines are compiled. A driver that compiles a shader when
// it is first used does so in the first step.
fn start(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let columns =
        ["system", "open_device", "compile", "create", "first_step", "second_step", "until_first_step"];
    let mut table = Table::new("start_seconds", &columns);
    for (name, system) in [("gas", systems::gas(4096, 31)?), ("pile", systems::layers(12, 8)?)] {
        if examination.is_over(|| format!("the start of a {name}")) {
            break;
        }
        let begin = Instant::now();
        let context = target.context.open_again(target.adapter.as_deref())?;
        let open = begin.elapsed().as_secs_f64();
        let compiled = || context.compile_time().as_secs_f64();
        let timed = |begin: Instant, before: f64| begin.elapsed().as_secs_f64() - (compiled() - before);
        let options = Options { backend: Backend::Gpu, context: Some(context.clone()), ..Options::default() };
        let begin = Instant::now();
        let mut simulation = Simulation::new(system, options)?;
        let create = timed(begin, 0.0);
        let mut step = || -> Result<f64, Error> {
            let (begin, before) = (Instant::now(), compiled());
            simulation.step()?;
            Ok(timed(begin, before))
        };
        let first = step()?;
        let compile = compiled();
        let second = step()?;
        let total = open + compile + create + first;
        let mut row = vec![name.into()];
        row.extend([open, compile, create, first, second, total].map(Into::into));
        table.row(row);
    }
    examination.table(table);
    Ok(())
}

// The variants that the built-in scenes need, each with the names of its scenes.
fn variants(examination: &mut Examination) -> Result<Vec<(Variant, Vec<&'static str>)>, Error> {
    let mut found: Vec<(Variant, Vec<&'static str>)> = vec![];
    for scene in BUILTIN {
        if examination.is_over(|| format!("the variants of the scenes from {} on", scene.name)) {
            break;
        }
        let system = scene.load(&[]).map_err(|error| Error::Invalid(error.to_string()))?.build()?;
        if system.spheres.is_empty() {
            continue;
        }
        let variant = HostMirror::for_first_step(&system, |_| NEVER).0.variant();
        match found.iter_mut().find(|(other, _)| *other == variant) {
            Some((_, scenes)) => scenes.push(scene.name),
            None => found.push((variant, vec![scene.name])),
        }
    }
    Ok(found)
}

/// The properties of a variant, in words.
pub fn describe(variant: Variant) -> String {
    let words = [
        (!variant.is_direct, "hashed"),
        (variant.has_walls, "walls"),
        (variant.has_fixed, "fixed"),
        (variant.is_mixed, "mixed"),
        (variant.has_rest, "rest"),
        (variant.has_shapes, "shapes"),
        (variant.shrinks, "compression"),
    ];
    let words: Vec<&str> = words.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
    if words.is_empty() { "plain".to_owned() } else { words.join("+") }
}
