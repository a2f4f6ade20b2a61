//! References in the documentation: every relative link names an existing file, every anchor an existing heading, and
//! every path in backticks an existing file or folder.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

// Documents outside of `docs/*.md`.
const NAMED: [&str; 6] = [
    "README.md",
    "CHANGELOG.md",
    "BENCHMARKS.md",
    "CONTRIBUTING.md",
    "docs/bench/README.md",
    "python/README.md",
];

// Code in backticks that starts with one of these is a path.
const FOLDERS: [&str; 6] = ["src/", "shaders/", "tests/", "examples/", "docs/", "python/"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

// All documents of the repository, relative to its root.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = NAMED.into_iter().map(PathBuf::from).collect();
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        found.push(path.strip_prefix(root()).unwrap().to_owned());
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "md") && root().join(path).exists());
    found.sort();
    found
}

// A document without its fenced code blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut lines = vec![];
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            lines.push(line);
        }
    }
    lines.join("\n")
}

// The paragraphs of a document, each as the text outside of backticks and the code inside. A code span may continue on
// the next line, but not in the next paragraph.
fn paragraphs(text: &str) -> Vec<(String, Vec<String>)> {
    let split = |paragraph: &str| {
        let parts: Vec<String> = paragraph.split('`').map(str::to_owned).collect();
        (parts.iter().step_by(2).cloned().collect(), parts.into_iter().skip(1).step_by(2).collect())
    };
    prose(text).split("\n\n").map(split).collect()
}

// Targets of the links and images `[text](target)`.
fn targets(text: &str) -> Vec<&str> {
    let starts = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    starts.filter_map(|rest| rest.split_once(')').map(|(target, _)| target)).collect()
}

// The anchors that GitHub gives the headings of a document: lower case, hyphens instead of blanks, no punctuation, and a
// number after a heading that occurs again.
fn anchors(text: &str) -> Vec<String> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut found = vec![];
    for line in prose(text).lines() {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let slug = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let count = counts.entry(slug.clone()).or_default();
        found.push(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

// A published crate has neither the pictures nor the Python package.
fn is_left_out(path: &Path) -> bool {
    ["docs/pictures", "python"]
        .map(|name| root().join(name))
        .iter()
        .any(|folder| path.starts_with(folder) && !folder.exists())
}

// The error of a link in a document, if it has one.
fn broken(document: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = root().join(document).parent().unwrap().join(path);
    if !path.is_empty() && !file.exists() {
        return (!is_left_out(&file)).then(|| format!("{target}: no such file"));
    }
    let found = if path.is_empty() { anchors(text) } else { anchors(&fs::read_to_string(&file).ok()?) };
    let has_anchor = anchor.is_empty() || found.iter().any(|name| name == anchor);
    (!has_anchor).then(|| format!("{target}: no such heading"))
}

// Everything that is wrong with the references in the text of a document.
fn problems(document: &Path, text: &str) -> Vec<String> {
    let mut found = vec![];
    for (outside, code) in paragraphs(text) {
        found.extend(targets(&outside).into_iter().filter_map(|target| broken(document, text, target)));
        let words = code.iter().filter_map(|span| span.split_whitespace().next());
        let paths = words.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        let missing = paths.filter(|path| !root().join(path).exists() && !is_left_out(&root().join(path)));
        found.extend(missing.map(|path| format!("{path}: no such path")));
    }
    found
}

#[test]
fn every_reference_in_the_documents_resolves() {
    let documents = documents();
    assert!(documents.len() > 8, "the documents were not found");
    let (mut links, mut wrong) = (0, vec![]);
    for document in &documents {
        let text = fs::read_to_string(root().join(document)).unwrap();
        links += paragraphs(&text).iter().map(|(outside, _)| targets(outside).len()).sum::<usize>();
        let found = problems(document, &text);
        wrong.extend(found.into_iter().map(|problem| format!("{}: {problem}", document.display())));
    }
    assert!(links > 50, "only {links} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_reference_that_does_not_resolve_is_noticed() {
    let document = Path::new("docs/command.md");
    for text in [
        "[x](absent.md)",
        "![x](../absent.png)",
        "a [link over\ntwo lines](absent.md)",
        "[`x`](backends.md#absent)",
        "[x](#absent)",
        "```\n# absent\n```\n[x](#absent)",
        "`src/absent.rs`",
        "`tests/absent.sh --long`",
        "## A heading\n\n[x](#a-heading-1)",
    ] {
        assert_eq!(problems(document, text).len(), 1, "{text}");
    }
    for text in [
        "[x](backends.md)",
        "[x](backends.md#determinism)",
        "[x](../README.md) and [y](../src/lib.rs)",
        "## A heading\n\n[x](#a-heading)",
        "[x](https://example.com/absent.md#absent)",
        "`src/lib.rs` and `tests/run.sh --long`",
        "`[x](absent.md)`",
        "```\n[x](absent.md) `src/absent.rs`\n```",
    ] {
        assert_eq!(problems(document, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn headings_have_the_anchors_of_github() {
    let text =
        "# Gas on `cpu`, N = 3\n\n## Gas\n\n```\n# no heading\n```\n\n#tag\n\n### Gas\n\n## sqrt(d/g): 4_2-3";
    assert_eq!(anchors(text), ["gas-on-cpu-n--3", "gas", "gas-1", "sqrtdg-4_2-3"]);
}
