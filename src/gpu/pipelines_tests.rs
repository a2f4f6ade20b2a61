//! Tests that no dispatch makes the driver recompile a shader.

use std::{fs, sync::Arc};

use bytemuck::Zeroable;

use super::{
    Context,
    buffer_layout::Capacities,
    buffers::{Buffers, round_offset},
    dispatch_budget::DispatchBudget,
    encode::Encoder,
    host_mirror::HostMirror,
    layout::Frame,
    pipelines::Pipelines,
    shaders::{Group, Module, Variant},
    submit_queue::SubmitQueue,
};
use crate::{Sphere, System, state::columns::NEVER};

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
        let pipelines = context.pipelines(variant).unwrap();
        let mut buffers = Buffers::new(context, &pipelines, layout, None).unwrap();
        buffers.write_frames(context, &pipelines, &[Frame::zeroed()]).unwrap();
        Self { context: context.clone(), pipelines, buffers, submit_queue: SubmitQueue::default() }
    }

    // Binds a pipeline repeatedly, because drivers inspect uniforms at a bind, and waits for the dispatches.
    fn dispatch(&mut self, module: &Module, entry: &str) {
        let Self { context, pipelines, buffers, submit_queue } = self;
        let group = match module.group {
            Group::Broad => &buffers.broad[0],
            Group::Substep => &buffers.view[0],
            Group::Rest => &buffers.rest[0],
        };
        let mut encoder =
            Encoder::new(&context.device, pipelines, buffers, 0, DispatchBudget::new(context), None, false);
        let mut pass = encoder.encoder.begin_compute_pass(&Default::default());
        pass.set_bind_group(1, group, &[]);
        for k in 0..DISPATCHES {
            pass.set_bind_group(0, &buffers.uniforms, &[0, round_offset(k)]);
            pass.set_pipeline(pipelines.get(entry));
            pass.dispatch_workgroups(1, 1, 1);
        }
        drop(pass);
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
    for (is_direct, all) in [(true, true), (false, true), (true, false)] {
        let variant = Variant {
            is_direct,
            has_walls: all,
            has_fixed: all,
            is_mixed: all,
            has_rest: all,
            has_shapes: all,
            has_flow: all,
        };
        let mut bench = Bench::new(&context, variant);
        for module in variant.modules() {
            for &entry in module.entries {
                bench.dispatch(module, entry);
                let growth = (0..ATTEMPTS).map(|_| {
                    let before = compiled_code();
                    bench.dispatch(module, entry);
                    compiled_code().saturating_sub(before)
                });
                let growth = growth.min().unwrap();
                println!(
                    "{entry}: {growth} bytes of code for {DISPATCHES} dispatches, {} in all",
                    compiled_code()
                );
                if growth > 0 {
                    recompiled.push((entry, growth));
                }
            }
        }
    }
    assert!(context.is_hardware() || compiled_code() > 0, "no code is counted");
    assert!(recompiled.is_empty(), "see `opaque_zero` in shaders/shared/layout.wgsl: {recompiled:?}");
}
