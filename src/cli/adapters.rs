//! `carom adapters` lists the adapters. This module also chooses the backend and opens the device of every command.

use carom::{Backend, Options, Simulation, StepReport};
use serde_json::Value;

use super::arguments::{AdaptersArguments, BackendChoice};
use super::command_error::{CommandError, Exit};

#[cfg(feature = "gpu")]
pub use with_gpu::{adapters, fields, keep_layers_silent, kind_note, least_traffic};
#[cfg(not(feature = "gpu"))]
pub use without_gpu::{adapters, fields, keep_layers_silent, least_traffic};

/// The backend and device chosen on this machine.
#[derive(Clone)]
pub struct Chosen {
    pub backend: Backend,
    /// A note to the user about the choice.
    pub note: Option<String>,
    /// The opened device.
    #[cfg(feature = "gpu")]
    context: Option<carom::gpu::Context>,
}

impl Chosen {
    fn without_adapter(backend: Backend, note: Option<String>) -> Self {
        Self {
            backend,
            note,
            #[cfg(feature = "gpu")]
            context: None,
        }
    }

    /// The backend, and the adapter if there is one.
    pub fn describe(&self) -> String {
        #[cfg(feature = "gpu")]
        if let Some(context) = &self.context {
            return format!("{}: {}", self.backend.name(), context.info());
        }
        self.backend.name().to_owned()
    }

    /// Whether the backend runs on an adapter.
    pub fn is_on_adapter(&self) -> bool {
        !matches!(self.backend, Backend::Cpu | Backend::Exact)
    }

    /// Bandwidth of a plain copy on the device (bytes per second, reads plus writes); `None` without a device.
    pub fn copy_bandwidth(&self) -> Result<Option<f64>, CommandError> {
        #[cfg(feature = "gpu")]
        if let Some(context) = &self.context {
            return Ok(Some(context.copy_bandwidth()?));
        }
        Ok(None)
    }

    /// The options of a run with this choice.
    pub fn options(&self, threads: usize) -> Options {
        Options {
            backend: self.backend,
            threads,
            #[cfg(feature = "gpu")]
            context: self.context.clone(),
            ..Options::default()
        }
    }
}

/// Resolves `choice`; `adapter` is the requested name of an adapter.
pub fn choose(choice: BackendChoice, adapter: Option<&str>) -> Result<Chosen, CommandError> {
    let unused = adapter.map(|_| "note: --adapter is for the gpu backend".to_owned());
    match choice {
        BackendChoice::Cpu => Ok(Chosen::without_adapter(Backend::Cpu, unused)),
        BackendChoice::Exact => Ok(Chosen::without_adapter(Backend::Exact, unused)),
        #[cfg(feature = "gpu")]
        BackendChoice::Gpu => with_gpu::open(adapter),
        #[cfg(feature = "gpu")]
        BackendChoice::Auto => with_gpu::hardware_or_cpu(adapter),
        #[cfg(not(feature = "gpu"))]
        BackendChoice::Gpu => Err(without_gpu::failure()),
        #[cfg(not(feature = "gpu"))]
        BackendChoice::Auto => {
            let note = "note: this build has no gpu backend; running on cpu".to_owned();
            Ok(Chosen::without_adapter(Backend::Cpu, Some(note)))
        }
    }
}

#[cfg(feature = "gpu")]
mod with_gpu {
    use carom::Error;
    use carom::gpu::{self, AdapterInfo, AdapterKind, Context};
    use indicatif::HumanBytes;
    use serde_json::json;

    use super::*;
    use crate::cli::{
        run::print_object,
        screen::Screen,
        text::{Align, Table},
    };

    pub fn open(adapter: Option<&str>) -> Result<Chosen, CommandError> {
        Ok(on(Context::open(adapter)?))
    }

    // A name on the command line is a requirement, so a name without a match is an error; a name in the environment is not.
    pub fn hardware_or_cpu(adapter: Option<&str>) -> Result<Chosen, CommandError> {
        let why_not = match gpu::preferred(adapter) {
            Ok(info) if info.is_hardware() => match Context::open(adapter) {
                Ok(context) => return Ok(on(context)),
                Err(error) => error.to_string(),
            },
            Ok(info) => not_hardware(&info),
            Err(error @ Error::NoAdapter(_)) if adapter.is_some() => return Err(error.into()),
            Err(error) => error.to_string(),
        };
        let note = format!("note: running on cpu, not gpu: {why_not}");
        Ok(Chosen::without_adapter(Backend::Cpu, Some(note)))
    }

    fn on(context: Context) -> Chosen {
        let note = kind_note(context.info());
        Chosen { backend: Backend::Gpu, note, context: Some(context) }
    }

    /// A note to the user about the adapter in use, if it needs one.
    pub fn kind_note(info: &AdapterInfo) -> Option<String> {
        match info.kind {
            AdapterKind::Software => {
                Some(format!("note: {info} is a software adapter, not a GPU: it computes on the processor"))
            }
            AdapterKind::Other => Some(format!("note: {info} is not known to be a GPU")),
            _ => None,
        }
    }

    fn not_hardware(info: &AdapterInfo) -> String {
        let what = match info.kind {
            AdapterKind::Software => "a software adapter",
            _ => "not known to be a GPU",
        };
        format!("{info} is {what}; --backend gpu runs on it all the same")
    }

    /// Stops a Mesa layer of the Vulkan loader from asking an absent display for its adapter; the Wayland library would then
    /// print errors among carom's output.
    ///
    /// Call it before the process starts a second thread.
    pub fn keep_layers_silent() {
        let set = |name: &str| std::env::var_os(name).is_some();
        // Wayland needs the first variable; the second makes the layer look for an adapter; the third disables the layer.
        let no_use = !["XDG_RUNTIME_DIR", "MESA_VK_DEVICE_SELECT", "NODEVICE_SELECT"].into_iter().any(set);
        if cfg!(target_os = "linux") && no_use {
            // SAFETY: this is the only thread, so no other thread reads the environment at the same time.
            unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
        }
    }

    /// The values of `adapter` and `adapter_type` in objects of `--json`; null without an adapter.
    pub fn fields(simulation: &Simulation) -> (Value, Value) {
        simulation
            .adapter()
            .map_or((Value::Null, Value::Null), |info| (info.name.into(), info.kind.name().into()))
    }

    /// Lower bound on the bytes that a step on a device reads and writes, by stage.
    pub fn least_traffic(spheres: usize, report: &StepReport) -> Vec<u64> {
        gpu::least_traffic(spheres, report)
    }

    /// Runs `carom adapters`.
    pub fn adapters(arguments: &AdaptersArguments) -> Result<Exit, CommandError> {
        let mut screen = Screen::new(false, arguments.json);
        let adapters = gpu::adapters();
        let preferred = gpu::preferred(None);
        if let (true, Err(error)) = (adapters.is_empty(), &preferred) {
            return Err(error.clone().into());
        }
        let taken = preferred.as_ref().ok().filter(|info| info.is_hardware());
        let place = adapters.iter().position(|info| Some(info) == taken);
        if arguments.json {
            let rows: Vec<Value> =
                adapters.iter().enumerate().map(|(row, info)| object(info, Some(row) == place)).collect();
            print_object(&json!({ "adapters": rows }))?;
        } else {
            screen.line(table(&adapters, place).trim_end());
        }
        match (place, preferred) {
            (Some(_), _) => {}
            (None, Ok(info)) => screen.note(&format!("note: auto runs on cpu: {}", not_hardware(&info))),
            (None, Err(error)) => screen.note(&format!("note: auto runs on cpu: {error}")),
        }
        Ok(Exit::Done)
    }

    fn table(adapters: &[AdapterInfo], taken: Option<usize>) -> String {
        let mut table = Table::new(&[
            ("name", Align::Left),
            ("kind", Align::Left),
            ("backend", Align::Left),
            ("driver", Align::Left),
            ("largest buffer", Align::Right),
            ("auto", Align::Left),
        ]);
        for (row, info) in adapters.iter().enumerate() {
            table.row(vec![
                info.name.clone(),
                info.kind.name().to_owned(),
                info.backend.to_owned(),
                format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
                HumanBytes(info.largest_buffer).to_string(),
                if Some(row) == taken { "yes" } else { "no" }.to_owned(),
            ]);
        }
        table.to_string()
    }

    fn object(info: &AdapterInfo, auto: bool) -> Value {
        json!({
            "adapter": info.name,
            "adapter_type": info.kind.name(),
            "backend": info.backend,
            "driver": info.driver,
            "driver_info": info.driver_info,
            "largest_buffer": info.largest_buffer,
            "auto": auto,
        })
    }
}

#[cfg(not(feature = "gpu"))]
mod without_gpu {
    use super::*;

    pub fn failure() -> CommandError {
        let message = "this build has no gpu backend; use --backend cpu".to_owned();
        CommandError { exit: Exit::NoAdapter, message }
    }

    /// Does nothing in this build, which has no layers to silence.
    pub fn keep_layers_silent() {}

    /// The values of `adapter` and `adapter_type` in objects of `--json`: null in this build, which uses no adapter.
    pub fn fields(_simulation: &Simulation) -> (Value, Value) {
        (Value::Null, Value::Null)
    }

    /// Empty in this build, which has no devices.
    pub fn least_traffic(_spheres: usize, _report: &StepReport) -> Vec<u64> {
        vec![]
    }

    /// Runs `carom adapters`.
    pub fn adapters(_arguments: &AdaptersArguments) -> Result<Exit, CommandError> {
        Err(failure())
    }
}
