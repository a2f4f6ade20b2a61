//! Writes a film as a GIF: all frames share one palette, and each frame stores only the pixels that changed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gif::{DisposalMethod, Encoder, Frame, Repeat};

use super::palette::{Histogram, MOST, Palette};
use crate::cli::{
    atomic_file::{AtomicFile, cannot_write},
    command_error::CommandError,
};

/// Shortest display time that players accept (hundredths of a second); they replace shorter times.
const SHORTEST: u64 = 2;

/// A GIF that is being written. Frames wait in an unnamed file until all colours are known.
pub struct Gif {
    path: PathBuf,
    file: AtomicFile,
    frames: File,
    histogram: Histogram,
    size: [u16; 2],
    count: u64,
    fps: f64,
}

impl Gif {
    /// Opens the file under a temporary name.
    pub fn create(path: &Path, size: [u32; 2], fps: f64) -> Result<Self, CommandError> {
        let size = size.map(u16::try_from);
        let [Ok(width), Ok(height)] = size else {
            return Err(CommandError::usage("a GIF has at most 65535 pixels along each side"));
        };
        let file = AtomicFile::create(path)?;
        let frames = tempfile::tempfile().map_err(|e| cannot_write(path, &e))?;
        let histogram = Histogram::new();
        Ok(Self { path: path.to_owned(), file, frames, histogram, size: [width, height], count: 0, fps })
    }

    /// Adds a frame (red, green, blue and a fourth byte per pixel, which is ignored).
    pub fn add(&mut self, rgba: &[u8]) -> Result<(), CommandError> {
        let rgb: Vec<u8> = rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        self.histogram.add(&rgb);
        self.count += 1;
        self.frames.write_all(&rgb).map_err(|e| cannot_write(&self.path, &e))
    }

    /// Chooses the colours, writes all frames and renames the file to its final name.
    pub fn finish(mut self) -> Result<(), CommandError> {
        let path = self.path.clone();
        self.write().map_err(|e| cannot_write(&path, &e))?;
        self.file.commit()
    }

    fn write(&mut self) -> io::Result<()> {
        let [width, height] = self.size;
        let palette = self.histogram.palette();
        let told = |error: gif::EncodingError| match error {
            gif::EncodingError::Io(error) => error,
            other => io::Error::other(other),
        };
        let mut encoder =
            Encoder::new(&mut self.file, width, height, &palette.colours.concat()).map_err(told)?;
        encoder.set_repeat(Repeat::Infinite).map_err(told)?;
        self.frames.seek(SeekFrom::Start(0))?;
        let mut rgb = vec![0; 3 * usize::from(width) * usize::from(height)];
        let mut before: Vec<u8> = vec![];
        for k in 0..self.count {
            self.frames.read_exact(&mut rgb)?;
            let now = indices(&palette, &rgb);
            let mut frame = changed(&before, &now, self.size);
            frame.delay = delay(k, self.fps);
            encoder.write_frame(&frame).map_err(told)?;
            before = now;
        }
        Ok(())
    }
}

// Display time of a frame in hundredths of a second, rounded so that errors do not accumulate.
fn delay(frame: u64, fps: f64) -> u16 {
    let at = |k: u64| (100.0 * k as f64 / fps).round();
    (at(frame + 1) - at(frame)).clamp(SHORTEST as f64, f64::from(u16::MAX)) as u16
}

/// Whether this frame rate is too high for players to show in time.
pub fn is_fast(fps: f64) -> bool {
    100.0 / fps < SHORTEST as f64
}

fn indices(palette: &Palette, rgb: &[u8]) -> Vec<u8> {
    rgb.chunks_exact(3).map(|pixel| palette.index([pixel[0], pixel[1], pixel[2]])).collect()
}

// The part of a frame that differs from the previous one; unchanged pixels within it are transparent.
fn changed(before: &[u8], now: &[u8], [width, height]: [u16; 2]) -> Frame<'static> {
    let w = usize::from(width);
    let frame = |left, top, width, height, buffer: Vec<u8>, transparent| Frame {
        left,
        top,
        width,
        height,
        buffer: buffer.into(),
        transparent,
        dispose: DisposalMethod::Keep,
        ..Frame::default()
    };
    if before.is_empty() {
        return frame(0, 0, width, height, now.to_vec(), None);
    }
    let differs = |x: usize, y: usize| before[y * w + x] != now[y * w + x];
    let rows: Vec<usize> = (0..usize::from(height)).filter(|&y| (0..w).any(|x| differs(x, y))).collect();
    let (Some(&top), Some(&bottom)) = (rows.first(), rows.last()) else {
        // Nothing changed, but a frame needs at least one pixel.
        return frame(0, 0, 1, 1, vec![now[0]], None);
    };
    let columns = |x: usize| rows.iter().any(|&y| differs(x, y));
    let left = (0..w).find(|&x| columns(x)).unwrap_or(0);
    let right = (0..w).rfind(|&x| columns(x)).unwrap_or(w - 1);
    let same = MOST as u8;
    let mut buffer = Vec::with_capacity((right + 1 - left) * (bottom + 1 - top));
    for y in top..=bottom {
        buffer.extend((left..=right).map(|x| if differs(x, y) { now[y * w + x] } else { same }));
    }
    let [left, top, width, height] =
        [left, top, right + 1 - left, bottom + 1 - top].map(|n| u16::try_from(n).unwrap_or(u16::MAX));
    frame(left, top, width, height, buffer, Some(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_add_up_to_the_time_of_the_film() {
        for fps in [1.0, 12.0, 23.976, 25.0, 30.0, 50.0] {
            let total: u64 = (0..300).map(|k| u64::from(delay(k, fps))).sum();
            assert!((total as f64 - 30_000.0 / fps).abs() <= 0.5, "{total} at {fps}");
        }
        assert_eq!((delay(0, 100.0), is_fast(100.0), is_fast(50.0)), (2, true, false));
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let before = vec![0; 12];
        let mut now = before.clone();
        (now[5], now[10]) = (7, 8);
        let frame = changed(&before, &now, [4, 3]);
        assert_eq!((frame.left, frame.top, frame.width, frame.height), (1, 1, 2, 2));
        assert_eq!((frame.buffer.to_vec(), frame.transparent), (vec![7, 255, 255, 8], Some(255)));
        let still = changed(&now, &now, [4, 3]);
        assert_eq!((still.width, still.height, still.transparent), (1, 1, None));
    }
}
