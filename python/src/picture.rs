//! Pictures of a simulation, drawn by an adapter without a window.

use std::sync::Mutex;

use carom::render::{
    CameraChoice, Colour, ContactNetwork, Map, Range, RenderWorld, Shot, Spheres, Studio, Style,
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    errors::{exception, invalid, of},
    simulation::{SimulationCore, context},
};

/// A drawn picture.
#[pyclass(frozen, module = "carom._carom")]
pub struct Image {
    pub image: carom::render::Image,
    texts: Vec<(&'static str, String)>,
}

#[pymethods]
impl Image {
    /// Width and height (pixels).
    #[getter]
    fn size(&self) -> (u32, u32) {
        (self.image.width, self.image.height)
    }

    /// The bytes of a PNG file.
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = vec![];
        let texts: Vec<(&str, &str)> = self.texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
        py.detach(|| self.image.write_png(&mut bytes, &texts))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The pixels, of shape (height, width, 4) and dtype uint8.
    fn pixels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let flat = PyArray1::from_slice(py, &self.image.rgba);
        Ok(flat.reshape([self.image.height as usize, self.image.width as usize, 4])?.into_any())
    }
}

/// The quantity that colours show, the camera and the size of pictures of one simulation.
#[pyclass(frozen, module = "carom._carom")]
pub struct Canvas {
    studio: Mutex<Studio>,
    context: carom::gpu::Context,
    shot: Shot,
    style: Style,
}

// A named value of an option.
fn named<T: std::str::FromStr<Err = String>>(py: Python, option: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| invalid(py, format!("{option}: {error}")))
}

#[pymethods]
impl Canvas {
    #[new]
    #[pyo3(signature = (simulation, size, *, color, map, camera, value_range, clip, chains, hide, adapter))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python,
        simulation: &SimulationCore,
        size: [u32; 2],
        color: Option<&str>,
        map: Option<&str>,
        camera: &str,
        value_range: Option<(f64, f64)>,
        clip: Option<&str>,
        chains: bool,
        hide: Vec<String>,
        adapter: Option<String>,
    ) -> PyResult<Self> {
        let choice: CameraChoice = named(py, "camera", camera)?;
        let mut held = simulation.hold(py)?;
        let state = held.state();
        let mut style = Style { chains, ..Style::default() };
        if let Some(name) = color.or(state.view.color.as_deref()) {
            style.colour = named(py, "color", name)?;
        }
        if matches!(style.colour, Colour::Difference | Colour::Impacts) {
            let text = format!("color: {} needs the window or `carom render`", style.colour.name());
            return Err(invalid(py, text));
        }
        if let Some(name) = map {
            style.map = named::<Map>(py, "map", name)?;
        }
        if let Some((low, high)) = value_range {
            if !(low.is_finite() && high.is_finite() && low < high) {
                return Err(invalid(py, format!("value_range is ({low}, {high}); expected low < high")));
            }
            style.range = Range::Locked(low, high);
        }
        if let Some(text) = clip {
            style.clip = Some(named(py, "clip", text)?);
        }
        for hidden in &hide {
            match hidden.as_str() {
                "legend" => style.legend = false,
                "bounds" => style.bounds = false,
                "ground" => style.ground = false,
                "shadow" => style.shadow = false,
                "occlusion" => style.ambient_occlusion = false,
                other => {
                    let known = "legend, bounds, ground, shadow, occlusion";
                    return Err(invalid(py, format!("hide: {other:?} is none of {known}")));
                }
            }
        }
        let made = py.detach(|| {
            let context = context(adapter.as_deref())?;
            let mut system = state.simulation.system().clone();
            system.spheres = state.spheres()?.to_vec();
            let shot = Shot::new(&choice, &state.view, &system, size);
            Ok((Studio::new(&context, size)?, context, shot))
        });
        let (studio, context, shot) = made.map_err(|error| of(py, &error))?;
        Ok(Self { studio: Mutex::new(studio), context, shot, style })
    }

    /// Draws the current state, `seconds` after the start of a film.
    fn draw(&self, py: Python, simulation: &SimulationCore, seconds: f64) -> PyResult<Image> {
        let mut held = simulation.hold(py)?;
        let state = held.state();
        let Ok(mut studio) = self.studio.try_lock() else {
            return Err(exception(py, "BusyError", "another thread draws with this canvas".to_owned()));
        };
        let studio = &mut *studio;
        let drawn = py.detach(|| {
            let all = state.spheres()?;
            let simulation = &state.simulation;
            let world = RenderWorld::of(simulation.system()).at(simulation.time());
            let mut spheres = Spheres::upload(&self.context, &all, simulation.system(), None);
            if self.style.chains || self.style.colour.needs_contacts() {
                let network = ContactNetwork::of(&simulation.contacts()?, &all, simulation.system());
                spheres.set_contacts(&self.context, &std::sync::Arc::new(network));
            }
            studio.picture(&spheres, &world, &self.shot.at(seconds), &self.style)
        });
        let image = drawn.map_err(|error| of(py, &error))?;
        let texts = vec![
            ("Software", format!("carom {}", env!("CARGO_PKG_VERSION"))),
            ("Scene", state.name.clone()),
            ("Time", state.simulation.time().to_string()),
            ("Step", state.simulation.steps().to_string()),
        ];
        Ok(Image { image, texts })
    }
}
