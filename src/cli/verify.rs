//! `carom verify`: compares the gpu and the cpu backend in lockstep.

#[cfg(feature = "gpu")]
pub use with_gpu::verify;
#[cfg(not(feature = "gpu"))]
pub use without_gpu::verify;

#[cfg(not(feature = "gpu"))]
mod without_gpu {
    use crate::cli::{
        arguments::VerifyArguments,
        command_error::{CommandError, Exit},
    };

    /// Fails in this build, which has no gpu backend to compare.
    pub fn verify(_arguments: &VerifyArguments) -> Result<Exit, CommandError> {
        let message = "this build has no gpu backend to compare with cpu".to_owned();
        Err(CommandError { exit: Exit::NoAdapter, message })
    }
}

#[cfg(feature = "gpu")]
mod with_gpu {
    use std::time::Instant;

    use carom::gpu::Context;
    use carom::verify::{Agreement, Lockstep, Mismatch, StageAgreement};
    use carom::{Error, System};
    use serde_json::{Value, json};

    use crate::cli::{
        adapters::kind_note,
        arguments::VerifyArguments,
        command_error::{CommandError, Exit},
        interrupt::{self, Phase},
        run::print_object,
        screen::{Progress, Screen},
        source::{self, Source},
        text::{Align, Table, counted, duration, grouped, number},
    };

    // Number of table lines; they fit on one screen.
    const ROWS: u64 = 20;

    // Near-ties per thousand impacts above which rounding alone is not the cause.
    const MANY: f64 = 5.0;

    /// Runs `carom verify`.
    pub fn verify(arguments: &VerifyArguments) -> Result<Exit, CommandError> {
        let mut screen = Screen::new(arguments.quiet, arguments.json);
        let Source { name, scene } = source::scene(&arguments.scene, &arguments.settings, arguments.seed)?;
        let context = Context::open(arguments.adapter.as_deref()).map_err(|error| match error {
            Error::NoAdapter(text) => CommandError { exit: Exit::NoAdapter, message: text },
            error => error.into(),
        })?;
        let (system, notes) = scene.build_with_notes()?;
        let spheres = system.spheres.len() as u64;
        let tolerance = arguments.tolerance.unwrap_or(Lockstep::ROUNDING);
        screen.line(&format!(
            "{name}: {}, {} of {} on gpu and cpu: {}",
            counted(spheres, "sphere"),
            counted(arguments.steps, "step"),
            number(scene.world.dt, 4),
            context.info()
        ));
        if let Some(note) = kind_note(context.info()) {
            screen.note(&note);
        }
        notes.iter().for_each(|note| screen.note(&format!("note: {note}")));

        let start = Instant::now();
        let mut run = Run { agreed: 0, total: Agreement::default(), stages: vec![], mismatch: None, start };
        interrupt::enter(Phase::Stepping);
        run.step_to_end(system, context.clone(), tolerance, arguments, &mut screen)?;
        interrupt::enter(Phase::Writing);
        run.describe_end(&mut screen, tolerance);
        if arguments.json {
            let info = context.info();
            let mut object = run.object(tolerance);
            object["adapter"] = info.name.clone().into();
            object["adapter_type"] = info.kind.name().into();
            object["sphere_count"] = spheres.into();
            print_object(&object)?;
        }
        if let Some(mismatch) = run.mismatch {
            return Err(CommandError { exit: Exit::Mismatch, message: mismatch.to_string() });
        }
        if run.agreed < arguments.steps && interrupt::requested() {
            screen.note(&format!("interrupted after step {} of {}", run.agreed, arguments.steps));
            return Ok(Exit::Interrupted);
        }
        Ok(Exit::Done)
    }

    struct Run {
        /// Number of steps on which both backends agree.
        agreed: u64,
        total: Agreement,
        /// With `--stages`: the stages of all steps.
        stages: Vec<StageAgreement>,
        mismatch: Option<Mismatch>,
        start: Instant,
    }

    impl Run {
        fn step_to_end(
            &mut self,
            system: System,
            context: Context,
            tolerance: f64,
            arguments: &VerifyArguments,
            screen: &mut Screen,
        ) -> Result<(), CommandError> {
            let dt = system.dt;
            let every = arguments.steps.div_ceil(ROWS);
            let mut lockstep = Lockstep::new(system, context, arguments.threads, tolerance)?;
            screen.line(&format!(
                "{:>9}  {:>10}  {:>10}  {:>9}  {:>9}  {:>11}  {:>9}",
                "step", "time", "impacts", "near-ties", "followers", "worst share", "ms/step"
            ));
            let mut progress = Progress::start(screen, arguments.steps);
            let (mut row, mut row_start) = (Agreement::default(), Instant::now());
            while self.agreed < arguments.steps
                && !interrupt::requested()
                && (arguments.json || !screen.closed())
            {
                if arguments.stages {
                    let stages = lockstep.stages()?;
                    self.mismatch = stages.iter().find_map(|stage| stage.mismatch.clone());
                    StageAgreement::add_all(&mut self.stages, stages);
                    if self.mismatch.is_some() {
                        break;
                    }
                }
                match lockstep.step()? {
                    Ok(agreement) => {
                        self.agreed += 1;
                        add(&mut row, &agreement);
                        add(&mut self.total, &agreement);
                    }
                    Err(mismatch) => {
                        self.mismatch = Some(mismatch);
                        break;
                    }
                }
                progress.advance(screen, self.agreed);
                let steps = (self.agreed - 1) % every + 1;
                if steps == every || self.agreed == arguments.steps {
                    let seconds = row_start.elapsed().as_secs_f64() / steps as f64;
                    screen.line(&format!(
                        "{:>9}  {:>10}  {:>10}  {:>9}  {:>9}  {:>11}  {:>9}",
                        self.agreed,
                        number(dt * self.agreed as f64, 5),
                        row.impacts,
                        row.near_ties,
                        row.followers,
                        number(row.worst, 2),
                        number(1e3 * seconds, 3)
                    ));
                    (row, row_start) = (Agreement::default(), Instant::now());
                }
            }
            progress.finish(screen);
            Ok(())
        }

        fn describe_end(&self, screen: &mut Screen, tolerance: f64) {
            let Agreement { impacts, near_ties, followers, worst, .. } = self.total;
            let share = 1e3 * near_ties as f64 / impacts.max(1) as f64;
            screen.line("");
            for (name, text) in [
                (
                    "agreed",
                    format!(
                        "{}, each from equal states, in {}",
                        counted(self.agreed, "step"),
                        duration(self.start.elapsed().as_secs_f64())
                    ),
                ),
                (
                    "impacts",
                    format!(
                        "{}, near-ties {} ({} in a thousand), {} that follow from them",
                        grouped(impacts),
                        grouped(near_ties),
                        number(share, 2),
                        grouped(followers)
                    ),
                ),
                (
                    "largest",
                    format!(
                        "difference {} of what is allowed; tolerance {}",
                        number(worst, 2),
                        number(tolerance, 2)
                    ),
                ),
            ] {
                screen.line(&format!("{name:<10}{text}"));
            }
            if !self.stages.is_empty() {
                screen.line(&format!("\n{}", table_of(&self.stages).to_string().trim_end()));
            }
            if share > MANY && near_ties > 10 {
                screen.note(&format!(
                    "note: {} near-ties in a thousand impacts are many: spheres that touch or meet at one instant, or \
                     very fast ones",
                    number(share, 2)
                ));
            }
        }

        fn object(&self, tolerance: f64) -> Value {
            let Agreement { impacts, near_ties, followers, worst, .. } = self.total;
            json!({
                "agreed": self.mismatch.is_none(),
                "steps": self.agreed,
                "impacts": impacts,
                "near_ties": near_ties,
                "followers": followers,
                "worst": worst,
                "tolerance": tolerance,
                "wall_seconds": self.start.elapsed().as_secs_f64(),
                "stages": (!self.stages.is_empty()).then(|| self.stages.iter().map(stage_object).collect::<Vec<_>>()),
                "mismatch": self.mismatch.as_ref().map(|m| json!({
                    "step": m.step,
                    "stage": m.stage,
                    "sphere": m.sphere,
                    "what": m.what,
                    "gpu": m.gpu,
                    "cpu": m.cpu,
                    "allowed": m.allowed,
                })),
            })
        }
    }

    // The stages, with their largest differences.
    fn table_of(stages: &[StageAgreement]) -> Table {
        let columns = ["passes", "values", "near-ties", "worst share", "not compared"];
        let mut header = vec![("stage", Align::Left)];
        header.extend(columns.map(|name| (name, Align::Right)));
        let mut table = Table::new(&header);
        for stage in stages {
            table.row(vec![
                stage.stage.to_owned(),
                grouped(stage.passes),
                grouped(stage.values),
                grouped(stage.near_ties),
                number(stage.worst, 2),
                grouped(stage.halted),
            ]);
        }
        table
    }

    // JSON has no infinity: a value that has to be equal and differs has no share.
    fn stage_object(stage: &StageAgreement) -> Value {
        json!({
            "stage": stage.stage,
            "passes": stage.passes,
            "halted": stage.halted,
            "values": stage.values,
            "near_ties": stage.near_ties,
            "worst": stage.worst.is_finite().then_some(stage.worst),
            "agrees": stage.mismatch.is_none(),
        })
    }

    fn add(total: &mut Agreement, step: &Agreement) {
        total.impacts += step.impacts;
        total.near_ties += step.near_ties;
        total.followers += step.followers;
        total.spheres += step.spheres;
        total.worst = total.worst.max(step.worst);
    }
}
