//! Records the pictures of the window as a GIF.

use std::{
    io::{self, BufWriter, ErrorKind},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use super::screenshot::{MOST, names};
use crate::render::{Gif, Image};

/// Shortest time between two frames: 25 frames per second.
const INTERVAL: Duration = Duration::from_millis(40);
/// Frames that wait for the thread that writes; further frames are left out, and the frame before is shown for longer.
const WAITING: usize = 4;
/// Most memory of all frames in their temporary file (bytes); the film ends there.
pub const MOST_BYTES: u64 = 2 << 30;

/// A film that is being recorded. Its thread writes the file under a temporary name.
pub struct Film {
    frames: SyncSender<(Image, f64)>,
    thread: JoinHandle<()>,
    written: Receiver<io::Result<Written>>,
    size: [u32; 2],
    start: Instant,
    last: Option<Instant>,
    count: u64,
}

/// A complete film.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Number of frames.
    pub frames: usize,
    /// Duration (seconds).
    pub seconds: f64,
}

/// A film whose last frame is taken and whose file is being written.
pub struct Closing {
    thread: JoinHandle<()>,
    written: Receiver<io::Result<Written>>,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The frame is part of the film, or left out because the thread is busy.
    Yes,
    /// The film has to end: the picture has another size, the film is as long as it may be, or its file cannot be written.
    Full(&'static str),
}

impl Film {
    /// Starts a film in `folder` under a name from the scene. `wake` is called when the film is written.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn start(
        folder: &Path,
        scene: &str,
        size: [u32; 2],
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let parent = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".carom-");
        // Temporary files are private by default; the result is an ordinary file (the umask still applies).
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(parent)?;
        let gif = Gif::new(BufWriter::new(file), size)?;
        let (frames, inbox) = sync_channel(WAITING);
        let (done, written) = channel();
        let (folder, scene) = (folder.to_owned(), scene.to_owned());
        let start = Instant::now();
        let thread = std::thread::Builder::new().name("film".to_owned()).spawn(move || {
            let result = write(gif, &inbox, start, &folder, &scene);
            // The window may be closed by now.
            let _ = done.send(result);
            wake();
        })?;
        Ok(Self { frames, thread, written, size, start, last: None, count: 0 })
    }

    /// Whether enough time has passed since the last frame.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() >= INTERVAL)
    }

    /// Adds a frame.
    pub fn add(&mut self, image: Image) -> Added {
        if [image.width, image.height] != self.size {
            return Added::Full("the picture has another size now");
        }
        let bytes = 3 * u64::from(image.width) * u64::from(image.height);
        if (self.count + 1) * bytes > MOST_BYTES {
            return Added::Full("the film is as long as it may be");
        }
        let now = Instant::now();
        match self.frames.try_send((image, now.duration_since(self.start).as_secs_f64())) {
            Ok(()) => {
                self.count += 1;
                self.last = Some(now);
                Added::Yes
            }
            Err(TrySendError::Full(_)) => Added::Yes,
            Err(TrySendError::Disconnected(_)) => Added::Full("its file cannot be written"),
        }
    }

    /// Duration so far (seconds), and the number of frames.
    pub fn length(&self) -> (f64, u64) {
        (self.start.elapsed().as_secs_f64(), self.count)
    }

    /// Ends the film; the thread completes the file.
    pub fn stop(self) -> Closing {
        Closing { thread: self.thread, written: self.written }
    }
}

impl Closing {
    /// The result, if the file is complete.
    pub fn poll(&self) -> Option<io::Result<Written>> {
        self.written.try_recv().ok()
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn wait(self) -> io::Result<Written> {
        // A panic of the thread has been printed.
        let _ = self.thread.join();
        self.written.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of the film ended early")))
    }
}

// Collects the frames until the film is stopped, and writes it under the first free name.
fn write(
    mut gif: Gif<BufWriter<NamedTempFile>>,
    inbox: &Receiver<(Image, f64)>,
    start: Instant,
    folder: &Path,
    scene: &str,
) -> io::Result<Written> {
    for (image, time) in inbox {
        gif.add(&image, time)?;
    }
    let (frames, seconds) = (gif.frames(), start.elapsed().as_secs_f64());
    if frames == 0 {
        return Err(io::Error::new(ErrorKind::InvalidData, "it has no frames"));
    }
    let mut file = gif.finish(seconds)?.into_inner().map_err(io::IntoInnerError::into_error)?;
    for path in names(folder, scene, "gif") {
        match file.persist_noclobber(&path) {
            Ok(_) => return Ok(Written { path, frames, seconds }),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => file = error.file,
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {MOST} films of {scene} already")))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn image(shade: u8) -> Image {
        Image { width: 8, height: 6, rgba: [shade, 40, 90, 255].repeat(48) }
    }

    #[test]
    fn a_film_has_its_frames_and_their_times_and_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("carom-gas-0001.gif"), "kept").unwrap();
        let (wake, woken) = channel();
        let mut film =
            Film::start(folder.path(), "scenes/gas.toml", [8, 6], move || wake.send(()).unwrap()).unwrap();
        assert!(film.is_due());
        for shade in [0, 100, 200] {
            assert_eq!(film.add(image(shade)), Added::Yes);
            assert!(!film.is_due());
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(film.length().1, 3);
        let other = Image { width: 6, height: 8, rgba: image(0).rgba };
        assert!(matches!(film.add(other), Added::Full(_)));
        // Nothing but the temporary file is there before the film is complete.
        assert!(!folder.path().join("carom-gas-0002.gif").exists());
        let written = film.stop().wait().unwrap();
        woken.recv().unwrap();
        assert_eq!(
            (written.path.file_name().unwrap().to_str(), written.frames),
            (Some("carom-gas-0002.gif"), 3)
        );
        assert!(written.seconds >= 0.3);
        let mut reader = gif::DecodeOptions::new().read_info(File::open(&written.path).unwrap()).unwrap();
        let mut delays = vec![];
        while let Some(frame) = reader.read_next_frame().unwrap() {
            delays.push(frame.delay);
        }
        assert!(delays.len() == 3 && delays.iter().all(|&delay| delay >= 9), "{delays:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(std::fs::read_to_string(folder.path().join("carom-gas-0001.gif")).unwrap(), "kept");
    }

    #[test]
    fn a_film_without_frames_or_without_a_folder_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let film = Film::start(folder.path(), "gas", [8, 6], || ()).unwrap();
        assert!(film.stop().wait().unwrap_err().to_string().contains("no frames"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Film::start(&folder.path().join("none"), "gas", [8, 6], || ()).is_err());
    }
}
