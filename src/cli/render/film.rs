//! Writes the frames as a folder of PNG files, a single PNG, a GIF or a video file.

use std::path::{Path, PathBuf};

use carom::render::{Gif, Image, Movie};

use crate::cli::{
    atomic_file::{AtomicFile, cannot_write},
    command_error::CommandError,
    screen::Screen,
    text::counted,
};

/// Most frames per second that players show of a GIF.
const FASTEST_GIF: f64 = 50.0;

/// Kind of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    Png,
    Gif,
    Mp4,
}

impl Kind {
    /// The kind by the extension; no extension means a folder.
    pub fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            None => Ok(Self::Folder),
            Some("png") => Ok(Self::Png),
            Some("gif") => Ok(Self::Gif),
            Some("mp4") => Ok(Self::Mp4),
            // An existing folder may have any name.
            Some(_) if path.is_dir() => Ok(Self::Folder),
            Some(other) => Err(format!(
                "expected a name that ends in .gif, .mp4 or .png, or a folder, which has no ending; not .{other}"
            )),
        }
    }
}

/// A film that is being written.
pub struct Film {
    path: PathBuf,
    size: [u32; 2],
    frames: u64,
    to: To,
}

enum To {
    Folder,
    Png(AtomicFile),
    /// The film, and its frames per second.
    Gif(Box<Gif<AtomicFile>>, f64),
    Movie(Movie),
}

/// Description of a film, stored in its file.
pub struct Label {
    pub scene: String,
    pub seed: u64,
}

impl Label {
    fn software() -> String {
        format!("carom {}", env!("CARGO_PKG_VERSION"))
    }
}

impl Film {
    /// Opens the output under a temporary name. Without ffmpeg a film becomes a folder, with a note on the screen.
    pub fn create(
        path: &Path,
        size: [u32; 2],
        fps: f64,
        label: &Label,
        screen: &Screen,
    ) -> Result<Self, CommandError> {
        let kind = Kind::of(path).map_err(CommandError::usage)?;
        let mut path = path.to_owned();
        let to = match kind {
            Kind::Folder => folder(&path)?,
            Kind::Png => To::Png(AtomicFile::create(&path)?),
            Kind::Gif => {
                if fps > FASTEST_GIF {
                    screen.note("note: players show at most 50 frames of a GIF in a second");
                }
                let gif = Gif::new(AtomicFile::create(&path)?, size).map_err(|e| cannot_write(&path, &e))?;
                To::Gif(Box::new(gif), fps)
            }
            Kind::Mp4 => {
                let comment = format!("scene {}, seed {}, {}", label.scene, label.seed, Label::software());
                let movie = Movie::create(&path, size, fps, &label.scene, &comment);
                match movie.map_err(|e| cannot_write(&path, &e))? {
                    Some(movie) => To::Movie(movie),
                    None => {
                        let film = path.display().to_string();
                        path.set_extension("");
                        let frames = path.display();
                        screen.note(&format!(
                            "note: ffmpeg is not on the PATH, so the frames go to {frames} as PNG files; with it, `ffmpeg \
                             -framerate {fps} -i {frames}/frame-%05d.png -pix_fmt yuv420p {film}` makes the film"
                        ));
                        folder(&path)?
                    }
                }
            }
        };
        Ok(Self { path, size, frames: 0, to })
    }

    /// Number of frames written.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Adds a frame; `time` and `step` are those of the simulation. Returns false if further frames are useless.
    pub fn add(&mut self, image: &Image, label: &Label, time: f64, step: u64) -> Result<bool, CommandError> {
        debug_assert_eq!([image.width, image.height], self.size);
        self.frames += 1;
        match &mut self.to {
            To::Folder => {
                let path = self.path.join(format!("frame-{:05}.png", self.frames));
                let mut file = AtomicFile::create(&path)?;
                write_png(&mut file, &path, image, label, time, step)?;
                file.commit()?;
            }
            To::Png(file) => write_png(file, &self.path, image, label, time, step)?,
            To::Gif(gif, fps) => {
                let time = gif.frames() as f64 / *fps;
                gif.add(image, time).map_err(|e| cannot_write(&self.path, &e))?;
            }
            To::Movie(movie) => return movie.add(&image.rgba).map_err(|e| cannot_write(&self.path, &e)),
        }
        Ok(true)
    }

    /// Renames the file to its final name and reports it. Without frames nothing remains.
    pub fn finish(self, screen: &mut Screen) -> Result<(), CommandError> {
        if self.frames == 0 {
            return Ok(());
        }
        let path = self.path.display().to_string();
        let written = match self.to {
            To::Folder => {
                if self.path.join(format!("frame-{:05}.png", self.frames + 1)).exists() {
                    screen.note(&format!("note: {path} holds more frames, of an earlier film"));
                }
                format!("{} in {path}, frame-00001.png and on", counted(self.frames, "frame"))
            }
            To::Png(file) => {
                file.commit()?;
                path
            }
            To::Gif(gif, fps) => {
                let end = gif.frames() as f64 / fps;
                gif.finish(end).map_err(|e| cannot_write(&self.path, &e))?.commit()?;
                format!("{}, {}", path, counted(self.frames, "frame"))
            }
            To::Movie(movie) => {
                movie.finish().map_err(|e| cannot_write(&self.path, &e))?;
                format!("{}, {}", path, counted(self.frames, "frame"))
            }
        };
        screen.line(&format!("{:<10}{written}", "written"));
        Ok(())
    }
}

fn folder(path: &Path) -> Result<To, CommandError> {
    std::fs::create_dir_all(path).map_err(|e| cannot_write(path, &e))?;
    Ok(To::Folder)
}

fn write_png(
    file: &mut AtomicFile,
    path: &Path,
    image: &Image,
    label: &Label,
    time: f64,
    step: u64,
) -> Result<(), CommandError> {
    // `AtomicFile` flushes at line ends; a PNG is full of bytes that look like line ends.
    let mut bytes = vec![];
    let texts = [
        ("Software", Label::software()),
        ("Scene", label.scene.clone()),
        ("Seed", label.seed.to_string()),
        ("Time", time.to_string()),
        ("Step", step.to_string()),
    ];
    let texts = texts.each_ref().map(|(keyword, text)| (*keyword, text.as_str()));
    image.write_png(&mut bytes, &texts).map_err(|e| cannot_write(path, &e))?;
    std::io::Write::write_all(file, &bytes).map_err(|e| cannot_write(path, &e))
}
