//! `carom render`. Needs an adapter: without one most of these tests fail.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Place, Ran};

// Long enough for a machine that compiles shaders and runs other tests at the same time.
const PATIENCE: Duration = Duration::from_secs(240);

const NO_ADAPTER: [(&str, &str); 3] =
    [("VK_DRIVER_FILES", "/nonexistent"), ("VK_ICD_FILENAMES", "/nonexistent"), ("WGPU_BACKEND", "vulkan")];

/// Size, pixels and text chunks of a PNG.
struct Png {
    size: (u32, u32),
    rgba: Vec<u8>,
    texts: BTreeMap<String, String>,
}

fn png(path: &Path) -> Png {
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
    let mut rgba = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut rgba).unwrap();
    let info = reader.info();
    let texts = info.uncompressed_latin1_text.iter().map(|t| (t.keyword.clone(), t.text.clone())).collect();
    Png { size: (info.width, info.height), rgba, texts }
}

/// Size of a GIF, and the delay of every frame in hundredths of a second.
fn gif(path: &Path) -> ((u16, u16), Vec<u16>) {
    let mut reader = gif::DecodeOptions::new().read_info(File::open(path).unwrap()).unwrap();
    let size = (reader.width(), reader.height());
    let mut delays = vec![];
    while let Some(frame) = reader.read_next_frame().unwrap() {
        delays.push(frame.delay);
    }
    (size, delays)
}

fn colours(rgba: &[u8]) -> usize {
    rgba.chunks_exact(4).collect::<std::collections::BTreeSet<_>>().len()
}

fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn a_folder_gets_a_png_with_its_origin_for_each_frame() {
    let place = Place::new();
    let arguments =
        ["render", "gas.toml", "--frames", "3", "--size", "120x80", "--out", "film", "--seed", "42"];
    let ran = place.carom(&[&arguments[..], &["--steps-per-frame", "2"]].concat()).expect(0);
    assert!(ran.stdout.contains("3 frames in film"), "{}", ran.stdout);
    assert_eq!(place.names("film"), ["frame-00001.png", "frame-00002.png", "frame-00003.png"]);
    let pictures: Vec<Png> = (1..=3).map(|k| png(&place.path(&format!("film/frame-{k:05}.png")))).collect();
    for (k, picture) in pictures.iter().enumerate() {
        assert_eq!(picture.size, (120, 80));
        assert!(colours(&picture.rgba) > 100, "there is something to see");
        let text = |keyword: &str| picture.texts.get(keyword).map(String::as_str);
        assert_eq!(text("Scene"), Some("gas.toml"));
        assert_eq!(text("Seed"), Some("42"));
        assert_eq!(text("Software"), Some(concat!("carom ", env!("CARGO_PKG_VERSION"))));
        assert_eq!(text("Step"), Some((2 * k).to_string().as_str()));
        let time: f64 = text("Time").unwrap().parse().unwrap();
        assert!((time - 0.04 * k as f64).abs() < 1e-12);
    }
    assert!(pictures[0].rgba != pictures[1].rgba && pictures[1].rgba != pictures[2].rgba);
    // A shorter film in the same folder keeps the frames that it does not replace, and reports them.
    let again = ["render", "gas.toml", "--frames", "2", "--size", "120x80", "--out", "film"];
    place.carom(&again).expect(0).says("of an earlier film");
}

#[test]
fn one_picture_is_a_png_of_the_requested_time() {
    let place = Place::new();
    let picture = |name: &str, extra: &[&str]| {
        let arguments = ["render", "gas.toml", "--size", "96x96", "--out", name, "--quiet"];
        let ran = place.carom(&[&arguments[..], extra].concat()).expect(0).silent();
        assert_eq!(ran.stderr, "");
        png(&place.path(name))
    };
    let plain = picture("a.png", &["--start", "0.1"]);
    assert_eq!((plain.size, plain.texts["Step"].as_str()), ((96, 96), "5"));
    // The picture does not depend on the number of threads; other arguments change it.
    assert!(picture("b.png", &["--start", "0.1", "--threads", "3"]).rgba == plain.rgba);
    for other in [
        &["--start", "0.2"][..],
        &["--start", "0.1", "--camera", "top"],
        &["--start", "0.1", "--camera", "9,-9,12:3,3,3:50"],
        &["--start", "0.1", "--color", "radius"],
        &["--start", "0.1", "--map", "grey"],
        &["--start", "0.1", "--range", "0,1"],
        &["--start", "0.1", "--hide", "legend,bounds"],
        &["--start", "0.1", "--plot", "energy"],
        &["--start", "0.1", "--plot", "impacts", "--color", "impacts"],
    ] {
        let picture = picture("c.png", other);
        assert!(picture.size == plain.size && picture.rgba != plain.rgba, "{other:?}");
    }
}

#[test]
fn every_backend_is_drawn() {
    let place = Place::new();
    for backend in ["cpu", "gpu", "exact"] {
        let arguments = ["render", "pair.toml", "--backend", backend, "--size", "64x48"];
        let out = format!("{backend}.png");
        place.carom(&[&arguments[..], &["--out", &out, "--start", "1"]].concat()).expect(0);
        assert_eq!(png(&place.path(&out)).texts["Step"], "2");
    }
    // The pair has no box: the camera frames the spheres.
    assert!(png(&place.path("cpu.png")).rgba == png(&place.path("exact.png")).rgba);
}

#[test]
fn a_gif_has_its_frames_and_their_time() {
    let place = Place::new();
    let arguments = ["render", "gas.toml", "--frames", "7", "--fps", "12", "--size", "90x60"];
    let ran = place.carom(&[&arguments[..], &["--camera", "orbit:90", "--out", "a.GIF"]].concat()).expect(0);
    assert!(ran.stdout.contains("a.GIF, 7 frames"), "{}", ran.stdout);
    let (size, delays) = gif(&place.path("a.GIF"));
    assert_eq!((size, delays.len()), ((90, 60), 7));
    // 100/12 hundredths is not an integer; the delays are correct on average.
    assert!(delays.iter().all(|delay| (8..=9).contains(delay)), "{delays:?}");
    assert_eq!(delays.iter().sum::<u16>(), 58);
    assert_eq!(place.names("."), ["a.GIF", "gas.toml", "pair.toml"]);
    place
        .carom(&["render", "pair.toml", "--frames", "2", "--fps", "60", "--out", "b.gif", "--size", "32x32"])
        .expect(0)
        .says("at most 50 frames");
}

#[test]
fn a_film_goes_through_ffmpeg_where_there_is_one() {
    let place = Place::new();
    let arguments =
        ["render", "gas.toml", "--frames", "5", "--fps", "10", "--size", "91x61", "--out", "film.mp4"];
    if has_ffmpeg() {
        place.carom(&arguments).expect(0);
        let bytes = std::fs::read(place.path("film.mp4")).unwrap();
        assert_eq!(&bytes[4..8], b"ftyp");
        assert_eq!(place.names("."), ["film.mp4", "gas.toml", "pair.toml"]);
        let probe = Command::new("ffprobe")
            .args(["-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames,width,height"])
            .args(["-of", "csv=p=0"])
            .arg(place.path("film.mp4"))
            .output();
        if let Ok(probe) = probe {
            // Odd sizes are padded.
            assert_eq!(String::from_utf8_lossy(&probe.stdout).trim(), "92,62,5");
        }
    }
    // Without ffmpeg the command writes the frames and says so.
    let place = Place::new();
    let output = place.command(&arguments).env("PATH", "").output().unwrap();
    let ran = Ran::new(&arguments, output).expect(0).says("ffmpeg is not on the PATH");
    assert_eq!(ran.stderr.matches("ffmpeg is not").count(), 1);
    assert_eq!(place.names("film").len(), 5);
    assert!(!place.path("film.mp4").exists());
}

#[cfg(unix)]
#[test]
fn an_ffmpeg_that_fails_ends_with_4_and_its_message() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    std::fs::create_dir(place.path("bin")).unwrap();
    place.write("bin/ffmpeg", "#!/bin/sh\necho 'no such encoder' >&2\nexit 7\n");
    std::fs::set_permissions(place.path("bin/ffmpeg"), PermissionsExt::from_mode(0o755)).unwrap();
    let arguments = ["render", "gas.toml", "--frames", "50", "--size", "64x64", "--out", "film.mp4"];
    let output = place.command(&arguments).env("PATH", place.path("bin")).output().unwrap();
    Ran::new(&arguments, output).expect(4).says("no such encoder");
    assert_eq!(place.names("."), ["bin", "gas.toml", "pair.toml"]);
}

#[test]
fn frames_between_steps_show_whole_steps_and_say_so() {
    let place = Place::new();
    let arguments = ["render", "gas.toml", "--frames", "4", "--fps", "10", "--size", "64x64", "--out", "f"];
    place.carom(&[&arguments[..], &["--speed", "0.5"]].concat()).expect(0).says("2.500 steps");
    let steps: Vec<String> =
        (1..=4).map(|k| png(&place.path(&format!("f/frame-{k:05}.png"))).texts["Step"].clone()).collect();
    assert_eq!(steps, ["0", "2", "5", "7"]);
}

#[test]
fn the_scene_sets_the_camera() {
    let place = Place::new();
    let plain = "[world]\ndt = 0.5\n[[spheres]]\nat = [{ position = [0, 0, 0] }, { position = [3, 0, 0] }]\n";
    place.write("plain.toml", plain);
    place.write("viewed.toml", &format!("{plain}[view]\neye = [0, -9, 2]\nfov = 50\ncolor = \"id\"\n"));
    let picture = |scene: &str, extra: &[&str]| {
        let arguments = ["render", scene, "--size", "80x60", "--out", "a.png"];
        place.carom(&[&arguments[..], extra].concat()).expect(0);
        png(&place.path("a.png")).rgba
    };
    let viewed = picture("viewed.toml", &[]);
    assert!(viewed != picture("plain.toml", &["--color", "id"]));
    // Without a target the camera looks at the middle of the two spheres.
    assert!(viewed == picture("plain.toml", &["--color", "id", "--camera", "0,-9,2:1.5,0,0:50"]));
    assert!(viewed != picture("viewed.toml", &["--color", "speed"]));
    place.write("odd.toml", &format!("{plain}[view]\ncolor = \"taste\"\n"));
    place.carom(&["render", "odd.toml", "--out", "b.png"]).expect(2).silent().says("taste");
}

#[test]
fn errors_are_reported_before_anything_is_written() {
    let place = Place::new();
    let before = place.names(".");
    for arguments in [
        &["render"][..],
        &["render", "gas.toml", "--frames", "0"],
        &["render", "gas.toml", "--fps", "0"],
        &["render", "gas.toml", "--fps", "-5"],
        &["render", "gas.toml", "--fps", "nan"],
        &["render", "gas.toml", "--size", "640"],
        &["render", "gas.toml", "--size", "0x480"],
        &["render", "gas.toml", "--size", "640x-1"],
        &["render", "gas.toml", "--size", "640x480x3"],
        &["render", "gas.toml", "--size", "99999x99999"],
        &["render", "gas.toml", "--speed", "0"],
        &["render", "gas.toml", "--speed", "1", "--steps-per-frame", "2"],
        &["render", "gas.toml", "--steps-per-frame", "0"],
        &["render", "gas.toml", "--start", "-1"],
        &["render", "gas.toml", "--out", "film.avi"],
        &["render", "gas.toml", "--out", "film.png", "--frames", "2"],
        &["render", "gas.toml", "--camera", "behind"],
        &["render", "gas.toml", "--camera", "1,2,3:1,2,3"],
        &["render", "gas.toml", "--camera", "1,2,3:0,0,0:179"],
        &["render", "gas.toml", "--color", "taste"],
        &["render", "gas.toml", "--map", "jet"],
        &["render", "gas.toml", "--range", "5,1"],
        &["render", "gas.toml", "--range", "5"],
        &["render", "gas.toml", "--hide", "spheres"],
        &["render", "gas.toml", "--plot", "mood"],
        &["render", "gas.toml", "--set", "world.dt=-1"],
        &["render", "missing.toml"],
    ] {
        place.carom(arguments).expect(2).silent();
        assert_eq!(place.names("."), before, "{arguments:?}");
    }
    place.carom(&["render", "gsa", "--out", "a.png"]).expect(2).silent().says("did you mean `gas`");
    place.carom(&["render", "gas.toml", "--out", "no/such/a.gif"]).expect(4).silent().says("a.gif");
    place.carom(&["render", "gas.toml", "--out", "gas.toml/frames"]).expect(4).silent();
    place.carom(&["render", "gas.toml", "--adapter", "abacus"]).expect(3).silent().says("abacus");
    assert_eq!(place.names("."), before);
}

#[test]
fn without_an_adapter_there_are_no_pictures() {
    let place = Place::new();
    for backend in ["auto", "cpu", "gpu"] {
        let arguments = ["render", "gas.toml", "--backend", backend, "--out", "a.png"];
        let output = place.command(&arguments).envs(NO_ADAPTER).output().unwrap();
        let ran = Ran::new(&arguments, output).expect(3).silent().says("no adapter found");
        if cfg!(target_os = "linux") {
            ran.says("mesa-vulkan-drivers");
        }
    }
    assert_eq!(place.names("."), ["gas.toml", "pair.toml"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_complete_frames() {
    for out in ["film", "film.gif"] {
        let place = Place::new();
        let arguments = ["render", "gas.toml", "--frames", "90000", "--size", "64x64", "--out", out];
        let child = place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let has_begun = || match out {
            "film" => place.path("film/frame-00003.png").exists(),
            _ => place.names(".").iter().any(|name| name.starts_with(".carom")),
        };
        let start = Instant::now();
        while !has_begun() {
            assert!(start.elapsed() < PATIENCE, "{out} has not begun");
            std::thread::sleep(Duration::from_millis(20));
        }
        if out == "film.gif" {
            // The frames of a GIF become visible at its end. The interrupted run exits cleanly with or without a frame.
            std::thread::sleep(Duration::from_secs(4));
        }
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ran = Ran::new(&arguments, child.wait_with_output().unwrap()).expect(130);
        if out == "film" {
            ran.says("interrupted after frame");
            let names = place.names("film");
            assert!(names.len() >= 3 && names.iter().all(|name| name.starts_with("frame-")), "{names:?}");
            for name in names {
                assert_eq!(png(&place.path("film").join(name)).size, (64, 64));
            }
        } else if place.path(out).exists() {
            assert!(!gif(&place.path(out)).1.is_empty());
        }
        assert!(place.names(".").iter().all(|name| !name.starts_with(".carom")));
    }
}
