//! Pictures of spheres, drawn from where they lie on the device, with or without a window.
//!
//! [`Spheres`] are what is drawn: the buffers of the gpu engine themselves, a copy of them, or spheres uploaded by the
//! other engines. [`RenderWorld`] is the world around them, [`Camera`] the eye, [`Style`] what colours and light mean.
//! [`Renderer`] draws into any texture; [`Studio`] owns one, and gives back an [`Image`].
//!
//! ```no_run
//! use carom::gpu::Context;
//! use carom::render::{Camera, RenderWorld, Spheres, Studio, Style};
//! use carom::scene::{Fill, Scene};
//!
//! let gas = Fill::random(1000).volume_fraction(0.2).temperature(3.0);
//! let system = Scene::new(1.0 / 60.0).periodic().fill(gas).build()?;
//! let context = Context::open(None)?;
//! let spheres = Spheres::upload(&context, &system.spheres, &system, None);
//! let mut studio = Studio::new(&context, [640, 480])?;
//! let image = studio.picture(&spheres, &RenderWorld::of(&system), &Camera::framing(&system), &Style::default())?;
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
//!    as near it; the value that its colour stands for (`overlap`, a grid of its own, where that is the overlap);
//! 2. `range`: which values the ends of the map stand for, from a histogram; `paint`: the colour of every sphere;
//! 3. `shadow`: what the key light sees;
//! 4. `visibility`: which sphere, surface or wall each of four samples of a pixel sees. Spheres are not meshes: every sample is
//!    tested against the exact outline, and one instanced draw is all of them;
//! 5. `occlusion`: how open each point is to the sky, from depths at half the resolution;
//! 6. `shade`: a ray for each thing that a pixel sees, light, and smooth edges from the four samples; then `lines` and the
//!    legend.
//!
//! Walls are triangles in 3D, made once and moved by a transform for each, and outlines in 2D. The far side of one that has an
//! inside is a body among the spheres, the near side is glass, drawn over the finished picture: what is inside is seen. One
//! that encloses no sphere, and lets none in, is a body on all sides, and so is a disc and a mesh that is a sheet; bodies throw
//! shadows.
//!
//! Spheres smaller than a pixel are drawn as large as a sample needs to see them, and lighter: none vanishes. Overlaps of
//! a part of a diameter are parted along the plane between the spheres only where it is seen edge on; hard spheres have none.
//!
//! On a software adapter occlusion is estimated from fewer depths, and shadows are smaller and their edges harder; all else is
//! the same. The legend of a window is a picture or two late, since its numbers come from the device.

mod camera;
mod image;
mod legend;
mod look;
mod maps;
mod passes;
mod range;
mod recent;
mod render_world;
mod renderer;
mod spheres;
mod studio;
mod style;
mod targets;
mod walls;

pub use self::camera::Camera;
pub use self::image::Image;
pub use self::recent::Recent;
pub use self::render_world::{RenderWorld, extent};
pub use self::renderer::{Frame, Renderer};
pub use self::spheres::Spheres;
pub use self::studio::Studio;
pub use self::style::{Colour, Map, Range, Style};
