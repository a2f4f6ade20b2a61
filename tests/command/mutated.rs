//! Mutated built-in scenes: each is refused or takes a step, within bounded time and memory.

use std::{
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use carom::files::BUILTIN;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SEED: u64 = 20_261_125;

/// Longest time of a run of one step: of processors where the system counts it, so that other programs do not matter, and by
/// the clock elsewhere.
const LIMIT: Duration = Duration::from_secs(20);
/// Longest time by the clock, for runs that wait for something.
const PATIENCE: Duration = Duration::from_secs(200);
/// Largest memory of a run (KiB).
const MEMORY: u64 = 2 << 20;

/// Values that no scene expects.
const ABSURD: [&str; 28] = [
    "0",
    "-0.0",
    "1",
    "-1",
    "0.5",
    "1e-3",
    "3",
    "1e4",
    "1e6",
    "-1e6",
    "1e12",
    "1e-12",
    "1e30",
    "-1e30",
    "1e-30",
    "1e-70",
    "1e70",
    "1e300",
    "-1e300",
    "1e-300",
    "5e-324",
    "inf",
    "-inf",
    "nan",
    "9223372036854775807",
    "-9223372036854775808",
    "1000000000000",
    "4294967296",
];

/// Values of other types, and text that is no TOML.
const FOREIGN: [&str; 14] = [
    "\"\"",
    "\"wall\"",
    "\"default\"",
    "[]",
    "[1, 2]",
    "[[1, 1]]",
    "{}",
    "true",
    "1979-05-27",
    "\"\\u0000\"",
    "[nan, inf, 0]",
    "[1e30, 0, 0]",
    "]",
    "\"",
];

/// Keys of scenes, to put in the place of others.
const KEYS: [&str; 22] = [
    "dt",
    "steps",
    "gravity",
    "seed",
    "dimensions",
    "drag",
    "min",
    "max",
    "x",
    "z",
    "count",
    "diameter",
    "diameters",
    "volume_fraction",
    "temperature",
    "speed_uniform",
    "velocity",
    "radius",
    "spacing",
    "random",
    "at",
    "source",
];

// The places of the numbers outside comments.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = vec![];
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap();
        let is_part = |c: char| c.is_ascii_digit() || ".eE+-_".contains(c);
        let mut at = 0;
        while let Some(start) = code[at..].find(|c: char| c.is_ascii_digit() || c == '-').map(|k| at + k) {
            let end = code[start..].find(|c| !is_part(c)).map_or(code.len(), |k| start + k);
            let is_name = code[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if !is_name && code[start..end].parse::<f64>().is_ok() {
                found.push((offset + start, offset + end));
            }
            at = end.max(start + 1);
        }
        offset += line.len();
    }
    found
}

fn pick<'a, T: ?Sized>(from: &[&'a T], random: &mut Pcg64Mcg) -> &'a T {
    from[random.random_range(0..from.len())]
}

// Replaces a number by an absurd one, or by itself times a power of ten: at most ten times as large, so that a mutation
// makes no scene of millions of spheres, which takes long with good reason.
fn with_number(text: &str, random: &mut Pcg64Mcg) -> String {
    let places = numbers(text);
    if places.is_empty() {
        return text.to_owned();
    }
    let (start, end) = places[random.random_range(0..places.len())];
    let old = &text[start..end];
    let new = match random.random_range(0..3) {
        0 => pick(&ABSURD, random).to_owned(),
        1 => format!("{}e{}", old.replace('_', ""), random.random_range(-4..=1)),
        _ if old.contains(['.', 'e']) => {
            let factor: f64 = random.random_range(-2.0..2.0);
            (old.parse::<f64>().unwrap() * factor).to_string()
        }
        _ => random.random_range(-2..40).to_string(),
    };
    format!("{}{new}{}", &text[..start], &text[end..])
}

fn with_line(text: &str, random: &mut Pcg64Mcg) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let at = random.random_range(0..lines.len());
    let other = random.random_range(0..lines.len());
    match random.random_range(0..6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(other, lines[at].clone()),
        2 => lines.swap(at, other),
        3 => {
            // The value of a key.
            if let Some(equals) = lines[at].find('=') {
                lines[at] = format!("{} {}", &lines[at][..=equals], pick(&FOREIGN, random));
            }
        }
        4 => {
            if let Some(equals) = lines[at].find('=') {
                lines[at] = format!("{} {}", pick(&KEYS, random), &lines[at][equals..]);
            }
        }
        _ => {
            // A table of another scene.
            let scene = &BUILTIN[random.random_range(0..BUILTIN.len())];
            let tables: Vec<&str> = scene.text.split("\n\n").collect();
            lines.push(pick(&tables, random).to_owned());
        }
    }
    lines.join("\n")
}

fn with_character(text: &str, random: &mut Pcg64Mcg) -> String {
    const SIGNS: [char; 16] =
        ['"', '[', ']', '{', '}', '=', '\u{0}', '\u{7}', 'é', '-', '.', ',', '\n', '#', 'e', '9'];
    let mut characters: Vec<char> = text.chars().collect();
    let at = random.random_range(0..characters.len().max(1));
    match random.random_range(0..3) {
        0 => {
            let end = (at + random.random_range(1..12)).min(characters.len());
            drop(characters.drain(at..end));
        }
        1 => characters.insert(at, SIGNS[random.random_range(0..SIGNS.len())]),
        _ => {
            if at < characters.len() {
                characters[at] = SIGNS[random.random_range(0..SIGNS.len())];
            }
        }
    }
    characters.into_iter().collect()
}

/// The scene of a number: a built-in one with one to three changes.
fn mutated(number: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(SEED.wrapping_mul(1_000_003).wrapping_add(number));
    let mut text = BUILTIN[random.random_range(0..BUILTIN.len())].text.to_owned();
    for _ in 0..random.random_range(1..=3) {
        text = match random.random_range(0..8) {
            0..5 => with_number(&text, &mut random),
            5 | 6 => with_line(&text, &mut random),
            _ => with_character(&text, &mut random),
        };
    }
    text
}

// Largest memory of a process so far (KiB), where the system says so.
fn peak_memory(process: &Child) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let field = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    field.and_then(|kib| kib.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

// Time of processors that a process has taken, where the system says so.
fn processor_time(process: &Child) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).ok()?;
    // The name of the program, in brackets, may contain blanks. Times are in hundredths of a second.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

// Runs one step; returns the exit code, or what is wrong.
fn outcome(folder: &Path, number: u64) -> Result<i32, String> {
    let file = format!("{number}.toml");
    std::fs::write(folder.join(&file), mutated(number)).unwrap();
    let begin = Instant::now();
    let mut process = Command::new(env!("CARGO_BIN_EXE_carom"))
        .args(["run", &file, "--steps", "1", "--backend", "cpu", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut wait = Duration::from_millis(2);
    let ended = loop {
        let peak = peak_memory(&process);
        if let Some(status) = process.try_wait().unwrap() {
            break Ok(status);
        }
        if peak > MEMORY {
            break Err(format!("takes {peak} KiB"));
        }
        let taken = processor_time(&process).unwrap_or_else(|| begin.elapsed());
        if taken > LIMIT || begin.elapsed() > PATIENCE {
            break Err(format!("runs for more than {} s", LIMIT.as_secs()));
        }
        thread::sleep(wait);
        wait = (wait * 2).min(Duration::from_millis(50));
    };
    let status = match ended {
        Ok(status) => status,
        Err(text) => {
            process.kill().unwrap();
            process.wait().unwrap();
            return Err(text);
        }
    };
    let mut message = String::new();
    process.stderr.take().unwrap().read_to_string(&mut message).map_err(|e| format!("stderr: {e}"))?;
    match status.code() {
        Some(code @ 0..=2) if !message.contains("panicked") => {
            let errors = message.lines().filter(|line| line.starts_with("error:")).count();
            if errors == usize::from(code != 0) {
                Ok(code)
            } else {
                Err(format!("exit code {code}: {message}"))
            }
        }
        _ => Err(format!("{status}: {message}")),
    }
}

fn mutate(count: u64) {
    println!("seed {SEED}, scenes 0..{count}");
    let folder = tempfile::tempdir().unwrap();
    let next = Mutex::new(0);
    let found = Mutex::new((vec![], [0; 3], Duration::ZERO));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    if number >= count {
                        break;
                    }
                    let begin = Instant::now();
                    let outcome = outcome(folder.path(), number);
                    let mut found = found.lock().unwrap();
                    found.2 = found.2.max(begin.elapsed());
                    match outcome {
                        Ok(code) => found.1[code as usize] += 1,
                        Err(text) => {
                            println!("scene {number}: {text}\n{}\n", mutated(number));
                            found.0.push(number);
                        }
                    }
                }
            });
        }
    });
    let (failed, codes, longest) = found.into_inner().unwrap();
    println!("exit codes 0, 1, 2: {codes:?}; the longest run took {:.1} s", longest.as_secs_f64());
    assert!(failed.is_empty(), "scenes {failed:?} fail");
    // The mutations neither spare everything nor break everything.
    assert!(codes[0] * 10 > count && codes[2] * 10 > count, "exit codes {codes:?}");
}

#[test]
fn sixty_mutated_scenes_are_refused_or_run() {
    mutate(60);
}

tier!(campaign "about 10 min": two_thousand_mutated_scenes_are_refused_or_run = mutate(2000));

#[test]
fn numbers_of_a_scene_are_found() {
    let text = "a1 = 2 # 3\nb = [-1e3, 0.5] # x\n[[c]]\nd-4 = 1_000\ne = -4\n";
    let found: Vec<&str> = numbers(text).into_iter().map(|(start, end)| &text[start..end]).collect();
    assert_eq!(found, ["2", "-1e3", "0.5", "-4"]);
}
