//! The house is in order: the table of stages and the files agree, every ignored test is of one tier, nothing is left half done.

use std::{
    fs,
    path::{Path, PathBuf},
};

use carom::schedule::STAGES;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

// All files with one of the endings below a folder of the repository, sorted; none where there is no such folder.
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

// The number of the stage that the first line of a file says it is: `//! Stage 3: ...`, in shaders `// Stage 3: ...`.
fn stage_number(text: &str) -> Option<usize> {
    let text = text.strip_prefix("//")?;
    let (number, _) = text.strip_prefix('!').unwrap_or(text).strip_prefix(" Stage ")?.split_once(':')?;
    Some(number.parse().unwrap_or_else(|_| panic!("what is stage {number:?}?")))
}

#[test]
fn every_stage_of_the_table_is_a_file_that_says_its_number() {
    for (index, stage) in STAGES.iter().enumerate() {
        let path = root().join("src/cpu").join(stage.name).with_extension("rs");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_number(&text), Some(index + 1), "{}", path.display());
        assert!(!stage.purpose.is_empty(), "{}", stage.name);
    }
}

#[test]
fn every_stage_of_the_table_is_a_shader_that_names_its_twin_and_is_compared_with_it() {
    for (index, stage) in STAGES.iter().enumerate() {
        let path = root().join("shaders").join(stage.name).with_extension("wgsl");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_number(&text), Some(index + 1), "{}", path.display());
        // The comment at the head of the file, on one line.
        let head = text.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join(" ");
        let twin = format!("src/cpu/{}.rs", stage.name);
        assert!(head.contains("Twin") && head.contains(&twin), "{} does not name {twin}", path.display());
        let path = root().join("tests/parity").join(stage.name).with_extension("rs");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(stage_number(&text.replacen(" against", ":", 1)), Some(index + 1), "{}", path.display());
        assert!(
            text.contains("agrees_with_its_twin") || text.contains("agree_with_their_twin"),
            "{}",
            stage.name
        );
        assert!(text.contains("_is_noticed"), "{}: nothing shows that it can fail", path.display());
    }
}

#[test]
fn every_file_that_says_it_is_a_stage_is_in_the_table() {
    let mut seen = 0;
    for path in files("src", &["rs"]) {
        if let Some(number) = stage_number(&fs::read_to_string(&path).unwrap()) {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let stage = STAGES.get(number.wrapping_sub(1)).map(|stage| stage.name);
            assert_eq!(stage, Some(stem), "{} says it is stage {number}", path.display());
            seen += 1;
        }
    }
    assert_eq!(seen, STAGES.len());
}

#[test]
fn every_shader_of_a_stage_has_a_twin() {
    // Files in folders below are shared by several stages.
    for path in files("shaders", &["wgsl"]).iter().filter(|p| p.parent() == Some(&root().join("shaders"))) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(STAGES.iter().any(|stage| stage.name == stem), "{} is no stage", path.display());
    }
}

// The only file that ignores tests, by macros that name the tier: its other lines are the ones that every other file may have.
const TIERS: &str = "tests/common/tiers.rs";

// Lines of a source file that ignore a test without a tier, or name something as if it were a tier.
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
            // What `tier!` makes of a test, once for each tier.
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
