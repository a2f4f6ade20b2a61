//! No dispatch makes a driver compile its shader anew.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

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
    shaders::{Group, MODULES, Module, Variant},
    submit_queue::SubmitQueue,
};
use crate::{Sphere, System, state::columns::NEVER};

/// Dispatches of one measurement.
const DISPATCHES: u32 = 8;

/// Measurements, of which the best counts: what else the machine does only ever makes one slower.
const ATTEMPTS: u32 = 8;

/// What it may cost to bind a pipeline: microseconds are usual, and even a small shader takes milliseconds to compile.
const MOST: Duration = Duration::from_micros(500);

/// Everything for dispatches that find no work: a frame of nothing but zeros has no spheres.
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

    // Time from the first command to the end of the last. Drivers look at uniforms where something is bound.
    fn time(&mut self, module: &Module, entry: &str, binds: u32) -> Duration {
        let Self { context, pipelines, buffers, submit_queue } = self;
        let group = match module.group {
            Group::Broad => &buffers.broad[0],
            Group::Substep => &buffers.view[0],
            Group::Rest => &buffers.rest[0],
        };
        let start = Instant::now();
        let mut encoder =
            Encoder::new(&context.device, pipelines, buffers, 0, DispatchBudget::new(context), None, false);
        let mut pass = encoder.encoder.begin_compute_pass(&Default::default());
        pass.set_bind_group(1, group, &[]);
        for k in 0..DISPATCHES {
            if k < binds {
                pass.set_bind_group(0, &buffers.uniforms, &[0, round_offset(k)]);
                pass.set_pipeline(pipelines.get(entry));
            }
            pass.dispatch_workgroups(1, 1, 1);
        }
        drop(pass);
        let (_, buffer) = submit_queue.send(context, buffers, encoder).unwrap().wait(context).unwrap();
        submit_queue.give_back(buffer);
        start.elapsed()
    }
}

// lavapipe does so for branches that uniforms alone decide, unless `opaque_zero` hides that they do. It keeps all that it has
// compiled: processes grew by 60 megabytes a second.
#[test]
fn no_dispatch_compiles_its_shader_anew() {
    let context = Context::open(None).expect("an adapter");
    let mut slow = vec![];
    for (is_direct, all) in [(true, true), (false, true), (true, false)] {
        let variant = Variant {
            is_direct,
            has_walls: all,
            has_fixed: all,
            is_mixed: all,
            has_rest: all,
            has_shapes: all,
        };
        let mut bench = Bench::new(&context, variant);
        for module in MODULES.iter().filter(|module| all || module.group != Group::Rest) {
            for &entry in module.entries {
                let mut best = |binds| (0..ATTEMPTS).map(|_| bench.time(module, entry, binds)).min().unwrap();
                let (once, always) = (best(1), best(DISPATCHES));
                let each = always.saturating_sub(once) / (DISPATCHES - 1);
                println!("{entry}: {once:?}, {each:?} for each time that it is bound");
                if each > MOST {
                    slow.push((entry, each));
                }
            }
        }
    }
    assert!(slow.is_empty(), "compiled anew, see `opaque_zero` in shaders/shared/layout.wgsl: {slow:?}");
}
