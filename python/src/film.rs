//! Films: a GIF, or an MP4 through an installed ffmpeg.

use std::{fs, path::PathBuf, sync::Mutex};

use carom::render::{Gif, Movie};
use pyo3::prelude::*;

use crate::{
    errors::{cannot_write, exception, invalid},
    picture::Image,
};

enum To {
    /// The film under a temporary name, renamed at the end.
    Gif(Box<Gif<fs::File>>, PathBuf),
    Movie(Movie),
}

struct Open {
    to: To,
    frames: u64,
}

/// A film that is being written.
#[pyclass(frozen, module = "carom._carom")]
pub struct FilmWriter {
    path: PathBuf,
    size: [u32; 2],
    fps: f64,
    open: Mutex<Option<Open>>,
}

#[pymethods]
impl FilmWriter {
    #[new]
    fn new(py: Python, path: PathBuf, size: [u32; 2], fps: f64, title: &str) -> PyResult<Self> {
        if !(fps.is_finite() && fps > 0.0) {
            return Err(invalid(py, format!("fps is {fps}; expected a finite number > 0")));
        }
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let failed = |error: std::io::Error| cannot_write(&path, &error);
        let to = match ending.as_deref() {
            Some("gif") => {
                let part = path.with_extension("gif.part");
                let file = fs::File::create(&part).map_err(failed)?;
                To::Gif(Box::new(Gif::new(file, size).map_err(failed)?), part)
            }
            Some("mp4") => {
                let comment = format!("carom {}", env!("CARGO_PKG_VERSION"));
                match Movie::create(&path, size, fps, title, &comment).map_err(failed)? {
                    Some(movie) => To::Movie(movie),
                    None => {
                        let text = "an MP4 needs ffmpeg, which is not on the PATH; a GIF needs nothing";
                        return Err(exception(py, "UnsupportedError", text.to_owned()));
                    }
                }
            }
            _ => {
                let path = path.display();
                return Err(invalid(py, format!("expected a name that ends in .gif or .mp4, not {path}")));
            }
        };
        Ok(Self { path, size, fps, open: Mutex::new(Some(Open { to, frames: 0 })) })
    }

    /// Adds a frame.
    fn add(&self, py: Python, image: &Image) -> PyResult<()> {
        let found = [image.image.width, image.image.height];
        if found != self.size {
            let text = format!("a frame of {found:?} pixels in a film of {:?}", self.size);
            return Err(invalid(py, text));
        }
        let Ok(mut guard) = self.open.try_lock() else {
            return Err(exception(py, "BusyError", "another thread writes this film".to_owned()));
        };
        let Some(open) = guard.as_mut() else {
            return Err(exception(py, "ClosedError", "the film is finished".to_owned()));
        };
        let time = open.frames as f64 / self.fps;
        open.frames += 1;
        let Open { to, .. } = open;
        py.detach(|| match to {
            To::Gif(gif, _) => gif.add(&image.image, time),
            // ffmpeg that has ended says why at the end.
            To::Movie(movie) => movie.add(&image.image.rgba).map(drop),
        })
        .map_err(|error| cannot_write(&self.path, &error))
    }

    /// Completes the file under its name.
    fn finish(&self, py: Python) -> PyResult<()> {
        let taken = self.open.try_lock().ok().and_then(|mut open| open.take());
        let Some(Open { to, frames }) = taken else {
            return Err(exception(py, "ClosedError", "the film is finished".to_owned()));
        };
        let end = frames as f64 / self.fps;
        py.detach(|| match to {
            To::Gif(gif, part) => gif.finish(end).and_then(|file| {
                drop(file);
                fs::rename(part, &self.path)
            }),
            To::Movie(movie) => movie.finish(),
        })
        .map_err(|error| cannot_write(&self.path, &error))
    }
}

impl Drop for FilmWriter {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(Open { to: To::Gif(_, part), .. }) = open {
            // A film that was not finished leaves nothing behind.
            let _ = fs::remove_file(part);
        }
    }
}
