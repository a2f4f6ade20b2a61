//! `carom doctor`: examines the gpu backend on this machine.

#[cfg(feature = "gpu")]
pub use with_gpu::doctor;
#[cfg(not(feature = "gpu"))]
pub use without_gpu::doctor;

#[cfg(not(feature = "gpu"))]
mod without_gpu {
    use crate::cli::{
        arguments::DoctorArguments,
        command_error::{CommandError, Exit},
    };

    /// Fails in this build, which has no gpu backend to examine.
    pub fn doctor(_arguments: &DoctorArguments) -> Result<Exit, CommandError> {
        let message = "this build has no gpu backend to examine".to_owned();
        Err(CommandError { exit: Exit::NoAdapter, message })
    }
}

#[cfg(feature = "gpu")]
mod with_gpu {
    use std::path::Path;

    use carom::doctor::{self, Doctor, Section, Settings, Status, Table as Figures};
    use carom::gpu::AdapterInfo;
    use carom::{Error, doctor::Value as Figure};
    use serde_json::{Map, Value, json};

    use crate::cli::{
        adapters::kind_note,
        arguments::DoctorArguments,
        atomic_file::AtomicFile,
        command_error::{CommandError, Exit},
        date,
        interrupt::{self, Phase},
        run::print_object,
        screen::Screen,
        text::{Align, Table, duration, grouped, number},
    };

    /// Runs `carom doctor`.
    pub fn doctor(arguments: &DoctorArguments) -> Result<Exit, CommandError> {
        let mut screen = Screen::new(arguments.quiet, arguments.json);
        let settings = Settings {
            adapter: arguments.adapter.clone(),
            budget: arguments.budget,
            sections: arguments.section.clone(),
            tolerance: arguments.tolerance,
        };
        // Opened before minutes of work, so that an error shows early.
        arguments.out.as_deref().map(AtomicFile::create).transpose()?;
        interrupt::enter(Phase::Stepping);
        let mut doctor = Doctor::new(settings, &interrupt::requested)?;
        let adapter = doctor.adapter().cloned();
        screen.line(&format!("carom {}, {}", env!("CARGO_PKG_VERSION"), heading(&adapter)));
        adapter.as_ref().ok().and_then(kind_note).iter().for_each(|note| screen.note(note));
        let mut report = Report::new(&adapter);
        loop {
            if let Some((name, seconds)) = doctor.upcoming() {
                screen.note(&format!("{name}: at most about {}", duration(seconds)));
            }
            let Some(section) = doctor.next() else { break };
            print(&mut screen, &section);
            report.sections.push(section);
            if let Some(path) = &arguments.out {
                write(path, &report.object())?;
            }
        }
        interrupt::enter(Phase::Writing);
        screen.line(&format!("\n{}", overview(&report.sections).to_string().trim_end()));
        if arguments.json {
            print_object(&report.object())?;
        }
        end(&report, adapter.err())
    }

    fn heading(adapter: &Result<AdapterInfo, Error>) -> String {
        match adapter {
            Ok(info) => info.to_string(),
            Err(_) => "no adapter".to_owned(),
        }
    }

    // The exit code, which also tells whether anything was wrong.
    fn end(report: &Report, no_adapter: Option<Error>) -> Result<Exit, CommandError> {
        if let Some(error) = no_adapter {
            let failure = CommandError::from(error.clone());
            return Err(CommandError { message: error.to_string(), ..failure });
        }
        let of = |status| report.sections.iter().filter(move |section| section.status == status);
        let failed: Vec<&Section> = of(Status::Failed).collect();
        if !failed.is_empty() {
            let names: Vec<&str> = failed.iter().map(|section| section.name).collect();
            let first = failed[0].failures.first().map_or("", String::as_str);
            let message = format!("failed: {}; first of all, {}: {first}", names.join(", "), names[0]);
            return Err(CommandError { exit: Exit::Mismatch, message });
        }
        Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Done })
    }

    struct Report {
        date: String,
        adapter: Value,
        sections: Vec<Section>,
    }

    impl Report {
        fn new(adapter: &Result<AdapterInfo, Error>) -> Self {
            let adapter = match adapter {
                Ok(info) => json!({
                    "name": info.name,
                    "kind": info.kind.name(),
                    "is_gpu": info.is_hardware(),
                    "backend": info.backend,
                    "driver": info.driver,
                    "driver_info": info.driver_info,
                    "largest_buffer": info.largest_buffer,
                }),
                Err(_) => Value::Null,
            };
            Self { date: date::now(), adapter, sections: vec![] }
        }

        fn object(&self) -> Value {
            let machine = self.sections.iter().flat_map(|section| &section.tables);
            let machine = machine.filter(|table| table.name == "machine").map(figures_object).next();
            let sections: Vec<Value> = self.sections.iter().map(section_object).collect();
            json!({
                "carom": env!("CARGO_PKG_VERSION"),
                "date": self.date,
                "machine": machine,
                "adapter": self.adapter,
                "sections": sections,
            })
        }
    }

    fn section_object(section: &Section) -> Value {
        let mut object = Map::new();
        object.insert("name".to_owned(), section.name.into());
        object.insert("status".to_owned(), section.status.name().into());
        object.insert("seconds".to_owned(), json!(section.seconds));
        object.insert("failures".to_owned(), json!(section.failures));
        object.insert("notes".to_owned(), json!(section.notes));
        for table in &section.tables {
            object.insert(table.name.to_owned(), figures_object(table));
        }
        object.into()
    }

    // A record is an object, another table a list of objects.
    fn figures_object(table: &Figures) -> Value {
        let row = |row: &Vec<Figure>| {
            let pairs =
                table.columns.iter().zip(row).map(|(name, figure)| ((*name).to_owned(), value(figure)));
            Value::Object(pairs.collect())
        };
        let rows: Vec<Value> = table.rows.iter().map(row).collect();
        if table.is_record { rows.into_iter().next().unwrap_or(Value::Null) } else { rows.into() }
    }

    fn value(figure: &Figure) -> Value {
        match figure {
            Figure::Text(text) => text.as_str().into(),
            // JSON has no infinity.
            Figure::Number(x) => x.is_finite().then_some(*x).into(),
            Figure::Count(count) => (*count).into(),
            Figure::Flag(flag) => (*flag).into(),
            Figure::None => Value::Null,
        }
    }

    fn text(figure: &Figure) -> String {
        match figure {
            Figure::Text(text) => text.clone(),
            Figure::Number(x) => number(*x, 3),
            Figure::Count(count) => grouped(*count),
            Figure::Flag(true) => "yes".to_owned(),
            Figure::Flag(false) => "no".to_owned(),
            Figure::None => "-".to_owned(),
        }
    }

    fn print(screen: &mut Screen, section: &Section) {
        let status = section.status.name().replace('_', " ");
        screen.line(&format!("\n{}: {status}, {}", section.name, duration(section.seconds)));
        for table in section.tables.iter().filter(|table| !table.rows.is_empty()) {
            screen.line(&format!("\n  {}", table.name.replace('_', " ")));
            for line in table_text(table).lines() {
                screen.line(&format!("    {line}"));
            }
        }
        let has_text = !section.notes.is_empty() || !section.failures.is_empty();
        if has_text && !section.tables.is_empty() {
            screen.line("");
        }
        section.notes.iter().for_each(|note| screen.line(&format!("  note: {note}")));
        section.failures.iter().for_each(|failure| screen.line(&format!("  FAILED: {failure}")));
    }

    fn table_text(figures: &Figures) -> String {
        if figures.is_record {
            let width = figures.columns.iter().map(|name| name.len()).max().unwrap_or(0);
            let pairs = figures.columns.iter().zip(figures.rows.iter().flatten());
            let line = |(name, figure): (&&str, &Figure)| {
                format!("{:<width$}  {}\n", name.replace('_', " "), text(figure))
            };
            return pairs.map(line).collect();
        }
        let names: Vec<String> = figures.columns.iter().map(|name| name.replace('_', " ")).collect();
        let is_text = |column: usize| {
            figures.rows.iter().any(|row| matches!(row[column], Figure::Text(_) | Figure::Flag(_)))
        };
        let align = |column| if is_text(column) { Align::Left } else { Align::Right };
        let header: Vec<_> = names.iter().enumerate().map(|(k, name)| (name.as_str(), align(k))).collect();
        let mut table = Table::new(&header);
        figures.rows.iter().for_each(|row| table.row(row.iter().map(text).collect()));
        table.to_string()
    }

    // One line for each section.
    fn overview(sections: &[Section]) -> Table {
        let mut table = Table::new(&[
            ("section", Align::Left),
            ("status", Align::Left),
            ("seconds", Align::Right),
            ("", Align::Left),
        ]);
        for section in sections {
            let is_reason = |note: &&String| {
                section.status == Status::Skipped
                    || ["cut short: ", "interrupted: "].iter().any(|text| note.starts_with(text))
            };
            let is_whole = section.status == Status::Ok;
            let reason = section.notes.iter().find(is_reason).filter(|_| !is_whole);
            let first = section.failures.first().or(reason);
            table.row(vec![
                section.name.to_owned(),
                section.status.name().replace('_', " "),
                number(section.seconds, 3),
                first.cloned().unwrap_or_default(),
            ]);
        }
        debug_assert_eq!(sections.len(), doctor::SECTIONS.len());
        table
    }

    fn write(path: &Path, object: &Value) -> Result<(), CommandError> {
        let mut file = AtomicFile::create(path)?;
        file.line(&format!("{object:#}"))?;
        file.commit()
    }
}
