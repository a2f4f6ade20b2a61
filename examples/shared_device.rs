//! A program that owns a device, as a renderer does, shares the device with carom and reads the state with its own
//! shader. No sphere is copied to the host.
//!
//! `cargo run --release --example shared_device`
//!
//! The shader sums the squares of the speeds; the program compares the result with the kinetic energy that carom reports.
//! Exits with 3 without an adapter.

use std::process::ExitCode;

use carom::gpu::{Context, StateBuffers, wgpu};
use carom::scene::{Fill, Scene};
use carom::{Backend, Error, Options, Simulation};
use pollster::block_on;

const COUNT: u64 = 20_000;
const STEPS: u64 = 10;
/// Threads of the single workgroup; each has a partial sum.
const LANES: u64 = 256;

const SHADER: &str = "
// As carom::gpu::Body, in scaled units.
struct Body {
    offset: vec3f,
    radius: f32,
    velocity: vec3f,
    inverse_mass: f32,
}

@group(0) @binding(0) var<storage, read> bodies: array<Body>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn sum_squares(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < arrayLength(&bodies); i += 256u) {
        sum += dot(bodies[i].velocity, bodies[i].velocity);
    }
    sums[lane] = sum;
}
";

/// The program's own work on its own device.
struct Program {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    sums: wgpu::Buffer,
    readback: wgpu::Buffer,
}

impl Program {
    fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("sum_squares"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("sum_squares"),
            layout: None,
            module: &module,
            entry_point: Some("sum_squares"),
            compilation_options: Default::default(),
            cache: None,
        });
        let buffer = |label, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: 4 * LANES,
                usage,
                mapped_at_creation: false,
            })
        };
        let sums = buffer("sums", wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
        let readback = buffer("readback", wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        Self { device, queue, pipeline, sums, readback }
    }

    /// Sum of the squares of all speeds. Only the partial sums, a kilobyte, reach the host.
    fn sum_squares(&self, state: &StateBuffers) -> f64 {
        // The latest state may be in another buffer after every step, so it is bound again.
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("state"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: state.bodies.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: self.sums.as_entire_binding() },
            ],
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
        encoder.copy_buffer_to_buffer(&self.sums, 0, &self.readback, 0, 4 * LANES);
        self.queue.submit([encoder.finish()]);
        self.readback.map_async(wgpu::MapMode::Read, .., |result| result.expect("mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("a device that answers");
        let sum = {
            let view = self.readback.get_mapped_range(..).expect("mapped");
            let lanes = view.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
            lanes.map(f64::from).sum::<f64>()
        };
        self.readback.unmap();
        sum * state.unit_of_velocity * state.unit_of_velocity
    }
}

fn open_device() -> Result<(wgpu::Device, wgpu::Queue), String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle().with_env());
    // A renderer would pass its surface here.
    let adapter = block_on(wgpu::util::initialize_adapter_from_env_or_default(&instance, None))
        .map_err(|error| format!("no adapter found: {error}"))?;
    let request = adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("the program's own"),
        // carom needs WebGPU's default limits; a renderer may ask for more.
        required_limits: wgpu::Limits::default(),
        ..Default::default()
    });
    block_on(request).map_err(|error| format!("{}: {error}", adapter.get_info().name))
}

fn run(device: wgpu::Device, queue: wgpu::Queue) -> Result<(), Error> {
    let context = Context::from_device(device.clone(), queue.clone())?;
    // The owner of the device sets its callbacks, and forwards device loss to carom.
    let told = context.clone();
    device.set_device_lost_callback(move |_, reason| told.report_lost(&reason));
    println!("on {}", context.info());
    let program = Program::new(device, queue);

    // Diameter 1 and mass 1.
    let gas = Fill::random(COUNT).volume_fraction(0.2).temperature(3.0);
    let system = Scene::new(1.0 / 60.0).periodic().fill(gas).build()?;
    let mass = system.spheres[0].mass;
    let options = Options { backend: Backend::Gpu, context: Some(context), ..Options::default() };
    let mut simulation = Simulation::new(system, options)?;
    for _ in 0..STEPS {
        let report = simulation.step()?.clone();
        let state = simulation.state_buffers().expect("buffers after a step on a device");
        let kinetic_energy = 0.5 * mass * program.sum_squares(&state);
        println!(
            "step {:>2}: {} impacts, kinetic energy {:.3} from carom, {kinetic_energy:.3} from the program's shader",
            report.step, report.pair_impacts, report.kinetic_energy
        );
        // Each thread adds 80 squares in f32.
        let off = (kinetic_energy / report.kinetic_energy - 1.0).abs();
        assert!(off < 1e-5, "the two differ by {off:e}");
    }
    println!("{STEPS} steps of {COUNT} spheres, none of which left the device");
    Ok(())
}

fn main() -> ExitCode {
    let (device, queue) = match open_device() {
        Ok(opened) => opened,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(3);
        }
    };
    match run(device, queue) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
