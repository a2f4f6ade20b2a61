//! The window's surface: drawing, resizing and recovery.

use std::sync::Arc;

use egui_wgpu::{Renderer as Painter, RendererOptions, ScreenDescriptor};
use wgpu::CurrentSurfaceTexture;
use winit::{dpi::PhysicalSize, event_loop::OwnedDisplayHandle, window::Window};

use super::shared_state::Picture;
use crate::{
    Error,
    gpu::{Context, instance_on, read_mapped},
    render::{Camera, Frame, Image, Renderer, Style},
};

/// Format of the picture below the panel. The picture already contains sRGB values, as egui expects of textures.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Result of showing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The frame is on its way to the screen.
    Yes,
    /// The frame was not shown; try again at once.
    Again,
    /// The frame was not shown; the window is invisible, so a retry can wait.
    No,
}

/// The window's surface with its device, renderer and panel painter.
pub struct Surface {
    instance: wgpu::Instance,
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    context: Context,
    painter: Painter,
    renderer: Renderer,
    picture: Option<(wgpu::Texture, [u32; 2])>,
    /// Contents of the texture: picture number, camera and style.
    drawn: Option<(u64, Camera, Style)>,
    /// Id of the picture in the panel's painter.
    texture: Option<egui::TextureId>,
}

/// The picture of the spheres to draw.
pub struct Subject<'a> {
    /// The spheres and their world.
    pub picture: &'a Picture,
    /// Point of view.
    pub camera: &'a Camera,
    /// Style of the picture.
    pub style: &'a Style,
    /// Size of the picture (pixels).
    pub size: [u32; 2],
}

impl Surface {
    /// Opens the preferred adapter with this name that can draw into the window.
    ///
    /// # Errors
    /// [`Error::NoAdapter`].
    pub fn new(
        window: Arc<Window>,
        display: OwnedDisplayHandle,
        adapter: Option<&str>,
    ) -> Result<Self, Error> {
        let refused = |why: String| Error::NoAdapter(format!("no adapter can draw into the window: {why}"));
        let instance = instance_on(Box::new(display));
        let surface = instance.create_surface(window.clone()).map_err(|error| refused(error.to_string()))?;
        let (context, adapter) = Context::open_for(&instance, &surface, adapter)?;
        let capabilities = surface.get_capabilities(&adapter);
        let wanted = [wgpu::TextureFormat::Bgra8Unorm, wgpu::TextureFormat::Rgba8Unorm];
        // The panel's painter writes sRGB itself if the surface does not.
        let format = wanted.into_iter().find(|format| capabilities.formats.contains(format));
        let format = format.or_else(|| capabilities.formats.first().copied());
        let format = format.ok_or_else(|| refused("it has no format".to_owned()))?;
        let PhysicalSize { width, height } = window.inner_size();
        let config = wgpu::SurfaceConfiguration {
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            format,
            color_space: wgpu::SurfaceColorSpace::Auto,
            width: width.max(1),
            height: height.max(1),
            present_mode: wgpu::PresentMode::AutoVsync,
            desired_maximum_frame_latency: 2,
            alpha_mode: wgpu::CompositeAlphaMode::Auto,
            view_formats: vec![],
        };
        surface.configure(&context.device, &config);
        let painter = Painter::new(&context.device, format, RendererOptions::default());
        let renderer = Renderer::new(&context, FORMAT);
        context.check()?;
        Ok(Self {
            instance,
            window,
            surface,
            config,
            context,
            painter,
            renderer,
            picture: None,
            drawn: None,
            texture: None,
        })
    }

    /// The device.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Width and height (pixels).
    pub fn size(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    /// Adapts to a new size of the window; a minimised window has size 0.
    pub fn resize(&mut self, size: PhysicalSize<u32>) {
        if size.width > 0 && size.height > 0 && [size.width, size.height] != self.size() {
            let most = self.context.device.limits().max_texture_dimension_2d;
            (self.config.width, self.config.height) = (size.width.min(most), size.height.min(most));
            self.surface.configure(&self.context.device, &self.config);
        }
    }

    /// Id of the picture of the spheres in the panel's painter.
    pub fn texture(&mut self) -> egui::TextureId {
        match self.texture {
            Some(texture) => texture,
            None => {
                self.make_picture([1, 1]);
                self.texture.expect("made just now")
            }
        }
    }

    fn make_picture(&mut self, size: [u32; 2]) -> wgpu::TextureView {
        let device = &self.context.device;
        if self.picture.as_ref().is_none_or(|(_, made)| *made != size) {
            let [width, height] = size;
            let picture = device.create_texture(&wgpu::TextureDescriptor {
                label: Some("picture"),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: FORMAT,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT
                    | wgpu::TextureUsages::TEXTURE_BINDING
                    | wgpu::TextureUsages::COPY_SRC,
                view_formats: &[],
            });
            let view = picture.create_view(&wgpu::TextureViewDescriptor::default());
            let filter = wgpu::FilterMode::Nearest;
            match self.texture {
                Some(texture) => {
                    self.painter.update_egui_texture_from_wgpu_texture(device, &view, filter, texture);
                }
                None => self.texture = Some(self.painter.register_native_texture(device, &view, filter)),
            }
            self.picture = Some((picture, size));
        }
        let (picture, _) = self.picture.as_ref().expect("made just now");
        picture.create_view(&wgpu::TextureViewDescriptor::default())
    }

    /// Draws the spheres, then the panel over them, and presents the frame.
    pub fn show(
        &mut self,
        subject: Option<Subject<'_>>,
        jobs: &[egui::ClippedPrimitive],
        mut textures: egui::TexturesDelta,
        pixels_per_point: f32,
    ) -> Shown {
        let (device, queue) = (self.context.device.clone(), self.context.queue.clone());
        for (id, deltas) in textures.set.drain() {
            for delta in deltas {
                self.painter.update_texture(&device, &queue, id, &delta);
            }
        }
        let freed: Vec<_> = textures.free.drain().collect();
        let shown = self.draw(subject, jobs, pixels_per_point);
        freed.iter().for_each(|id| self.painter.free_texture(id));
        shown
    }

    fn draw(&mut self, subject: Option<Subject<'_>>, jobs: &[egui::ClippedPrimitive], scale: f32) -> Shown {
        let (frame, is_stale) = match self.surface.get_current_texture() {
            CurrentSurfaceTexture::Success(frame) => (frame, false),
            CurrentSurfaceTexture::Suboptimal(frame) => (frame, true),
            CurrentSurfaceTexture::Timeout | CurrentSurfaceTexture::Occluded => return Shown::No,
            CurrentSurfaceTexture::Outdated | CurrentSurfaceTexture::Validation => {
                self.surface.configure(&self.context.device, &self.config);
                return Shown::Again;
            }
            CurrentSurfaceTexture::Lost => return self.replace(),
        };
        let device = self.context.device.clone();
        let mut encoder =
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("window") });
        if let Some(subject) = subject {
            self.draw_spheres(&mut encoder, &subject);
        }
        let screen = ScreenDescriptor { size_in_pixels: self.size(), pixels_per_point: scale };
        let before = self.painter.update_buffers(&device, &self.context.queue, &mut encoder, jobs, &screen);
        {
            let view = frame.texture.create_view(&wgpu::TextureViewDescriptor::default());
            let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("panel"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                ..Default::default()
            });
            self.painter.render(&mut pass.forget_lifetime(), jobs, &screen);
        }
        self.context.queue.submit(before.into_iter().chain([encoder.finish()]));
        self.window.pre_present_notify();
        self.context.queue.present(frame);
        if is_stale {
            self.surface.configure(&device, &self.config);
        }
        Shown::Yes
    }

    // Redraws the spheres only after a change; often only the panel has changed.
    fn draw_spheres(&mut self, encoder: &mut wgpu::CommandEncoder, subject: &Subject<'_>) {
        let Subject { picture, camera, style, size } = *subject;
        let wanted = (picture.number, *camera, *style);
        if self.drawn == Some(wanted) && self.picture.as_ref().is_some_and(|(_, made)| *made == size) {
            return;
        }
        let view = self.make_picture(size);
        let frame = Frame { spheres: &picture.spheres, render_world: &picture.render_world, camera, style };
        self.renderer.draw(encoder, &view, size, frame);
        self.drawn = Some(wanted);
    }

    // Replaces a lost surface, unless the device is lost.
    fn replace(&mut self) -> Shown {
        if self.context.check().is_err() {
            return Shown::No;
        }
        match self.instance.create_surface(self.window.clone()) {
            Ok(surface) => {
                self.surface = surface;
                self.surface.configure(&self.context.device, &self.config);
                Shown::Again
            }
            Err(error) => {
                self.context.report_lost(&format!("the window cannot be drawn into any more: {error}"));
                Shown::No
            }
        }
    }

    /// The last picture drawn of the spheres; waits for it.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn read_picture(&self) -> Result<Option<Image>, Error> {
        let Some((texture, [width, height])) = &self.picture else { return Ok(None) };
        let (width, height) = (*width, *height);
        let device = &self.context.device;
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let copy = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("screenshot"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder =
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("screenshot") });
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &copy,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row),
                    rows_per_image: None,
                },
            },
            wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        );
        self.context.queue.submit([encoder.finish()]);
        let bytes = read_mapped(&self.context, &copy)?;
        let rows = bytes.chunks_exact(row as usize);
        let rgba = rows.flat_map(|bytes| bytes[..4 * width as usize].iter().copied()).collect();
        Ok(Some(Image { width, height, rgba }))
    }
}
