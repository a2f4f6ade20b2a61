//! Scene files (TOML) and sphere files (CSV, extended XYZ).
//!
//! ```
//! let scene = carom::files::builtin("gas").unwrap().load(&["world.seed=7".into()])?;
//! assert_eq!(scene.world.seed, 7);
//! # Ok::<(), carom::files::SceneError>(())
//! ```

mod builtin;
mod error;
mod fields;
mod load;
mod origin;
mod read;
mod spheres;
mod tree;

pub use builtin::{BUILTIN, Builtin, builtin};
pub use error::{SceneError, SceneErrorKind};
pub use load::{load_scene, parse_scene};
pub(crate) use origin::Origin;
pub use spheres::write_spheres;
