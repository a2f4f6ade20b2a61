//! Section `soak`: a longer run of a gas and its repetition, and the loss of a device.

use std::ops::ControlFlow;

use super::{Examination, Table, Target, physics, systems};
use crate::{Error, gpu::Context};

/// Spheres of the gas: many on hardware.
const SPHERES: [u64; 2] = [100_000, 4000];

/// Most seconds of both runs, and most steps of each.
const SECONDS: f64 = 60.0;
const STEPS: u64 = 100_000;

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    loss(examination, target)?;
    if !examination.is_over(|| "the long run".to_owned()) {
        long_run(examination, target)?;
    }
    Ok(())
}

fn long_run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let count = SPHERES[usize::from(target.is_software())];
    let system = systems::gas(count, 21)?;
    // The repetition takes as long as the run, and both need time to begin and to end.
    let share = 0.4 * (SECONDS / examination.clock.left()).min(1.0);
    let clock = examination.clock.part(share);
    let mut first = target.simulation(system.clone())?;
    let goes_on = |wanted: bool| if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    first.run(STEPS, |_| goes_on(!clock.is_over()))?;
    let steps = first.steps();
    let hash = first.try_state_hash()?;
    let energy_error = first.summary().energy_error.unwrap_or(f64::NAN);
    let impacts = first.summary().pair_impacts;
    drop(first);
    let mut second = target.simulation(system)?;
    second.run(steps, |_| goes_on(!examination.clock.is_stopped()))?;
    let is_equal = (second.steps() == steps).then_some(second.try_state_hash()? == hash);
    examination.table(Table::record(
        "long_run",
        vec![
            ("spheres", count.into()),
            ("steps", steps.into()),
            ("impacts", impacts.into()),
            ("energy_error", energy_error.into()),
            ("state_hash", format!("{hash:016x}").into()),
            ("repetition_is_equal", is_equal.into()),
        ],
    ));
    examination.expect(energy_error.abs() <= physics::ENERGY, || {
        format!("the energy of an elastic gas changes by {energy_error:.2e} of itself in {steps} steps")
    });
    examination
        .expect(is_equal != Some(false), || format!("the repetition of {steps} steps ends in another state"));
    if is_equal.is_none() {
        examination.is_over(|| "the repetition of the long run".to_owned());
    }
    Ok(())
}

// A device that is lost makes steps fail with an error that says so, and another device works.
fn loss(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let reported = target.context.open_again(target.adapter.as_deref())?;
    let error = after(&reported, target, || reported.report_lost("reported by the doctor"))?;
    let says_why = matches!(&error, Some(Error::DeviceLost(text)) if text.contains("reported by the doctor"));
    examination.expect(says_why, || format!("a step after a reported loss of the device returns {error:?}"));
    let destroyed = target.context.open_again(target.adapter.as_deref())?;
    let found = after(&destroyed, target, || destroyed.device.destroy())?;
    examination.expect(matches!(found, Some(Error::DeviceLost(_))), || {
        format!("a step on a destroyed device returns {found:?}")
    });
    let fresh = target.context.open_again(target.adapter.as_deref())?;
    let last = after(&fresh, target, || ())?;
    examination.expect(last.is_none(), || format!("a new device after the loss of another fails: {last:?}"));
    let text = |error: Option<Error>| error.map_or("no error".to_owned(), |error| error.to_string());
    examination.table(Table::record(
        "device_loss",
        vec![
            ("reported", text(error).into()),
            ("destroyed", text(found).into()),
            ("new_device", text(last).into()),
        ],
    ));
    Ok(())
}

// The error of the steps after an event on the device.
fn after(context: &Context, target: &Target, event: impl FnOnce()) -> Result<Option<Error>, Error> {
    let target = Target { context: context.clone(), adapter: None, tolerance: target.tolerance };
    let mut simulation = target.simulation(systems::gas(300, 2)?)?;
    simulation.step()?;
    event();
    Ok(simulation.run(3, |_| ControlFlow::Continue(())).err())
}
