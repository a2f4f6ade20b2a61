"""Simulations: a scene with the engine that steps it."""

from __future__ import annotations

import math
import operator
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import neighbours
from ._carom import Canvas, FilmWriter, Report, SimulationCore
from .errors import InvalidError
from .notebook import Film, Picture
from .scene import Scene

if TYPE_CHECKING:
    import ase
    import freud
    import ovito.data
    import pyvista
    from numpy.typing import NDArray

# Longest run in steps; a longer one is a typing error, or can be run in parts.
_STEPS_MAX = 10**15


def _length(steps: int | None, until: float | None, time: float, dt: float) -> int | None:
    """Number of steps that ``steps`` or ``until`` asks for at the time ``time``; ``None`` if both are ``None``."""
    if steps is not None and until is not None:
        raise InvalidError("expected steps or until, not both")
    if steps is not None:
        steps = operator.index(steps)
        if not 0 <= steps <= _STEPS_MAX:
            raise InvalidError(f"{steps} steps; expected 0 to {_STEPS_MAX}")
        return steps
    if until is None:
        return None
    count = (until - time) / dt
    if not count <= _STEPS_MAX:
        raise InvalidError(f"until is {until}; expected a time that {_STEPS_MAX} steps reach")
    return _whole(count)


def _whole(count: float) -> int:
    # Rounds up, but a millionth does not add a step: a scene may say 0.016666667 for a sixtieth.
    if count <= 0:
        return 0
    nearest = round(count)
    return nearest if abs(nearest - count) <= 1e-6 * max(1.0, count) else math.ceil(count)


class Simulation(SimulationCore):
    """A system of spheres with the engine that steps it.

    Arrays have one row for each sphere in ascending order of ids. They are copies and cannot be written; to change the
    simulation, assign a whole array: ``sim.velocities = 2 * sim.velocities``. A failed assignment changes nothing.

    Parameters
    ----------
    scene : Scene, str, path or dict
        The scene, or the argument of :class:`Scene`.
    backend : {"auto", "cpu", "gpu", "exact"}
        The engine. ``auto`` is ``gpu`` if there is a GPU, otherwise ``cpu``.
    threads : int
        Threads of the ``cpu`` engine; 0 is one for each core. The number does not change the result.
    adapter : str, optional
        Part of the name of the adapter for ``gpu``.
    set, seed
        As for :class:`Scene`.
    record_impacts : bool
        Keeps the impacts of each step for :meth:`impacts`.
    on_loss : {"stop", "cpu"}
        Reaction to the loss of the device of ``gpu``.
    metrics_every : int
        :attr:`metrics` gets a row after each step that this divides; 0 keeps none. A row takes 272 bytes.
    """

    def __new__(
        cls,
        scene: Scene | str | os.PathLike[str] | Mapping[str, Any],
        backend: str = "auto",
        *,
        threads: int = 0,
        adapter: str | None = None,
        set: Mapping[str, Any] | None = None,
        seed: int | None = None,
        record_impacts: bool = False,
        on_loss: str = "stop",
        metrics_every: int = 1,
    ) -> Simulation:
        if not isinstance(scene, Scene):
            scene = Scene(scene, set=set, seed=seed)
        elif set or seed is not None:
            scene = scene.override(set, seed=seed)
        made = super().__new__(
            cls,
            scene._core,
            backend=backend,
            threads=threads,
            adapter=adapter,
            record_impacts=record_impacts,
            on_loss=on_loss,
            metrics_every=metrics_every,
        )
        made._end = scene.steps
        return made

    _end: int | None

    @classmethod
    def resume(
        cls,
        checkpoint: str | os.PathLike[str],
        backend: str = "auto",
        *,
        threads: int = 0,
        adapter: str | None = None,
        record_impacts: bool = False,
        on_loss: str = "stop",
        metrics_every: int = 1,
    ) -> Simulation:
        """Goes on from a checkpoint, to the bit on the same backend, device and build. ``auto`` is the backend of the
        checkpoint. :attr:`metrics` begins here."""
        made = SimulationCore.__new__(
            cls,
            None,
            os.fspath(checkpoint),
            backend=backend,
            threads=threads,
            adapter=adapter,
            record_impacts=record_impacts,
            on_loss=on_loss,
            metrics_every=metrics_every,
        )
        made._end = None
        return made

    def step(self, n: int = 1) -> Report:
        """Takes ``n`` steps and returns the report of the last one. Ctrl-C stops between two steps."""
        if n < 0 or n > _STEPS_MAX:
            raise InvalidError(f"{n} steps; expected 0 to {_STEPS_MAX}")
        self.advance(n)
        return self.report

    def run(
        self,
        steps: int | None = None,
        *,
        until: float | None = None,
        callback: Callable[[Simulation], object] | None = None,
        every: int = 1,
        progress: bool = False,
    ) -> Report:
        """Takes ``steps`` steps, or all steps up to the time ``until``, or those that are left of the scene.

        ``until`` is rounded up to a whole step: the run ends with the first step that reaches it, where a millionth of the
        number of steps (at least of one step) counts as reached. It takes no step if the time is ``until`` or later.
        ``callback(sim)`` is called after every ``every`` steps and after the last; the run stops early if it returns
        ``False``, also that of NumPy. ``progress`` shows a bar where tqdm is installed. Ctrl-C stops between two steps and raises
        ``KeyboardInterrupt``; the simulation can go on. Returns the report of the last step.
        """
        steps = self._steps(steps, until)
        if every < 1:
            raise InvalidError(f"every is {every}; expected at least 1")
        bar = _bar(steps) if progress else None
        done = 0
        try:
            while done < steps:
                block = min(every, steps - done) if callback is not None else steps - done
                if bar is not None:
                    before = done
                    self.advance(block, lambda k: bar.update(before + k - bar.n))
                else:
                    self.advance(block)
                done += block
                if bar is not None:
                    bar.update(done - bar.n)
                if callback is not None:
                    answer = callback(self)
                    if isinstance(answer, (bool, np.bool_)) and not answer:
                        break
        finally:
            if bar is not None:
                bar.close()
        return self.report

    def _steps(self, steps: int | None, until: float | None) -> int:
        length = _length(steps, until, self.time, self.dt)
        if length is not None:
            return length
        if self._end is None:
            raise InvalidError("a resumed simulation has no default length; pass steps or until")
        return max(self._end - self.steps, 0)

    def __len__(self) -> int:
        return self.progress[0]

    @property
    def time(self) -> float:
        """Time since the start of the run."""
        return self.progress[1]

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return self.progress[2]

    def add(
        self,
        position: Sequence[float],
        *,
        id: int | None = None,
        velocity: Sequence[float] = (0, 0, 0),
        spin: Sequence[float] = (0, 0, 0),
        radius: float = 0.5,
        mass: float | None = None,
        material: str | None = None,
        fixed: bool = False,
    ) -> int:
        """Adds a sphere before the next step and returns its id. Without ``mass`` the density of the material decides it."""
        if id is None:
            ids = self.ids
            id = int(ids[-1]) + 1 if len(ids) else 0
        if material is None:
            material = self.material_names[0]
        self.add_sphere(id, position, velocity, spin, radius, mass, material, fixed)
        return id

    def picture(
        self,
        size: tuple[int, int] = (640, 480),
        *,
        color: str | None = None,
        map: str | None = None,
        camera: str = "scene",
        value_range: tuple[float, float] | None = None,
        clip: str | None = None,
        chains: bool = False,
        hide: Sequence[str] = (),
        adapter: str | None = None,
    ) -> Picture:
        """A picture of the current state; a software adapter can draw it too.

        The options are those of ``carom render``: ``color`` (speed, radius, material, id, overlap, spin, contacts, force),
        ``map`` of colours, ``camera`` (scene, iso, front, top, ..., orbit, or ``EYE:TARGET[:FOV]``), ``value_range`` of the
        colours, ``clip`` such as ``z:2``, ``chains`` of contact forces, and what to ``hide``.
        """
        look: dict[str, Any] = dict(color=color, map=map, camera=camera, value_range=value_range, clip=clip, chains=chains)
        canvas = Canvas(self, list(size), hide=list(hide), adapter=adapter, **look)
        return Picture(canvas.draw(self, 0.0))

    def film(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        frames: int = 100,
        steps_per_frame: int = 1,
        fps: float = 25.0,
        size: tuple[int, int] = (480, 360),
        color: str | None = None,
        map: str | None = None,
        camera: str = "scene",
        value_range: tuple[float, float] | None = None,
        clip: str | None = None,
        chains: bool = False,
        hide: Sequence[str] = (),
        adapter: str | None = None,
        progress: bool = False,
    ) -> Film:
        """Goes on for ``(frames - 1) * steps_per_frame`` steps and films them, the current state first.

        ``path`` ends in ``.gif`` or, where ffmpeg is installed, ``.mp4``; without a path the film is a GIF in memory. The other
        options are those of :meth:`picture`.
        """
        if frames < 1 or steps_per_frame < 1:
            raise InvalidError(f"{frames} frames, {steps_per_frame} steps per frame; expected at least 1 each")
        look: dict[str, Any] = dict(color=color, map=map, camera=camera, value_range=value_range, clip=clip, chains=chains)
        canvas = Canvas(self, list(size), hide=list(hide), adapter=adapter, **look)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(path) if path is not None else Path(folder) / "film.gif"
            writer = FilmWriter(file, list(size), fps, self.name)
            bar = _bar(frames, "frame") if progress else None
            try:
                for frame in range(frames):
                    if frame > 0:
                        self.advance(steps_per_frame)
                    writer.add(canvas.draw(self, frame / fps))
                    if bar is not None:
                        bar.update(1)
            finally:
                if bar is not None:
                    bar.close()
            writer.finish()
            return Film(file, file.read_bytes(), frames, size)

    def to_ase(self) -> ase.Atoms:
        """The spheres as ``ase.Atoms``: see :func:`carom.neighbours.to_ase`."""
        return neighbours.to_ase(self)

    def to_pyvista(self) -> pyvista.PolyData:
        """The spheres as ``pyvista.PolyData``: see :func:`carom.neighbours.to_pyvista`."""
        return neighbours.to_pyvista(self)

    def to_ovito(self) -> ovito.data.DataCollection:
        """The spheres as ``ovito.data.DataCollection``: see :func:`carom.neighbours.to_ovito`."""
        return neighbours.to_ovito(self)

    def to_freud(self) -> tuple[freud.box.Box, NDArray[np.float32]]:
        """Box and points for freud: see :func:`carom.neighbours.to_freud`."""
        return neighbours.to_freud(self)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<carom.Simulation, closed>"
        count, time, steps = self.progress
        return f"<carom.Simulation {self.name}: {count} spheres on {self.backend}, step {steps}, time {time:g}>"


def _bar(total: int, unit: str = "step") -> Any:
    """A progress bar, or ``None`` where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=unit)
