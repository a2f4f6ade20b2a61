//! A device to compute on.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "viewer")]
use super::adapter::choose_for;
use super::adapter::{AdapterInfo, choose, lacking};
use super::cache::Cache;
use super::device_fault::DeviceFaults;
use super::pipelines::Pipelines;
use super::shaders::Variant;
use crate::Error;

/// A device and its queue; clones are the same device.
///
/// ```no_run
/// use carom::gpu::Context;
///
/// let context = Context::open(None)?;
/// println!("{}", context.info()); // NVIDIA GeForce RTX 4070 [discrete, Vulkan]
/// context.check()?;
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    shared: Arc<Shared>,
}

struct Shared {
    info: AdapterInfo,
    faults: DeviceFaults,
    cache: Option<Cache>,
    /// One for each kind of system seen so far.
    pipelines: Mutex<Vec<Arc<Pipelines>>>,
    /// Module, what its text says, what it says instead: errors for tests to find.
    #[cfg(test)]
    slips: Mutex<Vec<[&'static str; 3]>>,
}

impl Context {
    /// Opens an adapter with all it has: discrete before integrated before virtual GPUs, software last.
    /// `adapter_name` is a part of its name, in either case; it replaces `WGPU_ADAPTER_NAME`.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] where there is none, none of that name, or none that offers WebGPU's default limits; the
    /// text says what was found and what to install.
    pub fn open(adapter_name: Option<&str>) -> Result<Self, Error> {
        let adapter = choose(adapter_name, &wgpu::Limits::default())?;
        let limits = adapter.limits();
        Self::request(&adapter, limits)
    }

    /// As [`open`](Self::open), with these limits and no more, whatever the adapter could do.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], also where no adapter offers the limits.
    pub fn open_with_limits(adapter_name: Option<&str>, limits: wgpu::Limits) -> Result<Self, Error> {
        Self::request(&choose(adapter_name, &limits)?, limits)
    }

    /// As [`open`](Self::open), of the adapters that can draw into a window; with the adapter, which tells how.
    #[cfg(feature = "viewer")]
    pub(crate) fn open_for(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface<'_>,
        adapter_name: Option<&str>,
    ) -> Result<(Self, wgpu::Adapter), Error> {
        let adapter = choose_for(instance, surface, adapter_name)?;
        let limits = adapter.limits();
        Ok((Self::request(&adapter, limits)?, adapter))
    }

    /// Uses a device that belongs to somebody else, as a renderer does.
    ///
    /// The callbacks of the device stay those of its owner: a device has one for its loss and one for
    /// uncaptured errors, and both may be in use. An owner who learns of a loss can pass it on with
    /// [`report_lost`](Self::report_lost); without that it is noticed when results fail to come back.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the device was requested with less than WebGPU's default limits for compute
    /// shaders; the text names the limit.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, Error> {
        if let Some(lack) = lacking(&device.limits(), &wgpu::Limits::default()) {
            let name = device.adapter_info().name;
            return Err(Error::Unsupported(format!(
                "the device of {name} was requested with too low a limit: {lack}; request it with \
                 wgpu::Limits::default() or more"
            )));
        }
        Ok(Self::with_faults(device, queue, DeviceFaults::default()))
    }

    /// The adapter. [`largest_buffer`](AdapterInfo::largest_buffer) is that of this device, which may have been
    /// requested with less than the adapter offers.
    pub fn info(&self) -> &AdapterInfo {
        &self.shared.info
    }

    /// It is a GPU, not software.
    pub fn is_hardware(&self) -> bool {
        self.shared.info.is_hardware()
    }

    /// Whether the device still works, as far as is known.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] with the adapter and the reason, [`Error::Capacity`] once it ran out of memory.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.faults.check(&self.shared.info)
    }

    /// Notes that the device is lost: from here on [`check`](Self::check) and every step fail with
    /// [`Error::DeviceLost`]. For the owner of a device given to [`from_device`](Self::from_device).
    pub fn report_lost(&self, reason: &str) {
        self.shared.faults.lost(reason);
    }

    /// The cache to create pipelines with; none where the adapter has no such thing, or the device is not carom's own.
    pub fn pipeline_cache(&self) -> Option<&wgpu::PipelineCache> {
        self.shared.cache.as_ref().map(|cache| &cache.pipelines)
    }

    /// Stores the pipelines created so far for the next run, in the user's cache folder
    /// (`$XDG_CACHE_HOME/carom` or `~/.cache/carom`). Where that fails, the next run compiles them again.
    pub fn save_pipeline_cache(&self) {
        if let Some(cache) = &self.shared.cache {
            cache.save();
        }
    }

    /// The stages for systems of one kind, compiled when they are asked for first: simulations on one device share
    /// them.
    ///
    /// # Errors
    /// As [`Pipelines::new`].
    pub(crate) fn pipelines(&self, variant: Variant) -> Result<Arc<Pipelines>, Error> {
        let mut made = self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipelines) = made.iter().find(|p| p.variant == variant) {
            return Ok(pipelines.clone());
        }
        let pipelines = Arc::new(Pipelines::new(self, variant)?);
        made.push(pipelines.clone());
        Ok(pipelines)
    }

    /// From here on a shader module says something else than its file.
    #[cfg(test)]
    pub(crate) fn slip(&self, module: &'static str, text: &'static str, instead: &'static str) {
        self.shared.slips.lock().unwrap().push([module, text, instead]);
    }

    #[cfg(test)]
    pub(super) fn with_slips(&self, module: &str, mut text: String) -> String {
        for [of, from, to] in self.shared.slips.lock().unwrap().iter().filter(|slip| slip[0] == module) {
            assert_eq!(text.matches(from).count(), 1, "{of} says this once: {from}");
            text = text.replace(from, to);
        }
        text
    }

    fn request(adapter: &wgpu::Adapter, required_limits: wgpu::Limits) -> Result<Self, Error> {
        let wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("carom"),
            required_features: adapter.features() & wanted,
            required_limits,
            ..Default::default()
        });
        let (device, queue) = pollster::block_on(request).map_err(|error| {
            Error::NoAdapter(format!("{} could not be opened: {error}", adapter.get_info().name))
        })?;
        let faults = DeviceFaults::default();
        let lost = faults.clone();
        device.set_device_lost_callback(move |_, reason| lost.lost(&reason));
        let uncaptured = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error| uncaptured.uncaptured(&error)));
        let mut context = Self::with_faults(device, queue, faults);
        if let Some(shared) = Arc::get_mut(&mut context.shared) {
            shared.cache = Cache::open(&context.device);
        }
        Ok(context)
    }

    fn with_faults(device: wgpu::Device, queue: wgpu::Queue, faults: DeviceFaults) -> Self {
        let info = AdapterInfo::new(device.adapter_info(), &device.limits());
        Self {
            device,
            queue,
            shared: Arc::new(Shared {
                info,
                faults,
                cache: None,
                pipelines: Mutex::default(),
                #[cfg(test)]
                slips: Mutex::default(),
            }),
        }
    }
}

impl PartialEq for Context {
    /// Clones of one context are equal. (Devices of wgpu compare by their number, which two instances of wgpu
    /// both begin at one.)
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("info", &self.shared.info).finish_non_exhaustive()
    }
}
