//! Scenes: a TOML text with its overrides, parsed and checked.

use std::path::PathBuf;

use carom::files::{BUILTIN, builtin, find_scene, parse_scene};
use carom::scene::Scene;
use pyo3::prelude::*;

use crate::errors::{exception, of};

/// A scene that has been read.
#[pyclass(frozen, module = "carom._carom")]
pub struct SceneCore {
    pub scene: Scene,
    #[pyo3(get)]
    pub name: String,
    /// The overrides, as the labels of a checkpoint hold them.
    pub settings: String,
}

#[pymethods]
impl SceneCore {
    /// Reads a TOML text. Files that the text names are relative to `folder`.
    #[staticmethod]
    fn parse(
        py: Python,
        text: &str,
        name: String,
        folder: Option<PathBuf>,
        overrides: Vec<String>,
    ) -> PyResult<Self> {
        let parsed = py.detach(|| parse_scene(text, &name, folder.as_deref(), &overrides));
        let scene = parsed.map_err(|error| exception(py, "SceneError", error.to_string()))?;
        Ok(Self { scene, name, settings: overrides.join("\n") })
    }

    /// Reads a built-in scene by name, or a scene file.
    #[staticmethod]
    fn find(py: Python, name: String, overrides: Vec<String>) -> PyResult<Self> {
        let found = py.detach(|| find_scene(&name, &overrides));
        let scene = found.map_err(|error| exception(py, "SceneError", error.to_string()))?;
        Ok(Self { scene, name, settings: overrides.join("\n") })
    }

    /// Text of a built-in scene; `None` if no built-in scene has this name.
    #[staticmethod]
    fn builtin_text(name: &str) -> Option<&'static str> {
        builtin(name).map(|scene| scene.text)
    }

    #[getter]
    fn dt(&self) -> f64 {
        self.scene.world.dt
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.scene.world.steps
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scene.world.seed
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.scene.world.dimensions.count()
    }

    #[getter]
    fn gravity(&self) -> (f64, f64, f64) {
        self.scene.world.gravity.into()
    }

    #[getter]
    fn sphere_count(&self, py: Python) -> PyResult<u64> {
        self.scene.sphere_count().map_err(|error| of(py, &error))
    }
}

/// Names and summaries of the built-in scenes.
#[pyfunction]
pub fn builtin_scenes() -> Vec<(&'static str, &'static str)> {
    BUILTIN.iter().map(|scene| (scene.name, scene.summary)).collect()
}
