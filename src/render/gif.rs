//! Writes a film as a GIF: all frames share one palette, and each frame stores only the pixels that changed.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use gif::{DisposalMethod, Encoder, Frame, Repeat};

use super::{
    image::Image,
    palette::{Histogram, MOST, Palette},
};

/// Shortest display time that players accept (hundredths of a second); they replace shorter times.
const SHORTEST: f64 = 2.0;

/// A GIF that is being written. Frames wait in an unnamed file until all colours are known, so that memory does not grow with
/// the film.
pub struct Gif<W> {
    out: W,
    frames: File,
    histogram: Histogram,
    size: [u16; 2],
    /// Time of each frame (seconds).
    times: Vec<f64>,
}

impl<W: Write> Gif<W> {
    /// Begins a film of this size (pixels: width, height). `out` receives the film at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for more than 65,535 pixels along a side; errors of the temporary file.
    pub fn new(out: W, size: [u32; 2]) -> io::Result<Self> {
        let [Ok(width), Ok(height)] = size.map(u16::try_from) else {
            let text = "a GIF has at most 65535 pixels along each side";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        let frames = tempfile::tempfile()?;
        Ok(Self { out, frames, histogram: Histogram::new(), size: [width, height], times: vec![] })
    }

    /// Adds a frame that is shown from this time on (seconds from the first frame). Times ascend.
    ///
    /// # Errors
    /// Errors of the temporary file.
    ///
    /// # Panics
    /// If the image does not have the size of the film.
    pub fn add(&mut self, image: &Image, time: f64) -> io::Result<()> {
        let size = [image.width, image.height];
        assert_eq!(size, self.size.map(u32::from), "a frame of another size");
        let rgb: Vec<u8> =
            image.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        self.histogram.add(&rgb);
        self.times.push(time);
        self.frames.write_all(&rgb)
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.times.len()
    }

    /// Chooses the colours, writes all frames, and returns the output. The last frame is shown until `end` (seconds).
    ///
    /// # Errors
    /// Errors of the output and of the temporary file.
    pub fn finish(mut self, end: f64) -> io::Result<W> {
        self.times.push(end);
        self.write()?;
        Ok(self.out)
    }

    fn write(&mut self) -> io::Result<()> {
        let [width, height] = self.size;
        let palette = self.histogram.palette();
        let told = |error: gif::EncodingError| match error {
            gif::EncodingError::Io(error) => error,
            other => io::Error::other(other),
        };
        let mut encoder =
            Encoder::new(&mut self.out, width, height, &palette.colours.concat()).map_err(told)?;
        encoder.set_repeat(Repeat::Infinite).map_err(told)?;
        self.frames.seek(SeekFrom::Start(0))?;
        let mut rgb = vec![0; 3 * usize::from(width) * usize::from(height)];
        let mut before: Vec<u8> = vec![];
        for ends in self.times.windows(2) {
            self.frames.read_exact(&mut rgb)?;
            let now = indices(&palette, &rgb);
            let mut frame = changed(&before, &now, self.size);
            frame.delay = delay(ends[0], ends[1]);
            encoder.write_frame(&frame).map_err(told)?;
            before = now;
        }
        Ok(())
    }
}

// Display time of a frame in hundredths of a second, rounded so that errors do not accumulate.
fn delay(start: f64, end: f64) -> u16 {
    let at = |time: f64| (100.0 * time).round();
    (at(end) - at(start)).clamp(SHORTEST, f64::from(u16::MAX)) as u16
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
            let at = |k: u32| f64::from(k) / fps;
            let total: u64 = (0..300).map(|k| u64::from(delay(at(k), at(k + 1)))).sum();
            assert!((total as f64 - 30_000.0 / fps).abs() <= 0.5, "{total} at {fps}");
        }
        assert_eq!((delay(0.0, 0.01), delay(0.0, 1e9)), (2, u16::MAX));
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
