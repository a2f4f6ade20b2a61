//! Files written under a temporary name and renamed when complete, so that no reader sees an incomplete file.

use std::io::{self, LineWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::command_error::CommandError;

/// A file under a temporary name in the target folder; removed when dropped without [`commit`](Self::commit).
pub struct AtomicFile {
    path: PathBuf,
    file: LineWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Opens the file; its folder must exist.
    pub fn create(path: &Path) -> Result<Self, CommandError> {
        let failed = |e: io::Error| cannot_write(path, &e);
        if path.is_dir() {
            return Err(failed(io::Error::other("it is a directory")));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".carom-");
        // Temporary files are private by default; the result is an ordinary file (the umask still applies).
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file: LineWriter::new(file) })
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) -> Result<(), CommandError> {
        writeln!(self.file, "{text}").map_err(|e| cannot_write(&self.path, &e))
    }

    /// Renames the file to its final name.
    pub fn commit(self) -> Result<(), CommandError> {
        let file = self.file.into_inner().map_err(|e| cannot_write(&self.path, e.error()))?;
        file.persist(&self.path).map_err(|e| cannot_write(&self.path, &e.error))?;
        tracing::info!("wrote {}", self.path.display());
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The error for a file that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    CommandError::files(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut file = AtomicFile::create(&path).unwrap();
        file.line("1").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = AtomicFile::create(&path).unwrap();
        file.line("2").unwrap();
        file.commit().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "2\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
