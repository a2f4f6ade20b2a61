"""Types of the compiled part of the package."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

def builtin_scenes() -> list[tuple[str, str]]:
    """Names and summaries of the built-in scenes."""

class SceneCore:
    name: str
    dt: float
    steps: int
    seed: int
    dimensions: int
    gravity: tuple[float, float, float]
    sphere_count: int
    @staticmethod
    def parse(text: str, name: str, folder: PathLike[str] | None, overrides: list[str]) -> SceneCore: ...
    @staticmethod
    def find(name: str, overrides: list[str]) -> SceneCore: ...
    @staticmethod
    def builtin_text(name: str) -> str | None: ...

class Report:
    """Report of one step: counts cover this step only. ``dict(report)`` gives its numbers by name."""

    step: int
    time: float
    substeps: int
    pair_impacts: int
    wall_impacts: int
    contact_time_impacts: int
    asleep: int
    rounds: int
    late: int
    crowded: int
    event_driven: int
    redone: int
    unresolved: int
    stopped: int
    nonfinite: int
    overflow: int
    fast: int
    poured: int
    waiting: int
    removed: int
    deepest_overlap: float
    kinetic_energy: float
    potential_energy: float
    total_energy: float
    momentum: tuple[float, float, float]
    momentum_x: float
    momentum_y: float
    momentum_z: float
    dissipated: float
    relax_work: float
    wall_work: float
    virial: float
    packing_fraction: float
    pressure: float
    wall_seconds: float
    removed_by_sink: list[int]
    stage_seconds: list[float]
    def keys(self) -> list[str]: ...
    def to_dict(self) -> dict[str, float]: ...
    def __getitem__(self, name: str) -> float: ...
    def _repr_html_(self) -> str: ...

class SimulationCore:
    def __new__(
        cls,
        scene: SceneCore | None = None,
        checkpoint: str | PathLike[str] | None = None,
        *,
        backend: str = "auto",
        threads: int = 0,
        adapter: str | None = None,
        record_impacts: bool = False,
        on_loss: str = "stop",
        metrics_every: int = 1,
    ) -> Any: ...
    def advance(self, steps: int, tick: Callable[[int], object] | None = None) -> None:
        """Takes ``steps`` steps; ``tick`` is called about ten times a second with the number of steps done."""
    @property
    def progress(self) -> tuple[int, float, int]:
        """Number of spheres, time, number of steps."""
    @property
    def report(self) -> Report:
        """The report of the last step; all zero before the first."""
    @property
    def metrics(self) -> dict[str, NDArray[Any]]:
        """The figures of every step taken, in columns: int64 (counts) or float64. ``pandas.DataFrame(sim.metrics)``."""
    def restore_metrics(self, earlier: dict[str, Any]) -> None:
        """Puts the metrics of an earlier part of the run first."""
    @property
    def summary(self) -> dict[str, Any]:
        """Figures over the whole run, in the terms of ``--json``; ``None`` where one does not apply."""
    @property
    def notes(self) -> list[str]:
        """Changes and suspicious values that the build of the scene reports."""
    @property
    def name(self) -> str:
        """Name of the scene."""
    @property
    def seed(self) -> int | None:
        """Seed of the scene; ``None`` after :meth:`resume`."""
    @property
    def backend(self) -> str:
        """The engine in use: cpu, gpu or exact."""
    @property
    def adapter(self) -> str | None:
        """The adapter in use; ``None`` except with ``gpu``."""
    @property
    def positions(self) -> NDArray[np.float64]:
        """Centres (N, 3) float64 (length)."""
    @positions.setter
    def positions(self, value: ArrayLike) -> None: ...
    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities (N, 3) float64 (length/time)."""
    @velocities.setter
    def velocities(self, value: ArrayLike) -> None: ...
    @property
    def spins(self) -> NDArray[np.float64]:
        """Angular velocities (N, 3) float64 (radian/time)."""
    @spins.setter
    def spins(self, value: ArrayLike) -> None: ...
    @property
    def radii(self) -> NDArray[np.float64]:
        """Radii (N,) float64 (length)."""
    @radii.setter
    def radii(self, value: ArrayLike) -> None: ...
    @property
    def masses(self) -> NDArray[np.float64]:
        """Masses (N,) float64 (mass)."""
    @masses.setter
    def masses(self, value: ArrayLike) -> None: ...
    @property
    def ids(self) -> NDArray[np.uint32]:
        """Ids (N,) uint32, ascending; the order of all arrays."""
    @property
    def asleep(self) -> NDArray[np.bool_]:
        """Whether each sphere slept in the last substep (N,) bool."""
    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Whether each sphere is held in place (N,) bool."""
    @property
    def material_indices(self) -> NDArray[np.uint16]:
        """Index of each sphere's material in :attr:`material_names` (N,) uint16."""
    @property
    def material_names(self) -> list[str]:
        """Names of the materials."""
    @property
    def wall_names(self) -> list[str]:
        """Names of the walls; contacts and impacts refer to walls by their place in this list."""
    @property
    def dt(self) -> float:
        """Outer step (time), > 0."""
    @dt.setter
    def dt(self, value: float) -> None: ...
    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration (length/time^2)."""
    @gravity.setter
    def gravity(self, value: ArrayLike) -> None: ...
    @property
    def dimensions(self) -> int:
        """2 or 3."""
    @property
    def bounds(self) -> tuple[list[float], list[float], list[bool]]:
        """Lower and upper corner of the box (length), and which axes are periodic. An open axis ends where the spheres end."""
    def contacts(self) -> NDArray[np.void]:
        """The contacts that lasted over the last substep: a structured array with the fields ``sphere`` and ``partner`` (ids;
        ``partner`` is an index into :attr:`wall_names` where ``is_wall``), ``point``, ``normal``, ``branch``, ``gap``,
        ``force`` and ``torque``."""
    def impacts(self) -> NDArray[np.void]:
        """The impacts of the last step by their times: a structured array with the fields ``sphere``, ``partner``, ``is_wall``,
        ``time``, ``point``, ``normal`` and ``impulse``. Needs ``record_impacts=True``."""
    @property
    def state_hash(self) -> str:
        """Hash of positions, velocities and spins: that of the command for the same scene, seed, backend and steps."""
    def add_sphere(
        self,
        id: int,
        position: ArrayLike,
        velocity: ArrayLike,
        spin: ArrayLike,
        radius: float,
        mass: float | None,
        material: str,
        fixed: bool,
    ) -> None: ...
    def remove(self, id: int) -> None:
        """Removes a sphere before the next step."""
    def apply_impulse(self, id: int, impulse: ArrayLike) -> None:
        """Changes the velocity of a sphere by impulse / mass."""
    def checkpoint(self, path: str | PathLike[str], end: int | None = None) -> None:
        """Writes the complete state to a file, from which :meth:`resume` and ``carom run --resume`` go on. ``end`` is the step at
        which the run is to end."""
    def write(self, path: str | PathLike[str]) -> None:
        """Writes the spheres to a file: CSV, extended XYZ, LAMMPS, VTP, NumPy or PLY, by the ending."""
    def close(self) -> None:
        """Releases memory and device; every later call raises ``ClosedError``."""
    @property
    def closed(self) -> bool:
        """Whether the simulation is closed."""

class Image:
    size: tuple[int, int]
    def png(self) -> bytes: ...
    def pixels(self) -> NDArray[np.uint8]: ...

class Canvas:
    def __new__(
        cls,
        simulation: SimulationCore,
        size: list[int],
        *,
        color: str | None,
        map: str | None,
        camera: str,
        value_range: tuple[float, float] | None,
        clip: str | None,
        chains: bool,
        hide: Iterable[str],
        adapter: str | None,
    ) -> Canvas: ...
    def draw(self, simulation: SimulationCore, seconds: float) -> Image: ...

class FilmWriter:
    def __new__(cls, path: PathLike[str], size: list[int], fps: float, title: str) -> FilmWriter: ...
    def add(self, image: Image) -> None: ...
    def finish(self) -> None: ...
