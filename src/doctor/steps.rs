//! Section `steps`: whole steps of the built-in scenes, at reduced sizes, on the device and the cpu engine in lockstep.

use std::time::Instant;

use super::{Examination, Table, Target};
use crate::{
    Error, System,
    files::{BUILTIN, Builtin},
    verify::{Agreement, Lockstep, Mismatch},
};

/// Spheres in the random fills of a scene; larger scenes are scaled down.
const MOST_SPHERES: u32 = 400;

/// Steps of the cpu engine alone between two comparisons.
const BETWEEN: u64 = 15;

/// Threads of the cpu engine: the systems are small.
const THREADS: usize = 4;

/// A scene under comparison.
struct Pair {
    name: &'static str,
    lockstep: Lockstep,
    spheres: usize,
    compared: u64,
    seconds: f64,
    total: Agreement,
    mismatch: Option<Mismatch>,
}

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let mut pairs: Vec<Pair> = vec![];
    for (k, scene) in BUILTIN.iter().enumerate() {
        if examination
            .is_over(|| format!("{} of {} scenes were not compared", BUILTIN.len() - k, BUILTIN.len()))
        {
            break;
        }
        let begun = Instant::now();
        let Some(mut pair) = begin(examination, target, scene)? else { continue };
        pair.step()?;
        pair.seconds = begun.elapsed().as_secs_f64();
        pairs.push(pair);
    }
    // Later states of every scene, as long as there is time.
    'rounds: loop {
        for pair in pairs.iter_mut().filter(|pair| pair.mismatch.is_none()) {
            if examination.clock.is_over() {
                break 'rounds;
            }
            let begun = Instant::now();
            pair.lockstep.skip(BETWEEN)?;
            pair.step()?;
            pair.seconds += begun.elapsed().as_secs_f64();
        }
        if pairs.iter().all(|pair| pair.mismatch.is_some()) {
            break;
        }
    }
    let mut table = Table::new(
        "scenes",
        &["scene", "spheres", "steps", "impacts", "near_ties", "worst", "agrees", "seconds"],
    );
    for pair in pairs {
        let Agreement { impacts, near_ties, worst, .. } = pair.total;
        table.row(vec![
            pair.name.into(),
            pair.spheres.into(),
            pair.compared.into(),
            impacts.into(),
            near_ties.into(),
            worst.into(),
            pair.mismatch.is_none().into(),
            pair.seconds.into(),
        ]);
        if let Some(mismatch) = pair.mismatch {
            examination.fail(format!("{}: {mismatch}", pair.name));
        }
    }
    examination.table(table);
    Ok(())
}

// The pair before its first step; none, with a note, where scenes of this kind are not compared.
fn begin(examination: &mut Examination, target: &Target, scene: &Builtin) -> Result<Option<Pair>, Error> {
    let system = small(scene)?;
    let spheres = system.spheres.len();
    if spheres == 0 {
        examination.note(format!("{} is left out: it begins without spheres", scene.name));
        return Ok(None);
    }
    match Lockstep::new(system, target.context.clone(), THREADS, target.tolerance) {
        Ok(lockstep) => {
            let (total, mismatch) = (Agreement::default(), None);
            Ok(Some(Pair { name: scene.name, lockstep, spheres, compared: 0, seconds: 0.0, total, mismatch }))
        }
        Err(Error::Unsupported(why)) => {
            examination.note(format!("{} is left out: {why}", scene.name));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

// The scene with few spheres; as it is, where it has no other size.
fn small(scene: &Builtin) -> Result<System, Error> {
    let whole = scene.load(&[]).map_err(|error| Error::Invalid(error.to_string()))?;
    if whole.random_count() > MOST_SPHERES.into()
        && let Ok(system) = whole.resized(MOST_SPHERES).and_then(|small| small.build())
    {
        return Ok(system);
    }
    whole.build()
}

impl Pair {
    fn step(&mut self) -> Result<(), Error> {
        match self.lockstep.step()? {
            Ok(agreement) => {
                self.compared += 1;
                self.total.impacts += agreement.impacts;
                self.total.near_ties += agreement.near_ties;
                self.total.worst = self.total.worst.max(agreement.worst);
            }
            Err(mismatch) => self.mismatch = Some(mismatch),
        }
        Ok(())
    }
}
