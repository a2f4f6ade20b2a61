//! The compiled part of the Python package `carom`. The files in `python/carom` wrap it; its stubs are in `_carom.pyi`.

mod arrays;
mod errors;
mod film;
mod metrics;
mod picture;
mod report;
mod scene;
mod simulation;

use pyo3::prelude::*;

#[pymodule]
fn _carom(module: &Bound<PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scene::SceneCore>()?;
    module.add_class::<simulation::SimulationCore>()?;
    module.add_class::<report::Report>()?;
    module.add_class::<picture::Canvas>()?;
    module.add_class::<picture::Image>()?;
    module.add_class::<film::FilmWriter>()?;
    module.add_function(wrap_pyfunction!(scene::builtin_scenes, module)?)
}
