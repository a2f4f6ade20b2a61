//! A device that computes: opened, borrowed, lost. Needs an adapter; without one these tests fail.

use carom::gpu::{AdapterKind, Context, adapters, preferred, wgpu};
use carom::{Backend, Error, Options, Simulation, Sphere, System};

fn open() -> Context {
    Context::open(None).unwrap_or_else(|e| panic!("a test that needs an adapter found none: {e}"))
}

fn waited(context: &Context) {
    let _ = context.device.poll(wgpu::PollType::wait_indefinitely());
}

#[test]
fn the_adapter_that_open_takes_is_the_preferred_one() {
    let context = open();
    let listed = adapters();
    let info = context.info();
    assert_eq!(Some(info), listed.iter().find(|other| *other == info), "{listed:?}");
    assert_eq!(*info, preferred(None).unwrap());
    assert!(!info.name.is_empty() && info.largest_buffer >= 128 << 20);
    assert!(["Vulkan", "Metal", "DX12"].contains(&info.backend));
    assert_eq!(context.is_hardware(), !matches!(info.kind, AdapterKind::Software | AdapterKind::Other));
    assert_eq!(info.to_string(), format!("{} [{}, {}]", info.name, info.kind.name(), info.backend));
    // A software adapter never precedes a GPU.
    let first_soft = listed.iter().position(|i| !i.is_hardware()).unwrap_or(listed.len());
    assert!(listed[first_soft..].iter().all(|i| !i.is_hardware()), "{listed:?}");
    assert_eq!(context.check(), Ok(()));
}

#[test]
fn any_part_of_a_name_in_either_case_is_enough() {
    let name = open().info().name.clone();
    let part: String = name.chars().take(4).collect();
    for text in [name.to_uppercase(), part.to_lowercase()] {
        let found = Context::open(Some(&text)).unwrap().info().name.clone();
        assert!(found.to_lowercase().contains(&text.to_lowercase()), "{text}: {found}");
    }
    match Context::open(Some("abacus")) {
        Err(Error::NoAdapter(text)) => assert!(text.contains("abacus") && text.contains(&name), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn limits_are_the_requested_ones() {
    let limits = wgpu::Limits::default();
    let context = Context::open_with_limits(None, limits.clone()).unwrap();
    assert_eq!(context.device.limits().max_storage_buffers_per_shader_stage, 8);
    assert_eq!(context.info().largest_buffer, 128 << 20);
    let beyond = wgpu::Limits { max_storage_buffers_per_shader_stage: 1 << 30, ..limits };
    match Context::open_with_limits(None, beyond) {
        Err(Error::NoAdapter(text)) => {
            assert!(text.contains("max_storage_buffers_per_shader_stage"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn clones_are_the_same_device_and_others_are_not() {
    let (a, b) = (open(), open());
    assert_eq!(a, a.clone());
    assert_ne!(a, b);
    let options = Options { context: Some(a.clone()), ..Options::default() };
    assert_eq!(options, options.clone());
    assert_ne!(options, Options { context: Some(b), ..Options::default() });
}

#[test]
fn a_destroyed_device_is_an_error_that_names_it() {
    let context = open();
    context.device.destroy();
    waited(&context);
    match context.check() {
        Err(Error::DeviceLost(text)) => {
            assert!(text.contains(&context.info().name) && text.contains("lost"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert!(context.clone().check().is_err());
    assert_eq!(open().check(), Ok(()), "another device is none the worse");
}

#[test]
fn a_refused_command_is_an_error_and_no_panic() {
    let context = open();
    create_an_impossible_buffer(&context.device);
    match context.check() {
        Err(Error::DeviceLost(text)) => assert!(text.contains("refused"), "{text}"),
        other => panic!("{other:?}"),
    }
}

// WebGPU has no buffer that is both mapped for reading and used by shaders.
fn create_an_impossible_buffer(device: &wgpu::Device) {
    let _ = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("impossible"),
        size: 4,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
}

// A device owned by the test, with these limits.
fn borrowed(required_limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = wait(instance.enumerate_adapters(wgpu::Backends::PRIMARY))
        .into_iter()
        .find(|adapter| adapter.limits().max_storage_buffers_per_shader_stage >= 8)
        .expect("an adapter");
    wait(adapter.request_device(&wgpu::DeviceDescriptor { required_limits, ..Default::default() })).unwrap()
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    pollster::block_on(future)
}

#[test]
fn a_borrowed_device_keeps_the_callbacks_of_its_owner() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    let told = Arc::new(AtomicU32::new(0));
    let (device, queue) = borrowed(wgpu::Limits::default());
    let (lost, refused) = (told.clone(), told.clone());
    device.set_device_lost_callback(move |_, _| {
        lost.fetch_add(1, Ordering::SeqCst);
    });
    device.on_uncaptured_error(Arc::new(move |_| {
        refused.fetch_add(16, Ordering::SeqCst);
    }));
    let context = Context::from_device(device.clone(), queue).unwrap();
    assert_eq!(context.device, device);
    create_an_impossible_buffer(&device);
    assert_eq!(told.load(Ordering::SeqCst), 16);
    assert_eq!(context.check(), Ok(()), "a mistake of the owner is the owner's");
    device.destroy();
    waited(&context);
    assert_eq!(told.load(Ordering::SeqCst), 17);
    context.report_lost("the cable was pulled");
    match context.check() {
        Err(Error::DeviceLost(text)) => assert!(text.contains("the cable was pulled"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_borrowed_device_with_too_low_a_limit_is_refused_by_the_name_of_the_limit() {
    let limits =
        wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..wgpu::Limits::downlevel_defaults() };
    let (device, queue) = borrowed(limits);
    match Context::from_device(device, queue) {
        Err(Error::Unsupported(text)) => {
            assert!(text.contains("max_storage_buffers_per_shader_stage is 4, 8 needed"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_state_lost_with_the_device_is_an_error() {
    let context = open();
    let options = Options { backend: Backend::Gpu, context: Some(context.clone()), ..Options::default() };
    let system = System { spheres: vec![Sphere::default()], dt: 0.1, ..System::default() };
    let mut simulation = Simulation::new(system, options).unwrap();
    simulation.step().unwrap();
    assert_eq!(simulation.try_state_hash(), Ok(simulation.state_hash()));
    assert_eq!(simulation.try_spheres().unwrap(), simulation.spheres());
    context.report_lost("the cable was pulled");
    for error in [
        simulation.try_spheres().map(|_| ()),
        simulation.try_state_hash().map(|_| ()),
        simulation.step().map(|_| ()),
        context.copy_bandwidth().map(|_| ()),
    ] {
        match error {
            Err(Error::DeviceLost(text)) => assert!(text.contains("the cable was pulled"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_copy_has_a_bandwidth() {
    let small = wgpu::Limits::default();
    for context in [open(), Context::open_with_limits(None, small).unwrap()] {
        let bandwidth = context.copy_bandwidth().unwrap();
        println!("{}: {:.2} GB/s", context.info(), 1e-9 * bandwidth);
        // From a shared processor core to more than any device reaches.
        assert!((1e7..1e14).contains(&bandwidth), "{bandwidth:e}");
    }
    let (device, queue) = borrowed(wgpu::Limits::default());
    // Without timestamps the host's clock is used.
    let bandwidth = Context::from_device(device, queue).unwrap().copy_bandwidth().unwrap();
    assert!((1e7..1e14).contains(&bandwidth), "{bandwidth:e}");
}

#[test]
fn a_simulation_names_its_adapter() {
    let on = |backend, context| Options { backend, context, ..Options::default() };
    let context = open();
    let simulation = Simulation::new(System::default(), on(Backend::Gpu, Some(context.clone()))).unwrap();
    assert_eq!(simulation.adapter().as_ref(), Some(context.info()));
    assert_eq!(simulation.backend().name(), "gpu");
    let simulation = Simulation::new(System::default(), on(Backend::Gpu, None)).unwrap();
    assert_eq!(simulation.adapter(), Some(preferred(None).unwrap()));
    let simulation = Simulation::new(System::default(), on(Backend::Cpu, Some(context))).unwrap();
    assert_eq!(simulation.adapter(), None);
    let nowhere = Options { backend: Backend::Gpu, adapter: Some("abacus".to_owned()), ..Options::default() };
    assert!(matches!(Simulation::new(System::default(), nowhere), Err(Error::NoAdapter(_))));
}
