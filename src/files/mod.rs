//! Scene files (TOML), files of spheres (CSV, extended XYZ, LAMMPS, VTP, NumPy, PLY) and meshes (STL, OBJ).
//!
//! A scene file has the fields of a [`Scene`](crate::scene::Scene) as keys. Every key except `world.dt` is optional; unknown
//! keys are refused. [`scene_schema`] describes every key.
//!
//! ```
//! let text = r#"
//! [world]
//! dimensions = 3                  # or 2: everything stays in the plane z = 0
//! gravity = [0, 0, -9.81]
//! dt = 0.001
//! steps = 1000                    # default length of a run
//! seed = 1
//!
//! [solver]
//! max_initial_overlap = 0.01      # of the mean diameter; also strict_order, substeps, contact_time, sleeping
//!
//! [bounds]                        # max may be left out where a random fill has both count and volume_fraction
//! min = [0, 0, 0]
//! max = [2, 2, 4]
//! x = "periodic"                  # or "wall" or "open"
//! y = "periodic"
//! z = "wall"
//! material = "steel"              # of the walls; where none is named, it is "default"
//!
//! [materials.steel]
//! restitution = 0.9               # left out: 1
//! friction = 0.1                  # left out: 0, as are rolling_friction, twisting_friction and restitution_threshold
//! density = 7800                  # left out: 6/pi, mass 1 at diameter 1
//!
//! [materials.glass]
//! restitution = 0.95
//! friction = 0.4
//! restitution_threshold = 0.01    # speed of approach below which the restitution fades
//! density = 2500
//!
//! [[pairs]]                       # instead of the smaller restitution and the geometric mean of the friction coefficients
//! between = ["steel", "glass"]
//! restitution = 0.92              # and any other key of a material but density
//!
//! [[spheres]]                     # each group has one of random, lattice, at, file
//! random = { count = 200, diameters = [[0.1, 0.5], [0.2, 0.5]], min = [0, 0, 1], max = [2, 2, 4] }
//! temperature = 0.5               # or speed_uniform = 1.0, or velocity = [0, 0, 0]
//! material = "glass"
//!
//! [[spheres]]
//! lattice = { kind = "cubic", count = [10, 10, 2], spacing = 0.2, origin = [0.1, 0.1, 0.1], diameter = 0.1 }
//! fixed = true
//!
//! [[spheres]]
//! at = [{ position = [1, 1, 0.7], velocity = [0, 0, 1], radius = 0.15, mass = 40.0 }]
//!
//! [[walls]]
//! plane = { point = [0, 0, -1], normal = [0, 0, 1] }
//! "#;
//! let overrides = ["world.dt=0.002".to_owned()];
//! let scene = carom::files::parse_scene(text, "example", None, &overrides)?;
//! assert_eq!(scene.world.dt, 0.002);
//! assert_eq!(scene.build()?.spheres.len(), 200 + 200 + 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Errors show the line, the expected value and the nearest name:
//!
//! ```
//! let error = carom::files::parse_scene("[world]\ndtt = 0.001", "fall.toml", None, &[]).unwrap_err();
//! assert_eq!(error.to_string(), "\
//! unknown field `dtt` in world
//!  --> fall.toml:2:1
//!   |
//! 2 | dtt = 0.001
//!   | ^^^ did you mean `dt`?");
//! ```

mod atomic;
mod builtin;
mod checkpoint;
mod convert;
mod deserialize;
mod error;
mod format;
mod frame;
mod load;
mod mesh;
mod named;
mod origin;
mod parse_error;
mod schema;
mod snapshot;
mod spheres;
mod tree;

pub use builtin::{BUILTIN, Builtin, builtin};
pub use checkpoint::{CheckpointError, parse_checkpoint, read_checkpoint, write_checkpoint};
pub use error::{SceneError, SceneErrorKind};
pub use frame::{Frame, FrameBounds};
pub use load::{load_scene, parse_scene};
pub use mesh::read_mesh;
pub use named::{find_builtin, find_scene};
pub use schema::scene_schema;
pub use snapshot::Snapshot;
pub use spheres::{
    READ_ENDINGS, WRITTEN_ENDINGS, format_name, read_frames, write_frames, write_series, write_snapshot,
    write_spheres,
};
