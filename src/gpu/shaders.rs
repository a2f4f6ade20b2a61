//! The shaders: the source files of each module, and the constants that Rust and WGSL share.

use super::{
    Context,
    layout::{WORDS, constraint_words, structs_as_wgsl},
};
use crate::state::constants;
use crate::{
    state::{columns, constants::CRUSHED, grid, levels, sums},
    walls::features::shape,
};

/// A time beyond all times: no impact. WGSL has no infinity.
pub const NO_IMPACT: f32 = 3e38;

/// The properties of an adapter that change the text of the shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapted {
    /// Lanes that solve the contact constraints of a block. Their number does not change the result.
    pub rest_lanes: u32,
    /// Storage can be marked `@coherent`.
    pub has_coherent: bool,
    /// Workgroups sum what their lanes count before they add it to a counter in storage.
    pub sums_in_group: bool,
}

impl Adapted {
    /// For the device of a context.
    pub fn to(context: &Context) -> Self {
        // A software adapter runs eight lanes at a time, and pays for every further eight at each barrier.
        let is_software = context.info().is_software();
        let rest_lanes = if is_software { 8 } else { 64 };
        let has_coherent = context.device.features().contains(wgpu::Features::MEMORY_DECORATION_COHERENT);
        // On a GPU every sphere would add to one address; on llvmpipe the barriers cost a fifth of stage `rest` more than that.
        Self { rest_lanes, has_coherent, sums_in_group: !is_software }
    }
}

/// Further than any slab of cells.
const BEYOND: f32 = 1e30;

/// One shader module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Stem of its file and of its entry points.
    pub name: &'static str,
    /// Which buffers it reads.
    pub group: Group,
    /// Entry points.
    pub entries: &'static [&'static str],
    parts: &'static [&'static str],
}

/// Sets of eight storage buffers: WebGPU guarantees no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Both copies of the state.
    Broad,
    /// One copy, and what each sphere meets next.
    Substep,
    /// One copy, and what contacts that rest keep from one substep to the next.
    Rest,
}

macro_rules! shader {
    ($path:literal) => {
        include_str!(concat!("../../shaders/", $path, ".wgsl"))
    };
}

const LAYOUT: &str = shader!("shared/layout");
const BROAD: &str = shader!("shared/broad");
const VIEW: &str = shader!("shared/view");
const NEXT_EVENTS: &str = shader!("shared/next_events");
const CONSTRAINED: &str = shader!("shared/contact_flags");
const HALT: &str = shader!("shared/halt");
const IMPACT: &str = shader!("shared/impact");
const CAUSALITY: &str = shader!("shared/causality");
const IMPACT_RESPONSE: &str = shader!("shared/impact_response");
const FRICTION: &str = shader!("shared/friction");
const FAST: &str = shader!("shared/fast");
const RESWEEP: &str = shader!("shared/resweep");
const FEATURE: &str = shader!("shared/feature");
const TOUCH: &str = shader!("shared/touch");
const APPROACH: &str = shader!("shared/approach");
const WALL_LOADS: &str = shader!("shared/wall_loads");
const WALL: &str = shader!("shared/wall");
const WARM_START: &str = shader!("shared/warm_start");

const CONSTRAINT: &str = shader!("shared/constraint");
const ITERATIONS: &str = shader!("shared/iterations");
const GROUP_SUMS: &str = shader!("shared/group_sums");
const REMOVAL: &str = shader!("shared/removal");

/// All modules in the order of the stages; then the one that finishes the rounds, and those for sinks and sources.
pub const MODULES: &[Module] = &[
    Module { name: "compress", group: Group::Broad, entries: &["compress"], parts: &[shader!("compress")] },
    Module {
        name: "push_apart",
        group: Group::Substep,
        entries: &["compress_push", "compress_settle"],
        parts: &[shader!("shared/push_apart")],
    },
    Module { name: "bin", group: Group::Broad, entries: &["bin"], parts: &[shader!("bin")] },
    Module {
        name: "scan",
        group: Group::Broad,
        entries: &["scan_reduce", "scan_sums", "scan_apply"],
        parts: &[shader!("scan")],
    },
    Module {
        name: "scatter",
        group: Group::Broad,
        entries: &["scatter_order", "scatter"],
        parts: &[shader!("scatter")],
    },
    Module {
        name: "neighbors",
        group: Group::Broad,
        entries: &["neighbors", "neighbors_long"],
        parts: &[FEATURE, shader!("neighbors")],
    },
    Module {
        name: "launch",
        group: Group::Substep,
        entries: &["launch", "launch_drag"],
        parts: &[shader!("launch")],
    },
    Module {
        name: "sweep",
        group: Group::Substep,
        entries: &["sweep", "sweep_apart", "sweep_mark", "sweep_touched"],
        parts: &[FEATURE, TOUCH, IMPACT, APPROACH, CAUSALITY, RESWEEP, GROUP_SUMS, shader!("sweep")],
    },
    Module {
        name: "select",
        group: Group::Substep,
        entries: &["select_near", "select_around", "select_propagate", "select_impacts"],
        parts: &[FEATURE, TOUCH, CAUSALITY, shader!("shared/threat_table"), shader!("select")],
    },
    Module {
        name: "collide",
        group: Group::Substep,
        entries: &["collide", "collide_walk", "collide_meet"],
        parts: &[
            FEATURE,
            TOUCH,
            IMPACT,
            APPROACH,
            IMPACT_RESPONSE,
            WALL_LOADS,
            WALL,
            FRICTION,
            FAST,
            shader!("collide"),
        ],
    },
    Module {
        name: "rest",
        group: Group::Rest,
        entries: &[
            "rest_count",
            "rest_place",
            "rest_order",
            "rest_hand",
            "rest_rouse",
            "rest_find",
            "rest_update",
            "rest_enter",
            "rest_mark",
            "rest_leave",
            "rest_ahead",
            "rest_wake",
            "rest_keep",
        ],
        parts: &[
            FEATURE,
            TOUCH,
            shader!("shared/blocks"),
            CONSTRAINT,
            ITERATIONS,
            WARM_START,
            GROUP_SUMS,
            shader!("shared/find_constraints"),
            shader!("shared/order_constraints"),
            WALL_LOADS,
            shader!("rest"),
        ],
    },
    Module {
        name: "solve_constraints",
        group: Group::Rest,
        entries: &["rest_solve"],
        parts: &[FEATURE, CONSTRAINT, ITERATIONS, shader!("shared/solve_constraints")],
    },
    Module { name: "advance", group: Group::Substep, entries: &["advance"], parts: &[shader!("advance")] },
    Module {
        name: "relax",
        group: Group::Substep,
        entries: &["relax_deepest", "relax_push", "relax_apply", "relax"],
        parts: &[FEATURE, TOUCH, shader!("relax")],
    },
    Module { name: "audit", group: Group::Substep, entries: &["audit"], parts: &[shader!("audit")] },
    Module {
        name: "rounds",
        group: Group::Substep,
        entries: &["rounds"],
        parts: &[
            FEATURE,
            TOUCH,
            IMPACT,
            APPROACH,
            CAUSALITY,
            IMPACT_RESPONSE,
            WALL_LOADS,
            WALL,
            FRICTION,
            FAST,
            RESWEEP,
            shader!("shared/rounds"),
        ],
    },
    Module { name: "watch", group: Group::Substep, entries: &["watch"], parts: &[shader!("shared/watch")] },
    Module {
        name: "remove",
        group: Group::Broad,
        entries: &["remove"],
        parts: &[REMOVAL, shader!("shared/remove")],
    },
    Module {
        name: "remove_contacts",
        group: Group::Rest,
        entries: &["remove_contacts", "wake_partners"],
        parts: &[WARM_START, REMOVAL, shader!("shared/remove_contacts")],
    },
];

/// Modules in which the lanes of a workgroup pass values through storage.
const PASSES_THROUGH_STORAGE: &[&str] = &["rounds", "solve_constraints"];

/// Modules that only systems with sinks or sources need.
const OF_FLOW: &[&str] = &["watch", "remove", "remove_contacts"];

/// Modules that only systems whose box shrinks need.
const OF_COMPRESSION: &[&str] = &["compress", "push_apart"];

/// Properties of a system for which shaders are specialised. Adapters without real branches, for example software adapters, pay for
/// unused code too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Every bucket is one cell.
    pub is_direct: bool,
    /// The system has planes.
    pub has_walls: bool,
    /// Spheres fall onto fixed ones.
    pub has_fixed: bool,
    /// Radii differ so much that cells are divided.
    pub is_mixed: bool,
    /// Contacts may rest.
    pub has_rest: bool,
    /// Walls are more than planes that stand for ever.
    pub has_shapes: bool,
    /// The system has sinks or sources.
    pub has_flow: bool,
    /// The box may shrink.
    pub shrinks: bool,
}

impl Variant {
    /// All there are.
    #[cfg(test)]
    pub fn all() -> impl Iterator<Item = Self> {
        (0..64).map(|k| Self {
            is_direct: k & 1 != 0,
            has_walls: k & 2 != 0,
            has_fixed: k & 4 != 0,
            is_mixed: k & 8 != 0,
            has_rest: k & 16 != 0,
            has_shapes: k & 32 != 0,
            has_flow: true,
            shrinks: true,
        })
    }

    /// The modules that such a system needs.
    pub fn modules(self) -> impl Iterator<Item = &'static Module> {
        MODULES.iter().filter(move |module| {
            (self.has_rest || module.group != Group::Rest)
                && (self.has_flow || !OF_FLOW.contains(&module.name))
                && (self.shrinks || !OF_COMPRESSION.contains(&module.name))
        })
    }
}

impl Module {
    /// The whole text for an adapter.
    pub fn source(
        &self,
        variant: Variant,
        Adapted { rest_lanes, has_coherent, sums_in_group }: Adapted,
    ) -> String {
        let mut text = shared_constants();
        text.push_str(&format!(
            "const REST_GROUP = {rest_lanes}u;\nconst SUMS_IN_GROUP = {sums_in_group};\n"
        ));
        for (name, value) in [
            ("IS_DIRECT", variant.is_direct),
            ("HAS_WALLS", variant.has_walls),
            ("HAS_FIXED", variant.has_fixed),
            ("IS_MIXED", variant.is_mixed),
            ("HAS_REST", variant.has_rest),
            ("HAS_SHAPES", variant.has_shapes),
        ] {
            text.push_str(&format!("const {name} = {value};\n"));
        }
        text.push_str(&format!("const CONSTRAINT_STRIDE = {}u;\n", constraint_words(variant.has_shapes)));
        text.push_str(&structs_as_wgsl());
        let buffers: &[&str] = match self.group {
            Group::Broad => &[BROAD],
            Group::Substep => &[VIEW, NEXT_EVENTS, CONSTRAINED],
            Group::Rest => &[VIEW, CONSTRAINED],
        };
        for part in [LAYOUT].iter().chain(buffers).chain(&[HALT]).chain(self.parts) {
            text.push_str(part);
            text.push('\n');
        }
        if has_coherent && PASSES_THROUGH_STORAGE.contains(&self.name) {
            // A barrier alone does not make plain values in storage visible to other lanes in the memory model of GLSL, which naga
            // emits for Vulkan.
            text = text.replace(") var<storage, read_write>", ") @coherent var<storage, read_write>");
        }
        text
    }
}

/// The test of finite numbers in the stages, as WGSL.
#[cfg(feature = "files")]
pub fn tests_of_numbers() -> String {
    [function(LAYOUT, "finite"), function(LAYOUT, "all_finite")].concat()
}

/// The impulse of an impact in the stages, with what it needs, as WGSL.
#[cfg(feature = "files")]
pub fn arithmetic_of_impacts() -> String {
    let least = format!("const LEAST_REBOUND = {:e}f;\n", constants::LEAST_REBOUND);
    [least.as_str(), &tests_of_numbers(), function(IMPACT_RESPONSE, "impulse")].concat()
}

// The text of a function of a shader.
#[cfg(feature = "files")]
fn function(text: &'static str, name: &str) -> &'static str {
    let begin = text.find(&format!("\nfn {name}(")).expect("a function of the shader") + 1;
    let text = &text[begin..];
    // A function ends in its first line, or at the first brace that begins a line.
    let line = text.find('\n').map_or(text.len(), |at| at + 1);
    let end = if text[..line].ends_with("}\n") { line } else { text.find("\n}\n").expect("its end") + 3 };
    &text[..end]
}

// Every number that both sides need has its home in Rust.
fn shared_constants() -> String {
    let mut text = String::new();
    let mut declare = |name: &str, value: String| text.push_str(&format!("const {name} = {value};\n"));
    for (name, value) in WORDS {
        declare(name, format!("{value}u"));
    }
    for (name, value) in [
        ("CODES", grid::CODES),
        ("MOST_LEVELS", levels::MOST_LEVELS as u32),
        ("ADVANCES", constants::ADVANCES),
        ("CROWDED_ROUNDS", constants::CROWDED_ROUNDS),
        ("LONG_ROUNDS", constants::LONG_ROUNDS),
        ("CROWD", constants::CROWD as u32),
        ("STUCK_ROUNDS", constants::STUCK_ROUNDS),
        ("CLASS_SHIFT", sums::CLASS_SHIFT),
        ("CLASSES", sums::CLASSES as u32),
        ("SAMPLE", sums::SAMPLE as u32),
        ("MOST_HITS", constants::MOST_HITS.into()),
        ("CROWDED_CONTACTS", constants::CROWDED_CONTACTS.into()),
        ("MANY_CONTACTS", constants::MANY_CONTACTS.into()),
        ("HELD_CONTACTS", constants::HELD_CONTACTS.into()),
    ] {
        declare(name, format!("{value}u"));
    }
    for (name, value) in [
        ("FARTHEST", grid::FARTHEST),
        ("LONGEST", constants::LONGEST),
        ("ACTIVE_REACH", constants::ACTIVE_REACH),
    ] {
        declare(name, format!("{value}i"));
    }
    for (name, value) in [
        ("NO_IMPACT", NO_IMPACT),
        ("BEYOND", BEYOND),
        ("SMALLEST", f32::MIN_POSITIVE),
        ("NEVER", columns::NEVER),
        ("TOUCHING", constants::TOUCHING),
        ("RESTING", constants::RESTING),
        ("LEAST_GRAVITY_REBOUND", constants::REBOUND),
        ("LOWEST_BOUNCE", constants::LOWEST_BOUNCE),
        ("LEAST_REBOUND", constants::LEAST_REBOUND),
        ("PASSING", constants::PASSING),
        ("CONSTRAINT_GAP", constants::CONSTRAINT_GAP),
        ("CONSTRAINT_AHEAD", constants::CONSTRAINT_AHEAD),
        ("FAR", constants::FAR),
        ("DEEP", constants::DEEP),
        ("DEEPENED", constants::DEEPENED),
        ("MOST_LIFT", constants::MOST_LIFT),
        ("CREEP", constants::CREEP),
        ("WAKE_SHARE", constants::WAKE_SHARE),
        ("STRONG", constants::STRONG),
        ("STEPS_OF_WEIGHT", constants::STEPS_OF_WEIGHT),
        ("MOST_STEPS", constants::MOST_STEPS),
        ("OVER_RELAXATION", constants::OVER_RELAXATION),
        ("MOST_OVER_RELAXATION", constants::MOST_OVER_RELAXATION),
        ("HEAVY", constants::HEAVY),
        ("PER_RELAX_FROM", constants::PER_RELAX_FROM),
        ("MOST_RELAX_WEIGHT", constants::MOST_RELAX_WEIGHT),
        ("RELAX_SIZES", constants::RELAX_SIZES),
        ("RELAX_WEIGHT_UNIT", constants::RELAX_WEIGHT_UNIT),
        ("CROWDED_PATH", constants::CROWDED_PATH),
        ("LATE_PATH", constants::LATE_PATH),
        ("SHORTEST", constants::SHORTEST),
        ("PUSH_GAP", constants::PUSH_GAP),
        ("PUSH_MIXED", constants::PUSH_MIXED),
        ("RELAX_FROM", constants::RELAX_FROM),
        ("RELAX_SLOP", constants::RELAX_SLOP),
        ("CRUSHED", CRUSHED as f32),
        ("REACH_HAIR", constants::REACH_HAIR),
        ("RELAX_FACTOR", constants::RELAX_FACTOR),
        ("LEAN", shape::LEAN),
        ("BLUR", constants::BLUR),
        ("LOOK_AGAIN", constants::LOOK_AGAIN),
    ] {
        declare(name, format!("{value:e}f"));
    }
    text
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;

    /// On any adapter with WebGPU's features alone.
    const PORTABLE: Adapted = Adapted { rest_lanes: 64, has_coherent: false, sums_in_group: true };

    fn module(text: &str) -> naga::Module {
        naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(text)))
    }

    #[test]
    fn every_module_is_valid_and_has_its_entry_points() {
        for (wanted, variant) in MODULES.iter().flat_map(|m| Variant::all().map(move |v| (m, v))) {
            let adapted = Adapted { rest_lanes: 8, has_coherent: true, sums_in_group: false };
            for (adapted, capabilities) in
                [(PORTABLE, Capabilities::empty()), (adapted, Capabilities::MEMORY_DECORATION_COHERENT)]
            {
                let text = wanted.source(variant, adapted);
                let module = module(&text);
                let mut validator = Validator::new(ValidationFlags::all(), capabilities);
                validator
                    .validate(&module)
                    .unwrap_or_else(|e| panic!("{}: {}", wanted.name, e.emit_to_string(&text)));
                let entries: Vec<_> = module.entry_points.iter().map(|e| e.name.as_str()).collect();
                assert_eq!(entries, wanted.entries, "{}", wanted.name);
                let passes = adapted.has_coherent && PASSES_THROUGH_STORAGE.contains(&wanted.name);
                assert_eq!(text.contains("@coherent"), passes, "{}", wanted.name);
            }
        }
    }

    // The compiler of browsers: stricter than naga in what has to be uniform.
    #[test]
    fn every_module_is_valid_for_tint_where_it_is_installed() {
        use std::process::Command;

        let folder = tempfile::tempdir().unwrap();
        let mut validated = 0;
        for (wanted, variant) in MODULES.iter().flat_map(|m| Variant::all().map(move |v| (m, v))) {
            let path = folder.path().join(wanted.name).with_extension("wgsl");
            std::fs::write(&path, wanted.source(variant, PORTABLE)).unwrap();
            let output = match Command::new("tint").arg("--format").arg("wgsl").arg(&path).output() {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    println!("tint is not on the PATH: no module was validated with it");
                    return;
                }
                output => output.unwrap(),
            };
            let text = String::from_utf8_lossy(&output.stderr);
            let is_quiet = !text.contains("warning") && !text.contains("error");
            assert!(output.status.success() && is_quiet, "{} {variant:?}: {text}", wanted.name);
            validated += 1;
        }
        println!("{validated} modules validated with tint");
    }
}
