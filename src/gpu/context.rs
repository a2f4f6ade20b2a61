//! A GPU device with its queue: opening an adapter, or taking the device of the calling program.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "viewer")]
use super::adapter::choose_for;
use super::adapter::{AdapterInfo, choose, lacking};
use super::cache::Cache;
use super::device_fault::DeviceFaults;
use super::pipelines::Pipelines;
use super::shaders::Variant;
use crate::Error;

/// Longest wait for results of the device, unless the caller sets another. Millions of spheres on a software adapter take
/// minutes for a step with many rounds, and so does the first step of a run, which compiles the shaders.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

// Longest expected time of a submit, unless set.
const LONGEST_SUBMIT: Duration = Duration::from_millis(100);

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
    /// In nanoseconds.
    longest_wait: AtomicU64,
    // Longest expected time of a submit (ns).
    longest_submit: AtomicU64,
    // Time spent compiling pipelines (ns).
    compile_time: AtomicU64,
    /// One entry for each kind of system so far.
    pipelines: Mutex<Vec<Arc<Pipelines>>>,
    /// Module, text to replace, replacement: defects for tests to detect.
    #[cfg(test)]
    slips: Mutex<Vec<[&'static str; 3]>>,
}

impl Context {
    /// Opens an adapter with all its features and limits. The order of preference is discrete, integrated, virtual,
    /// software. `adapter_name` is a part of the adapter's name, case-insensitive, and overrides `WGPU_ADAPTER_NAME`.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] if no adapter exists, has that name, or offers WebGPU's default limits; the text lists the
    /// adapters found and says what to install.
    pub fn open(adapter_name: Option<&str>) -> Result<Self, Error> {
        let adapter = choose(adapter_name, &wgpu::Limits::default())?;
        let limits = adapter.limits();
        Self::request(&adapter, limits)
    }

    /// Opens an adapter as [`open`](Self::open) does, with exactly these limits, even if the adapter offers more.
    ///
    /// # Errors
    /// [`Error::NoAdapter`], also if no adapter offers the limits.
    pub fn open_with_limits(adapter_name: Option<&str>, limits: wgpu::Limits) -> Result<Self, Error> {
        Self::request(&choose(adapter_name, &limits)?, limits)
    }

    /// Opens another device, as [`open`](Self::open) does, whose pipeline cache starts empty and is not stored.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "files")]
    pub(crate) fn open_again(&self, adapter_name: Option<&str>) -> Result<Self, Error> {
        let mut context = Self::open(adapter_name)?;
        if let Some(shared) = Arc::get_mut(&mut context.shared) {
            shared.cache = Cache::in_memory(&context.device);
            #[cfg(test)]
            {
                shared.slips = Mutex::new(self.shared.slips.lock().unwrap().clone());
            }
        }
        Ok(context)
    }

    /// Opens an adapter that can draw into a window, otherwise as [`open`](Self::open); also returns the adapter, which
    /// creates the surface configuration.
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

    /// Uses a device that belongs to the caller, for example to a renderer.
    ///
    /// The callbacks of the device stay those of its owner: a device has one callback for its loss and one for
    /// uncaptured errors, and both may be in use. An owner who learns of a loss can pass it on with
    /// [`report_lost`](Self::report_lost); otherwise carom notices the loss when results fail to arrive.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device was requested with less than WebGPU's default limits for compute shaders;
    /// the text names the limit.
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

    /// The adapter. [`largest_buffer`](AdapterInfo::largest_buffer) is the limit of this device, which may be lower
    /// than the limit of the adapter.
    pub fn info(&self) -> &AdapterInfo {
        &self.shared.info
    }

    /// Returns true for a discrete, integrated or virtual GPU; false for a software adapter, and for an adapter of unknown kind.
    pub fn is_hardware(&self) -> bool {
        self.shared.info.is_hardware()
    }

    /// Fails if the device is known to have stopped working.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] with the adapter and the reason; [`Error::Capacity`] after the device ran out of memory.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.faults.check(&self.shared.info)
    }

    /// Records the loss of the device: afterwards [`check`](Self::check) and every step fail with
    /// [`Error::DeviceLost`]. The owner of a device given to [`from_device`](Self::from_device) calls this.
    pub fn report_lost(&self, reason: &str) {
        self.shared.faults.lost(reason);
    }

    /// Sets how long a call waits for results of the device, 10 minutes unless set; all clones have the same limit. A device that
    /// takes longer counts as lost for good, also if it is busy with work of its owner. The compilation of shaders by the host
    /// has no limit.
    pub fn limit_waits(&self, longest: Duration) {
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.shared.longest_wait.store(longest, Relaxed);
    }

    /// Sets how long a submit may be expected to take, .1 s unless set; all clones have the same limit. A longer step is divided
    /// into several submits between its dispatches, by the measured time of the last steps. This does not change results.
    pub fn limit_submits(&self, longest: Duration) {
        let longest = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
        self.shared.longest_submit.store(longest, Relaxed);
    }

    pub(crate) fn longest_submit(&self) -> Duration {
        Duration::from_nanos(self.shared.longest_submit.load(Relaxed))
    }

    pub(crate) fn compiled_for(&self, time: Duration) {
        self.shared.compile_time.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    /// Time spent compiling pipelines so far.
    #[cfg(feature = "files")]
    pub(crate) fn compile_time(&self) -> Duration {
        Duration::from_nanos(self.shared.compile_time.load(Relaxed))
    }

    /// Waits until the device has finished a submission, or all submissions.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], also after the longest wait; [`Error::Capacity`] after the device ran out of memory.
    pub fn wait_for(&self, submission_index: Option<wgpu::SubmissionIndex>) -> Result<(), Error> {
        self.check()?;
        let longest = Duration::from_nanos(self.shared.longest_wait.load(Relaxed));
        let begin = Instant::now();
        let wait = wgpu::PollType::Wait { submission_index, timeout: Some(longest) };
        self.device.poll(wait).map_err(|error| {
            self.lost(match error {
                wgpu::PollError::Timeout => {
                    format!("the device has not finished its work in {:.3} s", begin.elapsed().as_secs_f64())
                }
                other => other.to_string(),
            })
        })?;
        self.check()
    }

    /// Records the loss of the device, and returns the error of its first known reason.
    pub(crate) fn lost(&self, reason: String) -> Error {
        self.report_lost(&reason);
        self.check().err().unwrap_or(Error::DeviceLost(reason))
    }

    /// The cache for new pipelines; `None` if the adapter has no pipeline cache or the device belongs to the caller.
    pub fn pipeline_cache(&self) -> Option<&wgpu::PipelineCache> {
        self.shared.cache.as_ref().map(|cache| &cache.pipelines)
    }

    /// Stores the compiled pipelines in the user's cache folder (`$XDG_CACHE_HOME/carom` or `~/.cache/carom`) for the
    /// next run. If storing fails, the next run compiles them again.
    pub fn save_pipeline_cache(&self) {
        if let Some(cache) = &self.shared.cache {
            cache.save();
        }
    }

    /// The pipelines for one kind of system, shared by all simulations on the device.
    pub(crate) fn pipelines(&self, variant: Variant) -> Arc<Pipelines> {
        let mut made = self.shared.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipelines) = made.iter().find(|p| p.variant == variant) {
            return pipelines.clone();
        }
        let pipelines = Arc::new(Pipelines::new(self, variant));
        made.push(pipelines.clone());
        pipelines
    }

    /// Replaces text in a shader module from now on.
    #[cfg(test)]
    pub(crate) fn slip(&self, module: &'static str, text: &'static str, instead: &'static str) {
        self.shared.slips.lock().unwrap().push([module, text, instead]);
    }

    #[cfg(test)]
    pub(crate) fn with_slips(&self, module: &str, mut text: String) -> String {
        for [of, from, to] in self.shared.slips.lock().unwrap().iter().filter(|slip| slip[0] == module) {
            assert_eq!(text.matches(from).count(), 1, "{of} says this once: {from}");
            text = text.replace(from, to);
        }
        text
    }

    fn request(adapter: &wgpu::Adapter, required_limits: wgpu::Limits) -> Result<Self, Error> {
        let wanted = wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::PIPELINE_CACHE
            | wgpu::Features::MEMORY_DECORATION_COHERENT;
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
                longest_wait: AtomicU64::new(LONGEST_WAIT.as_nanos() as u64),
                longest_submit: AtomicU64::new(LONGEST_SUBMIT.as_nanos() as u64),
                compile_time: AtomicU64::new(0),
                pipelines: Mutex::default(),
                #[cfg(test)]
                slips: Mutex::default(),
            }),
        }
    }
}

impl PartialEq for Context {
    /// Clones of one context are equal. (wgpu compares devices by their number, and every wgpu instance starts at one.)
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
