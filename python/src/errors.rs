//! The exceptions of the package, which `carom/errors.py` defines, with the texts of the library.

use carom::Error;
use pyo3::{exceptions::PyOSError, prelude::*};

/// An exception of `carom.errors` with this text.
pub fn exception(py: Python, class: &str, text: String) -> PyErr {
    let build = || py.import("carom.errors")?.getattr(class)?.call1((text,));
    match build() {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// The exception for an error of the library.
pub fn of(py: Python, error: &Error) -> PyErr {
    let class = match error {
        Error::Invalid(_) => "InvalidError",
        Error::Unsupported(_) => "UnsupportedError",
        Error::NoSuchSphere(_) => "NoSuchSphereError",
        Error::NonFinite { .. } => "NonFiniteError",
        Error::Capacity(_) => "CapacityError",
        Error::NoProgress(_) => "NoProgressError",
        Error::NoAdapter(_) => "NoAdapterError",
        Error::DeviceLost(_) => "DeviceLostError",
        _ => "CaromError",
    };
    exception(py, class, error.to_string())
}

/// `InvalidError`, a `ValueError`, with this text.
pub fn invalid(py: Python, text: String) -> PyErr {
    exception(py, "InvalidError", text)
}

/// `OSError` for a file that cannot be written.
pub fn cannot_write(path: &std::path::Path, error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot write {}: {error}", path.display()))
}
