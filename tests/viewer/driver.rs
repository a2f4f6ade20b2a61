//! A virtual display, a window on it, and simulated keyboard and mouse.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for any event: a software adapter compiles shaders at first use for tens of seconds, and other tests
/// share the processor.
const PATIENCE: Duration = Duration::from_secs(240);
/// Polling interval.
const GLANCE: Duration = Duration::from_millis(50);

/// A program that the tests require.
fn tool(program: &str, package: &str) -> Command {
    let found = Command::new(program).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if let Err(error) = found {
        panic!(
            "{program} cannot be started ({error}), and the window is not tested without it; on Debian or Ubuntu \
             type `sudo apt-get install {package}`"
        );
    }
    Command::new(program)
}

/// An X server without a screen.
pub struct Display {
    server: Child,
    name: String,
}

impl Display {
    pub fn open() -> Self {
        let mut server = tool("Xvfb", "xvfb")
            .args(["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        let mut number = String::new();
        let said = BufReader::new(server.stdout.take().expect("piped")).read_line(&mut number);
        let number = number.trim().to_owned();
        assert!(said.is_ok() && !number.is_empty(), "Xvfb ended before it said which display it is");
        Self { server, name: format!(":{number}") }
    }

    fn xdotool(&self, arguments: &[&str]) -> String {
        let output = tool("xdotool", "xdotool").args(arguments).env("DISPLAY", &self.name).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "xdotool {}: {error}", arguments.join(" "));
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // After any failure the server is stopped.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A running `carom view`.
pub struct Viewer {
    process: Child,
    folder: TempDir,
    window: String,
    read: usize,
    display: Display,
}

/// The command in a temporary folder, without a display.
pub fn view(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carom"));
    command.arg("view").args(arguments).current_dir(folder.path()).stdin(Stdio::null());
    command.env("RUST_BACKTRACE", "1");
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        command.env_remove(name);
    }
    command
}

impl Viewer {
    /// Opens a scene in a window of 800 by 600 and waits until its spheres are drawn.
    #[track_caller]
    pub fn open(scene: &str, arguments: &[&str]) -> Self {
        let display = Display::open();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scene.toml"), scene).unwrap();
        let mut all = vec!["scene.toml", "--size", "800x600", "--events", "events.jsonl"];
        all.extend(arguments);
        let errors = File::create(folder.path().join("stderr")).unwrap();
        let process = view(&folder, &all).env("DISPLAY", &display.name).stderr(errors).spawn().unwrap();
        let mut viewer = Self { process, folder, window: String::new(), read: 0, display };
        viewer.expect("opened");
        viewer.expect("drawn");
        let search = ["search", "--sync", "--onlyvisible", "--pid", &viewer.process.id().to_string()];
        let windows = viewer.display.xdotool(&search);
        viewer.window = windows.lines().next().expect("a window").to_owned();
        // Without a window manager the window has to be focused explicitly.
        viewer.display.xdotool(&["windowfocus", "--sync", &viewer.window]);
        viewer
    }

    /// A file in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn events(&self) -> Vec<Value> {
        let Ok(text) = std::fs::read_to_string(self.path("events.jsonl")) else { return vec![] };
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    fn said(&self) -> String {
        let mut text = String::new();
        let _ = File::open(self.path("stderr")).and_then(|mut file| file.read_to_string(&mut text));
        text
    }

    /// Waits for an event with this name after the events already waited for.
    #[track_caller]
    pub fn expect(&mut self, name: &str) -> Value {
        let start = Instant::now();
        loop {
            let events = self.events();
            let found = events.iter().skip(self.read).position(|event| event["event"] == name);
            if let Some(at) = found {
                self.read += at + 1;
                return events[self.read - 1].clone();
            }
            let ended = self.process.try_wait().unwrap();
            if ended.is_some() || start.elapsed() > PATIENCE {
                let last: Vec<String> = events.iter().rev().take(6).map(Value::to_string).collect();
                panic!("no `{name}`, ended: {ended:?}; last events {last:#?}\nstderr: {}", self.said());
            }
            sleep(GLANCE);
        }
    }

    /// Presses a key, given by its X name.
    pub fn press(&self, key: &str) {
        self.display.xdotool(&["key", key]);
    }

    /// Moves the mouse to a point of the window.
    pub fn point(&self, x: u32, y: u32) {
        let [x, y] = [x, y].map(|n| n.to_string());
        self.display.xdotool(&["mousemove", "--window", &self.window, &x, &y]);
        // The window receives the motion as an event; an immediate click would use the old position.
        sleep(4 * GLANCE);
    }

    /// Drags with the left button while a key is held, and waits for an event after each part of the drag: `begun` after
    /// the first part, `ended` after the button is let go.
    #[track_caller]
    pub fn drag_with(&mut self, key: &str, from: [u32; 2], to: [u32; 2], events: [&str; 2]) -> Value {
        self.point(from[0], from[1]);
        self.display.xdotool(&["keydown", key]);
        sleep(4 * GLANCE);
        self.display.xdotool(&["mousedown", "1"]);
        sleep(4 * GLANCE);
        self.point(u32::midpoint(from[0], to[0]), u32::midpoint(from[1], to[1]));
        let begun = self.expect(events[0]);
        self.point(to[0], to[1]);
        sleep(10 * GLANCE);
        self.display.xdotool(&["mouseup", "1"]);
        self.expect(events[1]);
        self.display.xdotool(&["keyup", key]);
        begun
    }

    /// Clicks at the mouse position.
    pub fn click(&self) {
        self.display.xdotool(&["mousedown", "1"]);
        sleep(2 * GLANCE);
        self.display.xdotool(&["mouseup", "1"]);
    }

    /// Turns the wheel by a notch, towards the point under the mouse.
    pub fn scroll(&self) {
        self.display.xdotool(&["click", "4"]);
        sleep(2 * GLANCE);
    }

    /// Toggles the panel and returns the figures of the event.
    #[track_caller]
    pub fn look(&mut self) -> Value {
        self.press("h");
        self.expect("panel")
    }

    /// Drags with a button between two points of the window. The window sees the parts of the drag in different frames
    /// even if frames are slow, because each part waits for at least one picture.
    #[track_caller]
    pub fn drag(&mut self, button: &str, from: [u32; 2], to: [u32; 2]) {
        self.point(from[0], from[1]);
        self.display.xdotool(&["mousedown", button]);
        self.picture();
        for part in 1..=2 {
            let [x, y] = [0, 1].map(|k| (from[k] * (2 - part) + to[k] * part) / 2);
            self.point(x, y);
            self.picture();
        }
        self.display.xdotool(&["mouseup", button]);
        self.picture();
    }

    /// Resizes the window.
    pub fn resize(&self, width: u32, height: u32) {
        let [width, height] = [width, height].map(|n| n.to_string());
        self.display.xdotool(&["windowsize", &self.window, &width, &height]);
    }

    /// Hides the window and shows it again.
    pub fn hide_and_show(&self) {
        self.display.xdotool(&["windowunmap", "--sync", &self.window]);
        sleep(10 * GLANCE);
        self.display.xdotool(&["windowmap", "--sync", &self.window]);
        self.display.xdotool(&["windowfocus", "--sync", &self.window]);
    }

    /// Saves a screenshot and reads it.
    #[track_caller]
    pub fn picture(&mut self) -> Picture {
        self.press("F12");
        let name = self.expect("screenshot")["file"].as_str().expect("a name").to_owned();
        Picture::read(self.path(&name))
    }

    /// Closes the window by its key, and waits until the program exits.
    #[track_caller]
    pub fn close(mut self) -> (ExitStatus, String) {
        self.press("ctrl+q");
        self.expect("closed");
        let status = self.wait();
        (status, self.said())
    }

    /// Waits until the program exits.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end; stderr: {}", self.said());
            sleep(GLANCE);
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A saved screenshot.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub texts: Vec<(String, String)>,
    rgba: Vec<u8>,
}

impl Picture {
    fn read(path: PathBuf) -> Self {
        let mut reader = png::Decoder::new(BufReader::new(File::open(path).unwrap())).read_info().unwrap();
        let mut rgba = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut rgba).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgba);
        let texts = &reader.info().uncompressed_latin1_text;
        let texts = texts.iter().map(|t| (t.keyword.clone(), t.text.clone())).collect();
        Self { width: info.width, height: info.height, texts, rgba }
    }

    /// Red, green and blue.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 3] {
        let at = 4 * (y * self.width + x) as usize;
        [self.rgba[at], self.rgba[at + 1], self.rgba[at + 2]]
    }

    /// Share of pixels that differ noticeably from another picture of the same size.
    pub fn difference(&self, other: &Self) -> f64 {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let pairs = self.rgba.chunks_exact(4).zip(other.rgba.chunks_exact(4));
        let differ = pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 12)).count();
        differ as f64 / f64::from(self.width * self.height)
    }
}
