//! Pictures of spheres, drawn from where they lie on the device, with or without a window.
//!
//! [`Spheres`] are what is drawn: the buffers of the gpu engine themselves, a copy of them, or spheres uploaded by the
//! other engines. [`Scenery`] is the world around them, [`Camera`] the eye, [`Style`] what colours and light mean.
//! [`Renderer`] draws into any texture; [`Studio`] owns one, and gives back an [`Image`].
//!
//! ```no_run
//! use carom::gpu::Context;
//! use carom::render::{Camera, Scenery, Spheres, Studio, Style};
//! use carom::scene::{Fill, Scene};
//!
//! let gas = Fill::random(1000).volume_fraction(0.2).temperature(3.0);
//! let system = Scene::new(1.0 / 60.0).periodic().fill(gas).build()?;
//! let context = Context::open(None)?;
//! let spheres = Spheres::upload(&context, &system.spheres, &system, None);
//! let mut studio = Studio::new(&context, [640, 480])?;
//! let image = studio.picture(&spheres, &Scenery::of(&system), &Camera::framing(&system), &Style::default())?;
//! let mut file = std::fs::File::create("gas.png").expect("a folder that can be written");
//! image.write_png(&mut file, &[("Title", "a gas")]).expect("room on the disk");
//! # Ok::<(), carom::Error>(())
//! ```
//!
//! # How a picture is made
//!
//! The device does all of it, and the host waits for nothing:
//!
//! 1. `place`: the centre of every sphere seen from the eye, integer cells first, so that far from the origin is as good
//!    as near it; its colour's value;
//! 2. `visibility`: which sphere or surface each of four samples of a pixel sees. Spheres are not meshes: each fragment
//!    casts a ray, so silhouettes and depths are exact at any zoom;
//! 3. `shade`: light and colour, once for each thing that a pixel sees.

mod camera;
mod image;
mod legend;
mod look;
mod maps;
mod passes;
mod range;
mod recent;
mod renderer;
mod scenery;
mod spheres;
mod studio;
mod style;
mod targets;

pub use self::camera::Camera;
pub use self::image::Image;
pub use self::recent::Recent;
pub use self::renderer::Renderer;
pub use self::scenery::Scenery;
pub use self::spheres::Spheres;
pub use self::studio::Studio;
pub use self::style::{Colour, Map, Range, Style};
