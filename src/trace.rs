//! Log messages of the library: events of the crate `tracing` with the feature `trace`, nothing without it.
//!
//! Messages are for rare occurrences; no pass of a step and no loop over spheres has one.

/// An occurrence that a user of a long run wants to know: `info!("...", ...)`, as `format!`.
macro_rules! info {
    ($($part:tt)*) => {
        $crate::trace::emit!(info, $($part)*)
    };
}

/// A decision of an engine, for those who look for the cause of a slow step.
macro_rules! debug {
    ($($part:tt)*) => {
        $crate::trace::emit!(debug, $($part)*)
    };
}

#[cfg(feature = "trace")]
macro_rules! emit {
    ($level:ident, $($part:tt)*) => {
        tracing::$level!($($part)*)
    };
}

// The arguments are checked, and used, but never evaluated.
#[cfg(not(feature = "trace"))]
macro_rules! emit {
    ($level:ident, $($part:tt)*) => {
        if false {
            let _ = format!($($part)*);
        }
    };
}

pub(crate) use {debug, emit, info};
