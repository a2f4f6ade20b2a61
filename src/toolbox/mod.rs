//! Toolbox.
