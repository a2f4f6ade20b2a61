//! Lists the adapters and chooses one.

use std::fmt;

use crate::Error;

/// Kind of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares memory with the processor.
    Integrated,
    /// A GPU passed to a virtual machine.
    Virtual,
    /// A driver that computes in software on the processor.
    Software,
    /// The driver reports no kind.
    Other,
}

impl AdapterKind {
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        }
    }

    /// Returns true for a GPU: discrete, integrated or virtual.
    pub fn is_hardware(self) -> bool {
        matches!(self, Self::Discrete | Self::Integrated | Self::Virtual)
    }

    /// Returns true for a driver that is known to compute on the processor. An adapter of unknown kind is most likely a GPU.
    pub fn is_software(self) -> bool {
        self == Self::Software
    }

    // Order of preference; the lowest rank is chosen.
    fn rank(self, low_power: bool) -> u8 {
        match self {
            Self::Discrete => 1,
            Self::Integrated if low_power => 0,
            Self::Integrated => 2,
            Self::Virtual => 3,
            Self::Other => 4,
            Self::Software => 5,
        }
    }
}

impl From<wgpu::DeviceType> for AdapterKind {
    fn from(kind: wgpu::DeviceType) -> Self {
        match kind {
            wgpu::DeviceType::DiscreteGpu => Self::Discrete,
            wgpu::DeviceType::IntegratedGpu => Self::Integrated,
            wgpu::DeviceType::VirtualGpu => Self::Virtual,
            wgpu::DeviceType::Cpu => Self::Software,
            wgpu::DeviceType::Other => Self::Other,
        }
    }
}

/// An adapter as its driver describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdapterInfo {
    /// Name, as in `NVIDIA GeForce RTX 4070`.
    pub name: String,
    /// Kind of the adapter.
    pub kind: AdapterKind,
    /// `Vulkan`, `Metal` or `DX12`.
    pub backend: &'static str,
    /// Name of the driver; may be empty.
    pub driver: String,
    /// Version of the driver and other details from the driver; may be empty.
    pub driver_info: String,
    /// Largest buffer that a shader can bind (bytes).
    pub largest_buffer: u64,
}

impl AdapterInfo {
    pub(super) fn new(info: wgpu::AdapterInfo, limits: &wgpu::Limits) -> Self {
        Self {
            name: info.name,
            kind: info.device_type.into(),
            backend: backend_name(info.backend),
            driver: info.driver,
            driver_info: info.driver_info,
            largest_buffer: limits.max_buffer_size.min(limits.max_storage_buffer_binding_size),
        }
    }

    /// Returns true for a GPU (discrete, integrated or virtual), false for software.
    pub fn is_hardware(&self) -> bool {
        self.kind.is_hardware()
    }

    /// See [`AdapterKind::is_software`].
    pub fn is_software(&self) -> bool {
        self.kind.is_software()
    }
}

impl fmt::Display for AdapterInfo {
    /// For example `llvmpipe (LLVM 15.0.6, 256 bits) [software, Vulkan]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {}]", self.name, self.kind.name(), self.backend)
    }
}

/// All adapters of the backends that `WGPU_BACKEND` allows, in order of preference; empty without adapters.
/// `WGPU_ADAPTER_NAME` does not filter the list.
pub fn adapters() -> Vec<AdapterInfo> {
    found(allowed_backends().0).iter().map(describe).collect()
}

/// The adapter that [`Context::open`](super::Context::open) would choose; this function opens no device.
///
/// # Errors
/// [`Error::NoAdapter`], as in [`Context::open`](super::Context::open).
pub fn preferred(adapter_name: Option<&str>) -> Result<AdapterInfo, Error> {
    choose(adapter_name, &wgpu::Limits::default()).map(|adapter| describe(&adapter))
}

// The first adapter with this name that meets the `limits` that carom needs.
pub(super) fn choose(adapter_name: Option<&str>, limits: &wgpu::Limits) -> Result<wgpu::Adapter, Error> {
    let backends = allowed_backends().0;
    choose_of(found(backends), "", adapter_name, limits)
}

// The first such adapter that can draw into a window.
#[cfg(feature = "viewer")]
pub(super) fn choose_for(
    instance: &wgpu::Instance,
    surface: &wgpu::Surface<'_>,
    adapter_name: Option<&str>,
) -> Result<wgpu::Adapter, Error> {
    let mut all = found_by(instance, allowed_backends().0);
    all.retain(|adapter| adapter.is_surface_supported(surface));
    choose_of(all, " that can draw into a window", adapter_name, &wgpu::Limits::default())
}

fn choose_of(
    all: Vec<wgpu::Adapter>,
    which: &str,
    adapter_name: Option<&str>,
    limits: &wgpu::Limits,
) -> Result<wgpu::Adapter, Error> {
    if all.is_empty() {
        let (backends, looked_for) = allowed_backends();
        let hint = if backends.is_empty() { "" } else { what_to_install() };
        return Err(Error::NoAdapter(format!("no adapter{which} found: {looked_for}{hint}")));
    }
    let list = all.iter().map(|adapter| describe(adapter).to_string()).collect::<Vec<_>>().join("; ");
    let environment = std::env::var("WGPU_ADAPTER_NAME").ok();
    let (name, source) = match (adapter_name, &environment) {
        (Some(name), _) => (name, ""),
        (None, Some(name)) => (name.as_str(), " (WGPU_ADAPTER_NAME)"),
        (None, None) => ("", ""),
    };
    let wanted = name.to_lowercase();
    let named: Vec<wgpu::Adapter> =
        all.into_iter().filter(|adapter| adapter.get_info().name.to_lowercase().contains(&wanted)).collect();
    if named.is_empty() {
        return Err(Error::NoAdapter(format!(
            "no adapter{which} has `{name}` in its name{source}; found: {list}"
        )));
    }
    let mut why_not = vec![];
    for adapter in named {
        match lacking(&adapter.limits(), limits) {
            None => return Ok(adapter),
            Some(lack) => why_not.push(format!("{}: {lack}", describe(&adapter))),
        }
    }
    Err(Error::NoAdapter(format!("no adapter has what is needed: {}", why_not.join("; "))))
}

/// Describes the first limit in which `offered` falls short of the part of `wanted` that carom needs.
///
/// Only limits that the shaders depend on are compared: texture limits do not matter.
pub(super) fn lacking(offered: &wgpu::Limits, wanted: &wgpu::Limits) -> Option<String> {
    let pair = |of: fn(&wgpu::Limits) -> u64| (of(offered), of(wanted));
    let limits = [
        ("max_storage_buffers_per_shader_stage", pair(|l| l.max_storage_buffers_per_shader_stage.into())),
        ("max_storage_buffer_binding_size", pair(|l| l.max_storage_buffer_binding_size)),
        ("max_buffer_size", pair(|l| l.max_buffer_size)),
        ("max_bind_groups", pair(|l| l.max_bind_groups.into())),
        ("max_compute_invocations_per_workgroup", pair(|l| l.max_compute_invocations_per_workgroup.into())),
        ("max_compute_workgroup_size_x", pair(|l| l.max_compute_workgroup_size_x.into())),
        ("max_compute_workgroup_storage_size", pair(|l| l.max_compute_workgroup_storage_size.into())),
        ("max_compute_workgroups_per_dimension", pair(|l| l.max_compute_workgroups_per_dimension.into())),
    ];
    let (name, (has, needs)) = limits.into_iter().find(|(_, (has, needs))| has < needs)?;
    Some(format!("{name} is {has}, {needs} needed"))
}

/// All adapters, as [`adapters`] lists them, with their limits and features.
#[cfg(feature = "files")]
pub(crate) fn all() -> Vec<(AdapterInfo, wgpu::Limits, wgpu::Features)> {
    let all = found(allowed_backends().0);
    all.iter().map(|adapter| (describe(adapter), adapter.limits(), adapter.features())).collect()
}

fn describe(adapter: &wgpu::Adapter) -> AdapterInfo {
    AdapterInfo::new(adapter.get_info(), &adapter.limits())
}

// Adapters sorted by preference; adapters of one kind keep the order of the drivers.
fn found(backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    leave_out_sources(&mut descriptor);
    descriptor = descriptor.with_env();
    descriptor.backends = backends;
    refuse_fxc(&mut descriptor);
    found_by(&wgpu::Instance::new(descriptor), backends)
}

/// The instance that creates surfaces on a display, for the backends that `WGPU_BACKEND` allows.
#[cfg(feature = "viewer")]
pub(crate) fn instance_on(display: Box<dyn wgpu::wgt::WgpuHasDisplayHandle>) -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_with_display_handle(display);
    leave_out_sources(&mut descriptor);
    descriptor = descriptor.with_env();
    descriptor.backends = allowed_backends().0;
    refuse_fxc(&mut descriptor);
    wgpu::Instance::new(descriptor)
}

// In builds with debug assertions wgpu adds the source text and its line numbers to compiled shaders, as debug information, and then
// compiles for half as long again. A user of a graphics debugger can ask for it: WGPU_DEBUG=1.
fn leave_out_sources(descriptor: &mut wgpu::InstanceDescriptor) {
    descriptor.flags.remove(wgpu::InstanceFlags::DEBUG);
}

// Leaves out DirectX 12 where the compiler DXC is missing. The older FXC compiles for minutes, and refuses loops of the shaders. A user
// can ask for it: WGPU_DX12_COMPILER=fxc.
fn refuse_fxc(descriptor: &mut wgpu::InstanceDescriptor) {
    let compiler = &mut descriptor.backend_options.dx12.shader_compiler;
    if matches!(compiler, wgpu::Dx12Compiler::Auto) {
        *compiler = wgpu::Dx12Compiler::DynamicDxc { dxc_path: "dxcompiler.dll".to_owned() };
    }
}

fn found_by(instance: &wgpu::Instance, backends: wgpu::Backends) -> Vec<wgpu::Adapter> {
    let mut all = pollster::block_on(instance.enumerate_adapters(backends));
    let low_power = wgpu::PowerPreference::from_env() == Some(wgpu::PowerPreference::LowPower);
    all.sort_by_key(|adapter| AdapterKind::from(adapter.get_info().device_type).rank(low_power));
    all
}

// The backends to enumerate, and their description for messages. OpenGL is left out: without a display it has no
// adapter, or one that lacks what compute shaders need.
fn allowed_backends() -> (wgpu::Backends, String) {
    let built = wgpu::Instance::enabled_backend_features()
        & (wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12);
    let names = |backends: wgpu::Backends| {
        use wgpu::Backend::{Dx12, Metal, Vulkan};
        let named = [Vulkan, Metal, Dx12].into_iter().filter(|&b| backends.contains(b.into()));
        named.map(backend_name).collect::<Vec<_>>().join(", ")
    };
    match std::env::var("WGPU_BACKEND").ok().filter(|text| !text.trim().is_empty()) {
        None => (built, format!("looked for {}", names(built))),
        Some(text) => {
            let allowed = wgpu::Backends::from_comma_list(&text) & built;
            let told = if allowed.is_empty() {
                format!("WGPU_BACKEND is `{text}`, this build on this system knows {}", names(built))
            } else {
                format!("looked for {} (WGPU_BACKEND is `{text}`)", names(allowed))
            };
            (allowed, told)
        }
    }
}

fn backend_name(backend: wgpu::Backend) -> &'static str {
    match backend {
        wgpu::Backend::Vulkan => "Vulkan",
        wgpu::Backend::Metal => "Metal",
        wgpu::Backend::Dx12 => "DX12",
        wgpu::Backend::Gl => "OpenGL",
        wgpu::Backend::BrowserWebGpu => "WebGPU",
        wgpu::Backend::Noop => "none",
    }
}

fn what_to_install() -> &'static str {
    if cfg!(target_os = "linux") {
        "; install the Vulkan driver of the GPU's vendor, or a software adapter \
         (Debian, Ubuntu: apt-get install mesa-vulkan-drivers)"
    } else if cfg!(windows) {
        "; install the driver of the GPU's vendor (DirectX 12 also needs dxcompiler.dll and dxil.dll beside the program)"
    } else {
        "; install the driver of the GPU's vendor"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_falls_short_is_named() {
        let needed = wgpu::Limits::default();
        assert_eq!(lacking(&needed, &needed), None);
        let poor = wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..needed.clone() };
        assert_eq!(
            lacking(&poor, &needed).as_deref(),
            Some("max_storage_buffers_per_shader_stage is 4, 8 needed")
        );
    }

    #[test]
    fn hardware_comes_before_software_whatever_the_power_preference() {
        use AdapterKind::{Discrete, Integrated, Other, Software, Virtual};
        for low_power in [false, true] {
            for hardware in [Discrete, Integrated, Virtual] {
                assert!(hardware.is_hardware() && hardware.rank(low_power) < Other.rank(low_power));
            }
            assert!(Other.rank(low_power) < Software.rank(low_power));
        }
        assert!(Discrete.rank(false) < Integrated.rank(false) && Integrated.rank(true) < Discrete.rank(true));
        assert!(!Other.is_hardware() && !Software.is_hardware());
    }
}
