//! The house is in order: the table of stages and the files agree, files stay short, nothing is left half done.

use std::{
    fs,
    path::{Path, PathBuf},
};

use carom::schedule::STAGES;

const LONGEST_FILE: usize = 500;
const LONGEST_SHADER: usize = 450;

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

#[test]
fn no_source_file_is_too_long() {
    let sources = [(files("src", &["rs"]), LONGEST_FILE), (files("shaders", &["wgsl"]), LONGEST_SHADER)];
    for (sources, longest) in sources {
        assert!(sources.len() >= STAGES.len(), "the sources were not found");
        for path in sources {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= longest, "{} has {lines} lines; split it along a noun", path.display());
        }
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
