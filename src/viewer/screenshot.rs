//! Screenshots: a PNG in the working directory.

use std::{
    fs::OpenOptions,
    io::{self, BufWriter, ErrorKind},
    path::{Path, PathBuf},
};

use crate::render::Image;

/// Most screenshots, and most films, of one scene in a folder.
pub const MOST: u32 = 9999;

/// Writes a picture under the first free name in `folder`, `carom-SCENE-0001.png` and up, with scene, seed, time and
/// version in its text chunks; returns the path.
///
/// # Errors
/// Errors of the file system.
pub fn save(folder: &Path, image: &Image, scene: &str, seed: u64, time: f64) -> io::Result<PathBuf> {
    for path in names(folder, scene, "png") {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => {
                let texts = [
                    ("Software", format!("carom {}", env!("CARGO_PKG_VERSION"))),
                    ("Scene", scene.to_owned()),
                    ("Seed", seed.to_string()),
                    ("Time", time.to_string()),
                ];
                image.write_png(
                    BufWriter::new(file),
                    &texts.each_ref().map(|(key, text)| (*key, text.as_str())),
                )?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {MOST} pictures of {scene} already")))
}

/// The names of screenshots or films, in their order.
pub fn names(folder: &Path, scene: &str, ending: &str) -> impl Iterator<Item = PathBuf> {
    // The scene name may be a path.
    let stem = Path::new(scene).file_stem().map_or("scene".into(), |stem| stem.to_string_lossy());
    (1..=MOST).map(move |number| folder.join(format!("carom-{stem}-{number:04}.{ending}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_picture_is_written_over_and_each_says_what_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let image = Image { width: 2, height: 1, rgba: vec![10, 20, 30, 255, 40, 50, 60, 255] };
        let save = || save(folder.path(), &image, "scenes/my gas.toml", 42, 1.5).unwrap();
        let (first, second) = (save(), save());
        assert_eq!(first.file_name().unwrap(), "carom-my gas-0001.png");
        assert_eq!(second.file_name().unwrap(), "carom-my gas-0002.png");
        let file = std::io::BufReader::new(std::fs::File::open(&first).unwrap());
        let reader = png::Decoder::new(file).read_info().unwrap();
        let texts = &reader.info().uncompressed_latin1_text;
        let text = |key: &str| texts.iter().find(|t| t.keyword == key).map(|t| t.text.as_str());
        assert_eq!((text("Scene"), text("Seed")), (Some("scenes/my gas.toml"), Some("42")));
        assert!(text("Software").unwrap().starts_with("carom "));
    }
}
