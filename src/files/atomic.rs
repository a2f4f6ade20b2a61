//! Files written under a temporary name in their folder, to be renamed when they are complete.

use std::{io, path::Path};

use tempfile::NamedTempFile;

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a temporary file for a path. It is removed when dropped before it is renamed.
pub(super) fn new_file(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".carom-");
    // Temporary files are private; the result gets the usual permissions under the user's umask.
    #[cfg(unix)]
    builder.permissions(<std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    builder.tempfile_in(folder(path))
}
