//! Draws pictures of spheres from the buffers on the device, with or without a window.
//!
//! [`Spheres`] holds the spheres to draw: the buffers of the GPU engine, a copy of these buffers, or spheres uploaded from
//! another engine. [`RenderWorld`] describes the world around the spheres, [`Camera`] sets the point of view, and [`Style`]
//! sets the quantity that colours show and the lighting. [`Renderer`] draws into any texture; [`Studio`] owns a texture and
//! returns an [`Image`].
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
//! The device executes all passes, and the host waits for none of them:
//!
//! 1. `place`: computes the centre of every sphere relative to the camera. Integer cells are subtracted first, so that the
//!    precision does not depend on the distance from the origin. The pass also computes the value that the sphere's colour
//!    shows, except for overlaps: a separate pass `overlap` with a grid of its own computes these.
//! 2. `range`: finds the values at the ends of the colour map from a histogram. `paint`: computes the colour of every
//!    sphere.
//! 3. `shadow`: renders the depth seen from the key light.
//! 4. `visibility`: finds which sphere, surface or wall each of the four samples of a pixel sees. Spheres are not
//!    meshes: every sample is tested against the exact outline, and one instanced draw covers all spheres.
//! 5. `occlusion`: estimates which share of the sky each point sees, from depths at half the resolution.
//! 6. `shade`: casts one ray for each object that a pixel sees, applies light, and smooths edges with the four samples.
//!    Then `lines`, `chains` (on request) and the legend follow.
//!
//! In 3D walls are drawn as triangles, which are created once and moved by one transform per wall; in 2D they are drawn as
//! outlines. The far side of a hollow wall is drawn as an opaque body among the spheres; the near side is drawn as glass
//! over the finished picture, so that the inside stays visible. Three kinds of walls are opaque on both sides: a closed
//! wall without a sphere inside, a disc, and a mesh that is a sheet. Opaque bodies cast shadows.
//!
//! A sphere smaller than a pixel is drawn large enough for a sample to hit it, and more transparent, so that
//! no sphere vanishes. A sphere has a single depth, which orders disjoint spheres exactly. If two spheres
//! overlap, the sphere in front covers the other within the whole outline of the sphere in front; hard
//! spheres do not overlap.
//!
//! On a software adapter occlusion uses fewer depths, and the shadow map is smaller and has harder edges; all other passes
//! are the same. The legend of a window lags by one or two pictures, because its numbers come from the device.

mod camera;
mod contact_network;
mod differences;
mod gif;
mod image;
mod legend;
mod look;
mod maps;
mod movie;
mod palette;
mod passes;
mod range;
mod recent;
mod render_world;
mod renderer;
mod shot;
mod spheres;
mod studio;
mod style;
mod targets;
mod walls;

pub use self::camera::Camera;
pub use self::contact_network::ContactNetwork;
pub use self::differences::Differences;
pub use self::gif::Gif;
pub use self::image::Image;
pub use self::movie::Movie;
pub use self::recent::Recent;
pub use self::render_world::{RenderWorld, extent};
pub use self::renderer::{Frame, Renderer};
pub use self::shot::{CameraChoice, Shot};
pub use self::spheres::Spheres;
pub use self::studio::Studio;
pub use self::style::{Clip, Colour, Map, Range, Style};
