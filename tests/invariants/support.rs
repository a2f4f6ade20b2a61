//! Initial states and helpers shared by the cases.

#[cfg(feature = "gpu")]
use std::sync::OnceLock;
use std::{sync::mpsc, thread, time::Duration};

use carom::{
    Backend, Options, Simulation, Sphere, System,
    scene::{Fill, Scene},
};
use glam::DVec3;

/// Options for a backend. All simulations of a test share one device: opening a device and compiling for it takes
/// seconds on a software adapter.
pub fn options(backend: Backend) -> Options {
    #[cfg(feature = "gpu")]
    let context = (backend == Backend::Gpu).then(|| {
        static CONTEXT: OnceLock<carom::gpu::Context> = OnceLock::new();
        CONTEXT.get_or_init(|| carom::gpu::Context::open(None).expect("an adapter")).clone()
    });
    Options {
        backend,
        #[cfg(feature = "gpu")]
        context,
        ..Options::default()
    }
}

/// Starts a simulation that records its impacts.
pub fn simulate(system: &System, backend: Backend) -> Simulation {
    Simulation::new(system.clone(), Options { record_impacts: true, ..options(backend) }).unwrap()
}

/// A periodic gas of equal spheres at volume fraction 0.2 and kT = 3.
pub fn gas(count: u64, seed: u64) -> System {
    let fill = Fill::random(count).volume_fraction(0.2).temperature(3.0);
    Scene::new(1.0 / 60.0).seed(seed).periodic().fill(fill).build().unwrap()
}

/// Diameter and mass 1.
pub fn sphere(id: u32, position: [f64; 3], velocity: [f64; 3]) -> Sphere {
    Sphere { id, position: position.into(), velocity: velocity.into(), ..Sphere::default() }
}

/// Sum of mass * velocity.
pub fn momentum(spheres: &[Sphere]) -> DVec3 {
    spheres.iter().map(|s| s.velocity * s.mass).sum()
}

// The work takes seconds on an idle machine; other tests and shader compilation slow it down many times.
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns the result of `work`; fails if `work` does not end in time.
pub fn to_its_end<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no end after {PATIENCE:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(worker.join().expect_err("it ended without a result"))
        }
    }
}
