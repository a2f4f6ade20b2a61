//! Tests that no dispatch makes the driver recompile a shader, and that threads may request pipelines at once.

use std::{fs, ops::ControlFlow, sync::Arc, time::Instant};

use bytemuck::Zeroable;
use glam::DVec3;
use rayon::prelude::*;

use super::{
    Context,
    buffer_layout::Capacities,
    buffers::Buffers,
    dispatch_budget::DispatchBudget,
    encode::Encoder,
    host_mirror::HostMirror,
    layout::Frame,
    pipelines::Pipelines,
    shaders::{Group, Module, Variant},
    submit_queue::SubmitQueue,
};
use crate::{
    Backend, Bounds, Materials, Options, Side, Simulation, Sphere, Surface, System, state::columns::NEVER,
};

/// Dispatches per measurement.
const DISPATCHES: u32 = 8;

/// Number of measurements, of which the smallest counts: other tests in the process compile shaders of their own.
const ATTEMPTS: u32 = 8;

/// Harness for dispatches without work: a frame of zeros has no spheres.
struct Bench {
    context: Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    submit_queue: SubmitQueue,
}

impl Bench {
    fn new(context: &Context, variant: Variant) -> Self {
        let system = System { spheres: vec![Sphere::default()], ..System::default() };
        let layout = HostMirror::new(&system, |_| NEVER).0.layout(Capacities::for_spheres(1, false));
        let pipelines = context.pipelines(variant);
        let mut buffers = Buffers::new(context, &pipelines, layout, None).unwrap();
        buffers.write_frames(context, &pipelines, &[Frame::zeroed()]).unwrap();
        Self { context: context.clone(), pipelines, buffers, submit_queue: SubmitQueue::default() }
    }

    // Binds a pipeline repeatedly, because drivers inspect uniforms at a bind, and waits for the dispatches.
    fn dispatch(&mut self, module: &Module, entry: &'static str) {
        let Self { context, pipelines, buffers, submit_queue } = self;
        let group = match module.group {
            Group::Broad => &buffers.broad[0],
            Group::Substep => &buffers.view[0],
            Group::Rest => &buffers.rest[0],
        };
        let mut encoder =
            Encoder::new(context, pipelines, buffers, 0, DispatchBudget::new(context), None, false);
        encoder.stage("audit", group, 0, (0..DISPATCHES).map(|k| (entry, k, 1)).collect());
        let (_, buffer) = submit_queue.send(context, buffers, encoder).unwrap().wait(context).unwrap();
        submit_queue.give_back(buffer);
    }
}

// Bytes of machine code that the process has generated: executable mappings that belong to no file. A software adapter
// compiles shaders into such mappings and never frees them.
fn compiled_code() -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let code = maps.lines().filter_map(|line| {
        // Range, permissions, offset, device, inode and, for mappings of a file or of the kernel, a name.
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [range, permissions, _, _, "0"] = fields[..] else { return None };
        let (start, end) = range.split_once('-')?;
        let bytes = u64::from_str_radix(end, 16).unwrap() - u64::from_str_radix(start, 16).unwrap();
        permissions.contains('x').then_some(bytes)
    });
    code.sum()
}

// lavapipe recompiles for branches that only uniforms decide, unless `opaque_zero` hides the dependence: each
// recompilation took milliseconds, and processes grew by 60 megabytes a second.
#[test]
fn no_dispatch_compiles_its_shader_anew() {
    let context = Context::open(None).expect("an adapter");
    let mut recompiled = vec![];
    // [direct, walls, fixed, mixed, rest, shapes]: what is left out of a shader may leave a branch to the uniforms alone.
    let variants = [
        [true; 6],
        [false, true, true, true, true, true],
        [true, false, false, false, false, false],
        [false, true, true, false, true, false],
    ];
    for [is_direct, has_walls, has_fixed, is_mixed, has_rest, has_shapes] in variants {
        let (has_flow, shrinks) = (has_walls, has_walls);
        let variant =
            Variant { is_direct, has_walls, has_fixed, is_mixed, has_rest, has_shapes, has_flow, shrinks };
        let mut bench = Bench::new(&context, variant);
        for module in variant.modules() {
            for &entry in module.entries {
                let begin = Instant::now();
                bench.dispatch(module, entry);
                let first = begin.elapsed().as_secs_f64();
                let growth = (0..ATTEMPTS).map(|_| {
                    let before = compiled_code();
                    bench.dispatch(module, entry);
                    compiled_code().saturating_sub(before)
                });
                let growth = growth.min().unwrap();
                println!(
                    "{entry}: first dispatches {first:.3} s, {growth} bytes of code for {DISPATCHES} more, {} in all",
                    compiled_code()
                );
                if growth > 0 {
                    recompiled.push((entry, growth, variant));
                }
            }
        }
    }
    assert!(!context.info().is_software() || compiled_code() > 0, "no code is counted");
    assert!(recompiled.is_empty(), "see `opaque_zero` in shaders/shared/layout.wgsl: {recompiled:?}");
}

// A branch that only uniforms decide is found here if the shader shrinks much for the present values, which differ between
// substeps where the drift does. Before, this process grew by 37 megabytes a step.
#[test]
fn no_step_compiles_its_shaders_anew() {
    let mut system = System { dt: 0.02, gravity: DVec3::new(1.0, 0.0, -10.0), ..System::default() };
    system.materials = Materials::empty();
    system.materials.add("stone", Surface { restitution: 0.5, friction: 1.0, ..Surface::default() }, 1.0);
    system.bounds = Bounds { max: DVec3::new(20.0, 5.0, 5.0), ..Bounds::default() };
    system.bounds.sides = [Side::Wall; 3];
    system.spheres = vec![Sphere { position: DVec3::new(0.3, 1.0, 0.05), radius: 0.05, ..Sphere::default() }];
    let options = Options { backend: Backend::Gpu, ..Options::default() };
    let mut simulation = Simulation::new(system, options).unwrap();
    simulation.run(5, |_| ControlFlow::Continue(())).unwrap();
    let before = resident_bytes();
    simulation.run(20, |_| ControlFlow::Continue(())).unwrap();
    let growth = resident_bytes().saturating_sub(before);
    println!("{growth} bytes in 20 steps");
    assert!(simulation.spheres()[0].velocity.x > 0.1, "the sphere does not roll");
    assert!(
        growth < 200_000_000,
        "see `opaque_zero` in shaders/shared/layout.wgsl: {growth} bytes in 20 steps"
    );
}

// Bytes of memory that the process uses.
fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

// Compilation uses the same pool: a thread that waits for parts of it may begin another request.
#[test]
fn many_threads_of_the_pool_may_request_pipelines_at_once() {
    let context = Context::open(None).expect("an adapter");
    let variants: Vec<Variant> = Variant::all().skip(16).take(2).collect();
    let request = |k: usize| {
        let pipelines = context.pipelines(variants[k % 2]);
        let some = pipelines.entries().filter(|entry| entry.starts_with(["rest", "scan"][k % 3 % 2]));
        pipelines.compile(&context, some).unwrap();
        pipelines
    };
    let made: Vec<_> = (0..12).into_par_iter().map(request).collect();
    for pair in made.windows(3) {
        assert!(Arc::ptr_eq(&pair[0], &pair[2]) && !Arc::ptr_eq(&pair[0], &pair[1]));
    }
    for pipelines in &made[..2] {
        let compiled = |entry: &&str| pipelines.is_compiled(entry);
        assert!(
            pipelines
                .entries()
                .filter(compiled)
                .all(|entry| entry.starts_with("scan") || entry.starts_with("rest"))
        );
        assert_eq!(pipelines.entries().filter(compiled).filter(|entry| entry.starts_with("scan")).count(), 3);
    }
}
