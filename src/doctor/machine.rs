//! Section `machine`: the processor, the adapters with their limits, the largest systems that fit, and what is missing.

use std::{env, fs, path::Path, thread::available_parallelism};

use super::{Examination, Table, Target, Value, systems};
use crate::{
    Error, System,
    cpu::neighbors::Candidate,
    gpu::{adapter, buffer_layout::Capacities, host_mirror::HostMirror},
    state::columns::NEVER,
};

/// Spheres of the systems from which the sizes of larger ones follow.
const SAMPLE: u64 = 4096;

/// Features that carom uses or may use, with their names in the table.
const FEATURES: [(&str, wgpu::Features); 6] = [
    ("timestamps", wgpu::Features::TIMESTAMP_QUERY),
    ("pipeline cache", wgpu::Features::PIPELINE_CACHE),
    ("@coherent", wgpu::Features::MEMORY_DECORATION_COHERENT),
    ("subgroups", wgpu::Features::SUBGROUP),
    ("f64", wgpu::Features::SHADER_F64),
    ("u64 atomics", wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS),
];

/// What needs no device: the machine, the list of adapters, and missing programs.
pub fn describe(examination: &mut Examination) {
    let memory = memory().map(|[all, free]| (all, free));
    examination.table(Table::record(
        "machine",
        vec![
            ("carom", env!("CARGO_PKG_VERSION").into()),
            ("debug_build", cfg!(debug_assertions).into()),
            ("os", env::consts::OS.into()),
            ("architecture", env::consts::ARCH.into()),
            ("processor", processor().into()),
            ("cores", available_parallelism().map_or(1, usize::from).into()),
            ("memory_bytes", memory.map(|(all, _)| all).into()),
            ("free_memory_bytes", memory.map(|(_, free)| free).into()),
            ("display", has_display().into()),
            ("ffmpeg", is_on_path("ffmpeg").into()),
        ],
    ));
    let mut table = Table::new(
        "adapters",
        &["name", "kind", "backend", "driver", "binding_bytes", "buffer_bytes", "features"],
    );
    for (info, limits, features) in adapter::all() {
        let has = FEATURES.iter().filter(|(_, feature)| features.contains(*feature)).map(|(name, _)| *name);
        table.row(vec![
            info.name.into(),
            info.kind.name().into(),
            info.backend.into(),
            format!("{} {}", info.driver, info.driver_info).trim().into(),
            limits.max_storage_buffer_binding_size.into(),
            limits.max_buffer_size.into(),
            has.collect::<Vec<_>>().join(", ").into(),
        ]);
    }
    let is_without_hardware = table.rows.iter().all(|row| {
        let kinds = ["discrete", "integrated", "virtual"];
        !kinds.iter().any(|kind| row[1] == Value::Text((*kind).to_owned()))
    });
    examination.table(table);
    missing(examination, is_without_hardware);
}

// Notes with the command that installs each missing thing.
fn missing(examination: &mut Examination, is_without_hardware: bool) {
    let is_linux = cfg!(target_os = "linux");
    if is_without_hardware {
        examination.note(if is_linux {
            "no GPU: install the Vulkan driver of its vendor (Debian, Ubuntu: AMD and Intel \
             `apt-get install mesa-vulkan-drivers`, NVIDIA `apt-get install nvidia-driver`), and allow the user to open \
             /dev/dri (`usermod -aG render,video NAME`)"
        } else {
            "no GPU: install the driver of its vendor"
        });
        if is_linux && !Path::new("/dev/dri").exists() && !Path::new("/dev/nvidia0").exists() {
            examination.note("the system shows no GPU: neither /dev/dri nor /dev/nvidia0 exists");
        }
    }
    if !has_display() {
        examination.note(
            "no display: `carom view` needs one; `carom render` does without (Debian, Ubuntu: `apt-get install xvfb`, \
             then `xvfb-run carom view`)",
        );
    }
    if !is_on_path("ffmpeg") {
        let install = match env::consts::OS {
            "macos" => "brew install ffmpeg",
            "windows" => "winget install ffmpeg",
            _ => "apt-get install ffmpeg",
        };
        examination.note(format!("no ffmpeg: `carom render` writes no .mp4; `{install}` installs it"));
    }
}

/// The largest systems that the device can hold.
pub fn limits(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let context = &target.context;
    let info = context.info();
    examination.table(Table::record(
        "adapter",
        vec![
            ("name", info.name.as_str().into()),
            ("kind", info.kind.name().into()),
            ("backend", info.backend.into()),
            ("driver", format!("{} {}", info.driver, info.driver_info).trim().into()),
        ],
    ));
    if target.is_software() {
        examination.note(format!("{info} is not known to be a GPU: the shaders run on the processor above, unless the driver is mistaken"));
    }
    let limits = context.device.limits();
    let mut table = Table::record("limits", vec![]);
    for (name, value) in [
        ("max_storage_buffer_binding_size", limits.max_storage_buffer_binding_size),
        ("max_buffer_size", limits.max_buffer_size),
        ("max_storage_buffers_per_shader_stage", limits.max_storage_buffers_per_shader_stage.into()),
        ("max_compute_invocations_per_workgroup", limits.max_compute_invocations_per_workgroup.into()),
        ("max_compute_workgroup_storage_size", limits.max_compute_workgroup_storage_size.into()),
        ("max_compute_workgroups_per_dimension", limits.max_compute_workgroups_per_dimension.into()),
    ] {
        table.columns.push(name);
        table.rows[0].push(value.into());
    }
    examination.table(table);
    let mut table = Table::new("largest", &["system", "spheres", "bytes_on_device", "bytes_per_sphere"]);
    for (name, system) in [("gas", systems::gas(SAMPLE, 1)?), ("pile", systems::pile([8, 16])?)] {
        let (most, bytes) = largest(&system, &limits);
        table.row(vec![name.into(), most.into(), bytes.into(), (bytes as f64 / most.max(1) as f64).into()]);
        examination.expect(most > 0, || format!("not even one sphere of a {name} fits on the device"));
    }
    examination.table(table);
    examination.note("the largest systems follow from the limits of the device; it may have less memory");
    Ok(())
}

// The largest number of such spheres, and the bytes of their buffers.
fn largest(system: &System, limits: &wgpu::Limits) -> (u64, u64) {
    let host = HostMirror::for_first_step(system, |_| NEVER).0;
    let layout = host.layout(Capacities::for_spheres(system.spheres.len(), false));
    let buckets = host.domain.grid.buckets;
    let most = layout.most_spheres(limits, buckets, Candidate::MAX_SPHERES as u64 + 1);
    (most, layout.scaled_to(most, buckets).0.bytes())
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Bytes of memory, and those that are free, where the system tells.
pub fn memory() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(1024 * line.split_whitespace().nth(1)?.parse::<u64>().ok()?)
    };
    Some([bytes("MemTotal:")?, bytes("MemAvailable:")?])
}

fn has_display() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(all(unix, not(target_os = "macos"))) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

fn is_on_path(program: &str) -> bool {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(&name).is_file()))
}
