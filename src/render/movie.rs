//! Writes a video by sending the frames to an installed ffmpeg.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use tempfile::TempPath;

/// A film that is being written.
pub struct Movie {
    path: PathBuf,
    file: TempPath,
    child: Child,
    /// Output of ffmpeg, read while it works, because a full pipe would block it.
    says: JoinHandle<String>,
}

impl Movie {
    /// Starts ffmpeg, which writes an MP4 under a temporary name. `fps` is the number of frames per second (> 0); `title` and
    /// `comment` are stored in the file. `None` if ffmpeg is not on the PATH.
    ///
    /// # Errors
    /// Errors of the temporary file and of the start of ffmpeg.
    pub fn create(
        path: &Path,
        [width, height]: [u32; 2],
        fps: f64,
        title: &str,
        comment: &str,
    ) -> io::Result<Option<Self>> {
        if path.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".carom-").suffix(".mp4");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder)?.into_temp_path();
        let mut command = Command::new("ffmpeg");
        command
            .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"])
            .args(["-f", "rawvideo", "-pix_fmt", "rgba"])
            .args(["-s", &format!("{width}x{height}"), "-r", &fps.to_string(), "-i", "pipe:0", "-an"])
            // Most players support no other pixel format, and this format needs even sizes.
            .args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart"])
            .args(["-metadata", &format!("title={title}"), "-metadata", &format!("comment={comment}")])
            .args(["-f", "mp4"])
            .arg(&*file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Ctrl-C must not reach ffmpeg, which ends after the last frame.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| io::Error::other(format!("cannot start ffmpeg: {e}")))?,
        };
        let mut stderr = child.stderr.take().expect("it is piped");
        let says = std::thread::spawn(move || {
            let mut bytes = vec![];
            // An error while reading is ignored, because the exit code reports a failure.
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Ok(Some(Self { path: path.to_owned(), file, child, says }))
    }

    /// Adds a frame (red, green, blue and a fourth byte per pixel). Returns false if ffmpeg has ended.
    ///
    /// # Errors
    /// Errors of the pipe to ffmpeg.
    pub fn add(&mut self, rgba: &[u8]) -> io::Result<bool> {
        let stdin = self.child.stdin.as_mut().expect("open until the end");
        match stdin.write_all(rgba) {
            // ffmpeg has ended; `finish` reports why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Waits for ffmpeg and renames the file to its final name.
    ///
    /// # Errors
    /// The last line that ffmpeg prints, if it fails; errors of the file.
    pub fn finish(mut self) -> io::Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        let says = self.says.join().unwrap_or_default();
        if !status.success() {
            let last = says.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
            return Err(io::Error::other(format!("ffmpeg ended with {status}: {}", last.trim())));
        }
        self.file.persist(&self.path).map_err(|e| e.error)
    }
}
