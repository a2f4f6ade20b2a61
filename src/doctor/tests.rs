//! Tests that every section fails where it should: errors put into the shaders are found by the section that examines what
//! they break.

use std::time::Duration;

use super::{Doctor, SECTIONS, Section, Settings, Status, systems};
use crate::{
    Error,
    gpu::{Context, buffer_layout::Capacities, host_mirror::HostMirror},
    state::columns::NEVER,
};

// The only section that runs, with this much time, on a device with these errors (module, text, replacement).
fn examine(name: &'static str, seconds: u64, slips: &[[&'static str; 3]]) -> Section {
    let context = Context::open(None).expect("an adapter");
    slips.iter().for_each(|[module, text, instead]| context.slip(module, text, instead));
    let budget = Duration::from_secs(seconds);
    let settings = Settings { budget, sections: vec![name.to_owned()], ..Settings::default() };
    let never = || false;
    let sections: Vec<Section> = Doctor::on(Ok(context), settings, &never).collect();
    assert_eq!(sections.iter().map(|section| section.name).collect::<Vec<_>>(), SECTIONS);
    let (wanted, others): (Vec<Section>, Vec<Section>) =
        sections.into_iter().partition(|section| section.name == name);
    assert!(others.iter().all(|section| section.status == Status::Skipped));
    println!("{wanted:#?}");
    wanted.into_iter().next().unwrap()
}

#[track_caller]
fn assert_fails(section: &Section, texts: &[&str]) {
    assert_eq!(section.status, Status::Failed, "{section:?}");
    for text in texts {
        assert!(section.failures.iter().any(|failure| failure.contains(text)), "{text}: {section:?}");
    }
}

/// Elastic impacts that add a hundredth to the impulse.
const TOO_STRONG: [[&str; 3]; 2] = [too_strong("collide"), too_strong("rounds")];

const fn too_strong(module: &'static str) -> [&'static str; 3] {
    [module, "let result = d * (-k / inverse_mass);", "let result = d * (-1.01 * k / inverse_mass);"]
}

/// A position that is off by more than rounding.
const MISPLACED: [&str; 3] = [
    "advance",
    "bodies[i].offset = body.offset;",
    "bodies[i].offset = body.offset;\nif tags[i].rank == 7u { bodies[i].offset.y += 0.001; }",
];

#[test]
fn machine_fails_without_an_adapter_and_everything_else_is_left_out() {
    let never = || false;
    let absent = Err(Error::NoAdapter("no adapter found: looked under the table".to_owned()));
    let settings = Settings { sections: vec!["litmus".to_owned()], ..Settings::default() };
    let sections: Vec<Section> = Doctor::on(absent, settings, &never).collect();
    assert_fails(&sections[0], &["under the table"]);
    assert!(sections[0].tables.iter().any(|table| table.name == "machine"));
    assert!(sections[1..].iter().all(|section| section.status == Status::Skipped));
}

#[test]
fn litmus_finds_what_a_driver_may_do_wrong() {
    let section = examine(
        "litmus",
        60,
        &[
            ["barriers", "storageBarrier(); // from the write to the read", ""],
            ["arithmetic", "put(i, 0u, a.x / b.x);", "put(i, 0u, 1.00001 * a.x / b.x);"],
            ["arithmetic", "put(i, 9u, two_sum(a.x, a.w, hidden(a.x + a.w)));", "put(i, 9u, 0.0);"],
            ["arithmetic", "k = k - (dot(u, u) * 0.5 - dot(u, w)) / b;", ""],
            [
                "bits",
                "outputs[3u * i] = bitcast<vec4u>(row);",
                "outputs[3u * i] = bitcast<vec4u>(row) & vec4u(~1u);",
            ],
            ["bits", "u32(finite(row.x))", "1u"],
        ],
    );
    assert_fails(
        &section,
        &[
            "found an old value after a barrier",
            "the error of division",
            "deletes the rounding error of a sum that is hidden",
            "deletes the correction",
            "integers change",
            "not told from finite numbers",
        ],
    );
    // Less accurate arithmetic makes the tolerances of later sections larger.
    assert!(super::litmus::tolerance_scale(&section).unwrap() > 1.0);
}

#[test]
fn litmus_finds_nothing_wrong_with_this_adapter() {
    let section = examine("litmus", 60, &[]);
    assert_eq!((section.status, section.failures.len()), (Status::Ok, 0));
    assert_eq!(super::litmus::tolerance_scale(&section), Some(1.0));
}

#[test]
fn costs_fails_if_an_operation_has_another_result() {
    let text = "{ atomicAdd(&results[0], 1u); }\n}\n\n// Every load";
    let instead = "{ atomicAdd(&results[0], 2u); }\n}\n\n// Every load";
    assert_fails(
        &examine("costs", 30, &[["costs", text, instead]]),
        &["atomics, one address: the result is"],
    );
}

#[test]
fn compile_fails_if_a_shader_is_refused() {
    let section = examine("compile", 30, &[["bin", "fn bin(", "fn another_name("]]);
    assert_fails(&section, &["refuses a shader"]);
}

#[test]
fn parity_names_the_stage_that_differs() {
    assert_fails(&examine("parity", 5, &[MISPLACED]), &["gas: step 1, stage advance, sphere 7: "]);
}

#[test]
fn every_system_can_be_built() {
    for (name, system) in super::systems::kinds() {
        let count = system.unwrap_or_else(|error| panic!("{name}: {error}")).spheres.len();
        assert!(count > 10, "{name}: {count}");
    }
}

#[test]
fn steps_names_the_scene_and_the_stage_that_differ() {
    assert_fails(&examine("steps", 2, &[MISPLACED]), &["gas: step 1, stage advance, sphere 7: "]);
}

#[test]
fn determinism_fails_if_the_size_of_a_buffer_changes_the_result() {
    let slip = [
        "advance",
        "bodies[i].offset = body.offset;",
        "bodies[i].offset = body.offset;
         if frame.entry_capacity != 10u * frame.sphere_count + 4096u { bodies[i].offset.x += 1e-4; }",
    ];
    assert_fails(&examine("determinism", 60, &[slip]), &["gas: a run taken otherwise (small buffers)"]);
}

#[test]
fn physics_fails_if_impacts_add_energy() {
    assert_fails(&examine("physics", 6, &TOO_STRONG), &["the energy of an elastic gas changes"]);
}

#[test]
fn physics_fails_if_walls_let_spheres_through() {
    // Displaced after the rounds: spheres that pass walls in the rounds make impacts late, and the CPU then takes the step.
    let slip = [
        "advance",
        "bodies[i].offset = body.offset;",
        "bodies[i].offset = body.offset;\nif tags[i].rank == 7u { bodies[i].offset.z += 5.0; }",
    ];
    let section = examine("physics", 90, &[slip]);
    assert_fails(&section, &["pass a wall"]);
}

#[test]
fn speed_fails_if_the_energy_is_wrong() {
    assert_fails(&examine("speed", 10, &TOO_STRONG), &["gas of 32768 on gpu: the energy changes"]);
}

#[test]
fn soak_fails_if_the_energy_is_wrong() {
    assert_fails(&examine("soak", 45, &TOO_STRONG), &["the energy of an elastic gas changes"]);
}

#[test]
fn a_section_without_time_says_that_it_was_cut_short() {
    for name in ["parity", "steps", "determinism", "compile"] {
        let section = examine(name, 0, &[]);
        assert_eq!(section.status, Status::CutShort, "{section:?}");
        assert!(section.notes.iter().any(|note| note.starts_with("cut short: ")), "{section:?}");
    }
}

#[test]
fn who_stops_gets_no_further_sections() {
    let context = Context::open(None).expect("an adapter");
    let always = || true;
    for section in Doctor::on(Ok(context), Settings::default(), &always) {
        assert_eq!(
            (section.status, section.notes.as_slice()),
            (Status::Skipped, &["interrupted".to_owned()][..])
        );
    }
}

#[test]
fn unknown_sections_and_tolerances_that_are_none_are_refused() {
    let never = || false;
    let sections = vec!["litmus".to_owned(), "lithmus".to_owned()];
    let refused = Doctor::new(Settings { sections, ..Settings::default() }, &never).err();
    assert!(matches!(refused, Some(Error::Invalid(text)) if text.contains("lithmus")));
    for tolerance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let settings = Settings { tolerance: Some(tolerance), ..Settings::default() };
        assert!(Doctor::new(settings, &never).is_err());
    }
}

// Bindings of 2 GiB are what most GPUs allow. Nothing is allocated.
#[test]
fn ten_million_spheres_fit_into_bindings_of_2_gib() {
    let limits = wgpu::Limits {
        max_buffer_size: 1 << 31,
        max_storage_buffer_binding_size: 1 << 31,
        ..wgpu::Limits::default()
    };
    for (name, system) in [("gas", systems::gas(50_000, 1)), ("pile", systems::pile([24, 40]))] {
        let system = system.unwrap();
        let host = HostMirror::for_first_step(&system, |_| NEVER).0;
        let layout = host.layout(Capacities::for_spheres(system.spheres.len(), false));
        let (layout, buckets) = layout.scaled_to(10_000_000, host.domain.grid.buckets);
        println!("{name}: {:.0} bytes per sphere, in {:?}", layout.bytes() as f64 / 1e7, layout.sizes());
        assert_eq!(layout.check(&limits, buckets), Ok(()), "{name}");
    }
}
