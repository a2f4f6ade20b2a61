//! An image on the host.

use std::io::{self, Write};

/// An image on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Width (pixels).
    pub width: u32,
    /// Height (pixels).
    pub height: u32,
    /// Red, green, blue (sRGB) and 255, row by row from the top; `len == 4 * width * height`.
    pub rgba: Vec<u8>,
}

impl Image {
    /// Red, green, blue (sRGB) and 255 of a pixel.
    ///
    /// # Panics
    /// If the pixel lies outside the image.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 4] {
        assert!(x < self.width && y < self.height, "({x}, {y}) in {} x {}", self.width, self.height);
        let at = 4 * (y as usize * self.width as usize + x as usize);
        std::array::from_fn(|k| self.rgba[at + k])
    }

    /// Writes a PNG with text chunks: keyword (1 to 79 Latin-1 characters) and text. Texts outside Latin-1 are written
    /// as UTF-8 (`iTXt`).
    ///
    /// # Errors
    /// Errors of the writer; [`io::ErrorKind::InvalidInput`] for a keyword that PNG does not allow.
    pub fn write_png(&self, writer: impl Write, texts: &[(&str, &str)]) -> io::Result<()> {
        let told = |error| match error {
            png::EncodingError::IoError(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidInput, other),
        };
        let mut encoder = png::Encoder::new(writer, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        for &(keyword, text) in texts {
            let add = if text.chars().all(|c| u32::from(c) < 256) {
                encoder.add_text_chunk(keyword.to_owned(), text.to_owned())
            } else {
                encoder.add_itxt_chunk(keyword.to_owned(), text.to_owned())
            };
            add.map_err(told)?;
        }
        let mut writer = encoder.write_header().map_err(told)?;
        writer.write_image_data(&self.rgba).map_err(told)?;
        writer.finish().map_err(told)
    }
}
