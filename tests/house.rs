//! Consistency of the repository: the schedule and the files agree, every ignored test belongs to one tier, and nothing
//! is left half done.

use std::{
    fs,
    path::{Path, PathBuf},
};

use carom::schedule::{SCHEDULE, STAGES};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

// All files below a folder of the repository with one of these extensions, sorted; empty if the folder does not exist.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    fn visit(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                visit(&path, endings, found);
            } else if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
                found.push(path);
            }
        }
    }
    let mut found = vec![];
    let folder = root().join(folder);
    if folder.exists() {
        visit(&folder, endings, &mut found);
    }
    found.sort();
    found
}

// The name in the first line of a file of a stage: "//! Stage `bin`: ...", in shaders "// Stage `bin`: ...".
fn stage_name(text: &str) -> Option<&str> {
    let text = text.strip_prefix("//")?;
    let (name, _) = text.strip_prefix('!').unwrap_or(text).strip_prefix(" Stage `")?.split_once('`')?;
    Some(name)
}

#[test]
fn every_stage_of_the_table_is_a_file_that_says_its_name() {
    for stage in STAGES {
        let path = root().join("src/cpu").join(stage.name).with_extension("rs");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_name(&text), Some(stage.name), "{}", path.display());
        assert!(!stage.purpose.is_empty(), "{}", stage.name);
    }
}

#[test]
fn every_stage_of_the_table_is_a_shader_that_names_its_twin_and_is_compared_with_it() {
    let compared = fs::read_to_string(root().join("tests/parity/mod.rs")).unwrap();
    let modules = fs::read_to_string(root().join("src/gpu/shaders.rs")).unwrap();
    for stage in STAGES {
        let path = root().join("shaders").join(stage.name).with_extension("wgsl");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_name(&text), Some(stage.name), "{}", path.display());
        // The comment at the head of the file, joined into one line.
        let head = text.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join(" ");
        let twin = format!("src/cpu/{}.rs", stage.name);
        assert!(head.contains("Twin") && head.contains(&twin), "{} does not name {twin}", path.display());
        let path = root().join("tests/parity").join(stage.name).with_extension("rs");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_name(&text), Some(stage.name), "{}", path.display());
        assert!(
            text.contains("agrees_with_its_twin") || text.contains("agree_with_their_twin"),
            "{}",
            stage.name
        );
        assert!(text.contains("_is_noticed"), "{}: nothing shows that it can fail", path.display());
        assert!(
            compared.contains(&format!("\nmod {};\n", stage.name)),
            "tests/parity/mod.rs omits {}",
            stage.name
        );
        assert!(
            modules.contains(&format!("name: \"{}\"", stage.name)),
            "src/gpu/shaders.rs omits {}",
            stage.name
        );
    }
}

// The rows of the table of passes in docs/architecture.md: part, pass, stage, condition, files of the cpu, entry points.
fn documented_passes(page: &str) -> Vec<Vec<String>> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| part | pass |")).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

// The names in backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_architecture_page_shows_the_schedule() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let documented = documented_passes(&page);
    let parts = [
        "SHRINK",
        "BROAD_PHASE",
        "PUSH_APART",
        "STEP_BEGIN",
        "SUBSTEP_BEGIN",
        "ROUND",
        "SUBSTEP_END",
        "STEP_END",
    ];
    assert_eq!(parts.len(), SCHEDULE.len());
    let scheduled: Vec<Vec<String>> = parts
        .iter()
        .zip(SCHEDULE)
        .flat_map(|(part, entries)| entries.iter().map(move |entry| (part, entry)))
        .map(|(part, entry)| {
            vec![
                (*part).to_owned(),
                format!("{:?}", entry.pass),
                entry.stage.to_owned(),
                format!("{:?}", entry.when),
            ]
        })
        .collect();
    assert_eq!(documented.iter().map(|row| row[..4].to_vec()).collect::<Vec<_>>(), scheduled);
    let mut shaders: String =
        files("shaders", &["wgsl"]).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    shaders.retain(|c| !c.is_whitespace());
    for row in &documented {
        assert!(quoted(&row[4]).iter().all(|path| root().join(path).exists()), "{row:?}");
        let entry_points = quoted(&row[5]);
        assert!(!entry_points.is_empty(), "{row:?}");
        for name in entry_points {
            assert!(shaders.contains(&format!("fn{name}(@builtin")), "{name} is no entry point");
        }
    }
}

#[test]
fn a_pass_that_the_architecture_page_omits_is_noticed() {
    let page = "text\n| part | pass | stage |\n|---|---|---|\n| ROUND | Select | `a`, `b_c` |\n\n| other | table |\n";
    let rows = documented_passes(page);
    assert_eq!(rows, [["ROUND", "Select", "`a`, `b_c`"]]);
    assert_eq!(quoted(&rows[0][2]), ["a", "b_c"]);
}

#[test]
fn every_file_that_says_it_is_a_stage_is_in_the_table() {
    let mut seen = 0;
    for path in files("src/cpu", &["rs"]) {
        if let Some(name) = stage_name(&fs::read_to_string(&path).unwrap()) {
            assert_eq!(path.file_stem().unwrap(), name, "{} is another stage", path.display());
            assert!(STAGES.iter().any(|stage| stage.name == name), "{} is no stage", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, STAGES.len());
}

#[test]
fn every_shader_of_a_stage_has_a_twin() {
    // Several stages share the files in subfolders.
    for path in files("shaders", &["wgsl"]).iter().filter(|p| p.parent() == Some(&root().join("shaders"))) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(STAGES.iter().any(|stage| stage.name == stem), "{} is no stage", path.display());
    }
}

// The only file that ignores tests, through macros that name the tier. Its other lines follow the rules of all files.
const TIERS: &str = "tests/common/tiers.rs";

// Lines of a source file that ignore a test without a tier, or use the name of a tier for something else.
fn without_tier(text: &str) -> Vec<&str> {
    let is_outside = |line: &&str| {
        let line = line.trim_start();
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let named = words.windows(2).find(|pair| ["fn", "mod"].contains(&pair[0])).map(|pair| pair[1]);
        let ignores = !line.starts_with("//") && line.contains("#[") && words.contains(&"ignore");
        ignores || named.is_some_and(|name| name == "long" || name == "campaign")
    };
    text.lines().filter(is_outside).collect()
}

#[test]
fn every_ignored_test_is_of_one_tier() {
    let mut tests = 0;
    for path in files("src", &["rs"]).into_iter().chain(files("tests", &["rs"])) {
        let text = fs::read_to_string(&path).unwrap();
        if path.ends_with(TIERS) {
            // The lines that `tier!` generates for a test, once per tier.
            let made = ["#[ignore = $time]", "fn long() {", "#[ignore = $time]", "fn campaign() {"];
            assert_eq!(without_tier(&text).iter().map(|line| line.trim()).collect::<Vec<_>>(), made);
        } else if !path.ends_with("tests/house.rs") {
            assert_eq!(without_tier(&text), Vec::<&str>::new(), "{}: use tier! of {TIERS}", path.display());
            tests += text.matches("tier!(").count();
        }
    }
    assert!(tests > 20, "only {tests} tests have a tier");
}

#[test]
fn a_test_that_is_ignored_without_a_tier_is_noticed() {
    for line in [
        "#[ignore]",
        "    #[ignore = \"minutes\"]",
        "#[cfg_attr(debug_assertions, ignore)]",
        "mod long {",
        "    pub fn campaign() {",
    ] {
        assert_eq!(without_tier(line), [line]);
    }
    for line in ["// #[ignore] is for tiers.rs", "fn a_long_way() {", "mod longer;", "let ignore = 3;"] {
        assert!(without_tier(line).is_empty(), "{line}");
    }
}

#[test]
fn nothing_is_left_half_done() {
    const UNDONE: [&str; 7] = ["TODO", "FIXME", "XXX", "unimplemented!", "todo!", "dbg!", "Keep in sync"];
    let mut read = 0;
    for folder in ["src", "shaders", "examples"] {
        for path in files(folder, &["rs", "wgsl", "toml"]) {
            let text = fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate() {
                let found = UNDONE.iter().find(|word| line.contains(**word));
                assert_eq!(found, None, "{}:{}: {line}", path.display(), number + 1);
            }
            read += 1;
        }
    }
    assert!(read > STAGES.len(), "the sources were not found");
}

// The layers of the library, lowest first; a module imports from its own layer and from lower ones.
const LAYERS: &[&[&str]] = &[
    &["error", "toolbox", "trace"],
    &["system"],
    &["scene"],
    &["state"],
    &["walls"],
    &["step"],
    &["analysis"],
    &["cpu", "exact"],
    &["gpu"],
    &["verify"],
    &["simulation"],
    &["files"],
    &["doctor", "validate"],
    &["render"],
    &["viewer", "cli"],
];

fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|modules| modules.contains(&module));
    found.unwrap_or_else(|| panic!("{module} has no layer"))
}

// The code of a source file without comments, and without the tests at its end, which may build scenes.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

// The full paths of a use tree.
fn paths(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((base, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    let (mut depth, mut start, mut parts) = (0, 0, vec![]);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let full = |part: &&str| !part.trim().is_empty();
    parts.into_iter().filter(full).flat_map(paths).map(|path| format!("{base}{path}")).collect()
}

// The top-level module that a path refers to, from a file in the module `own`; `None` for paths outside the crate.
fn target(path: &str, own: &[&str], reexports: &[(String, String)]) -> Option<String> {
    let mut names: Vec<&str> = path.split("::").map(str::trim).collect();
    let mut full = own.to_vec();
    match names[0] {
        "crate" => full.clear(),
        "self" | "super" => {}
        _ => return None,
    }
    while matches!(names.first(), Some(&"crate" | &"self" | &"super")) {
        if names.remove(0) == "super" {
            full.pop();
        }
    }
    full.extend(names);
    let top = (*full.first()?).to_owned();
    let home = reexports.iter().find(|(name, _)| *name == top);
    Some(home.map_or(top, |(_, module)| module.clone()))
}

// Upward imports of a text, as `path -> module`.
fn upward(text: &str, own: &[&str], reexports: &[(String, String)]) -> Vec<String> {
    let code = code(text);
    let mut found: Vec<String> = vec![];
    for (at, _) in code.match_indices("use ") {
        let statement = &code[at + 4..];
        let statement = &statement[..statement.find(';').unwrap_or(0)];
        let is_statement = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        if is_statement {
            found.extend(paths(statement));
        }
    }
    for (at, _) in code.match_indices("crate::") {
        let path: String =
            code[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect();
        found.push(path.trim_end_matches(':').to_owned());
    }
    let is_upward = |path: &String| {
        let Some(module) = target(path, own, reexports) else { return false };
        LAYERS.iter().flat_map(|l| l.iter()).any(|name| *name == module) && layer(&module) > layer(own[0])
    };
    found.retain(is_upward);
    // A path in a `use` statement was found twice.
    found.sort_unstable();
    found.dedup();
    found
}

// Names that the root of the crate re-exports, with their modules.
fn reexports() -> Vec<(String, String)> {
    let text = code(&fs::read_to_string(root().join("src/lib.rs")).unwrap());
    let uses = text.split("pub use ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let pairs = uses.flat_map(paths).map(|path| {
        let (first, last) = (path.split("::").next().unwrap(), path.rsplit("::").next().unwrap());
        (last.trim().to_owned(), first.trim().to_owned())
    });
    pairs.collect()
}

#[test]
fn imports_run_downward() {
    let reexports = reexports();
    assert!(reexports.iter().any(|(name, module)| name == "Simulation" && module == "simulation"));
    let (mut seen, mut wrong) = (0, vec![]);
    for path in files("src", &["rs"]) {
        let relative = path.strip_prefix(root().join("src")).unwrap().with_extension("");
        let mut own: Vec<&str> = relative.iter().map(|part| part.to_str().unwrap()).collect();
        own.retain(|part| *part != "mod");
        // The crate roots name every module, and tests of a module may build scenes and run simulations.
        if ["lib", "main"].contains(&own[0]) || own.last().is_some_and(|name| name.ends_with("tests")) {
            continue;
        }
        let found = upward(&fs::read_to_string(&path).unwrap(), &own, &reexports);
        wrong.extend(found.into_iter().map(|import| format!("{}: {import}", path.display())));
        seen += 1;
    }
    assert!(seen > 100, "the sources were not found");
    assert!(wrong.is_empty(), "imports that run upward:\n{}", wrong.join("\n"));
}

#[test]
fn an_import_that_runs_upward_is_noticed() {
    let reexports = [("Simulation".to_owned(), "simulation".to_owned())];
    let own = ["state", "grid"];
    for text in [
        "use crate::cpu::core::Core;",
        "use crate::{\n    Error,\n    system::{self, mesh::Mesh},\n    step::engine::Engine,\n};",
        "use super::super::gpu::Context;",
        "fn f() { crate::files::read(); }",
        "use crate::Simulation;",
    ] {
        assert_eq!(upward(text, &own, &reexports).len(), 1, "{text}");
    }
    for text in
        ["use crate::system::Sphere;", "use super::units::Units;", "// use crate::cpu;", "use glam::DVec3;"]
    {
        assert_eq!(upward(text, &own, &reexports), Vec::<String>::new(), "{text}");
    }
}
