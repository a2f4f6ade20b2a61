"""Scenes: short descriptions of a simulation."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _toml
from ._carom import SceneCore, builtin_scenes
from .errors import SceneError

__all__ = ["Scene", "builtin_scenes"]


class Scene:
    """A description of a simulation; it never changes. Every method that changes a value returns another scene.

    Parameters
    ----------
    source : str, path or dict
        Name of a built-in scene (``"gas"``; :func:`carom.builtin_scenes` lists them), path of a scene file, or a dict with
        the tables of a scene file. A built-in name takes precedence over a file; ``"./gas"`` is the file.
    set : mapping, optional
        Values that replace those of the scene, by their path: ``{"world.dt": 0.001, "spheres.0.random.count": 500}``.
    seed : int, optional
        Short for ``set={"world.seed": seed}``.

    Raises
    ------
    SceneError
        A ``ValueError``, if the scene cannot be read. The text shows the line.

    Examples
    --------
    >>> import carom
    >>> carom.Scene("gas", set={"spheres.0.random.count": 1000}).sphere_count
    1000
    >>> scene = carom.Scene.new(dt=0.01).box([4, 4, 4], sides="periodic").lattice([3, 3, 3], spacing=1.3)
    >>> scene.sphere_count
    27
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        set: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        overrides = _overrides(set, seed)
        # The text, the name in messages and the folder of the files that it names; or a name or path to read.
        self._data: dict[str, Any] | None = None
        if isinstance(source, Mapping):
            self._data = _toml.plain(source)
            text, name, folder = _toml.document(self._data), "scene", Path.cwd()
        else:
            name = os.fspath(source)
            built_in = SceneCore.builtin_text(name)
            if built_in is None:
                # Reports a path that does not exist, or a misspelt name.
                SceneCore.find(name, [])
                text, folder = Path(name).read_text(encoding="utf-8"), Path(name).resolve().parent
            else:
                text, folder = built_in, None
        self._state = (text, name, folder, overrides)
        self._core = SceneCore.parse(text, name, folder, overrides)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **options: Any) -> Scene:
        """The scene file at this path; ``options`` as for :class:`Scene`."""
        path = os.fspath(path)
        return cls(path if os.path.dirname(path) else os.path.join(".", path), **options)

    @classmethod
    def builtin(cls, name: str, **options: Any) -> Scene:
        """The built-in scene of this name; ``options`` as for :class:`Scene`."""
        if SceneCore.builtin_text(name) is None:
            names = ", ".join(known for known, _ in builtin_scenes())
            raise SceneError(f"no built-in scene is called {name!r}; there are {names}")
        return cls(name, **options)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], **options: Any) -> Scene:
        """The scene of a dict with the tables of a scene file; ``options`` as for :class:`Scene`."""
        return cls(data, **options)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "scene", folder: str | os.PathLike[str] | None = None) -> Scene:
        """The scene of a TOML text. Files that it names are relative to ``folder``; default: the working directory."""
        return cls._of(text, name, Path(folder) if folder is not None else Path.cwd(), [])

    @classmethod
    def new(
        cls, dt: float, *, dimensions: int = 3, gravity: Sequence[float] = (0, 0, 0), steps: int = 600, seed: int = 1
    ) -> Scene:
        """An empty scene with steps of ``dt`` (time), to which the methods below add."""
        world = {"dt": dt, "dimensions": dimensions, "gravity": gravity, "steps": steps, "seed": seed}
        return cls({"world": world})

    @classmethod
    def _of(cls, text: str, name: str, folder: Path | None, overrides: list[str]) -> Scene:
        scene = cls.__new__(cls)
        scene._data = None
        scene._state = (text, name, folder, overrides)
        scene._core = SceneCore.parse(text, name, folder, overrides)
        return scene

    def __reduce__(self) -> Any:
        return _restore, (self._state, self._data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scene) and self._state == other._state

    def __hash__(self) -> int:
        text, name, _, overrides = self._state
        return hash((text, name, tuple(overrides)))

    def override(self, set: Mapping[str, Any] | None = None, *, seed: int | None = None) -> Scene:
        """The scene with other values, by their paths as for ``--set`` of the command."""
        text, name, folder, overrides = self._state
        scene = Scene._of(text, name, folder, overrides + _overrides(set, seed))
        scene._data = self._data
        return scene

    # A scene built in code is a dict; other scenes are texts that stay as they are.
    def _with(self, table: str, entry: Any) -> Scene:
        if self._data is None:
            raise SceneError(f"only a scene from Scene.new or a dict takes more {table}; use override on this one")
        if self._state[3]:
            # An override may name a place in the tables, which an added entry could change.
            raise SceneError(f"the scene has overrides ({self._state[3][0]}); add {table} before `override`, `set` or `seed`")
        data = dict(self._data)
        if isinstance(entry, dict) and table in ("bounds", "materials", "view", "world", "solver", "compression"):
            data[table] = {**data.get(table, {}), **entry}
        else:
            data[table] = [*data.get(table, []), entry]
        return Scene(data)

    def box(
        self,
        size: Sequence[float] | None = None,
        *,
        origin: Sequence[float] = (0, 0, 0),
        sides: str | Sequence[str] = "wall",
        material: str | None = None,
    ) -> Scene:
        """Sets the box: edges ``size`` (length) from ``origin``, and ``sides``, each ``periodic``, ``wall`` or ``open``.

        Without ``size``, the volume fraction of the first random fill decides it.
        """
        names = [sides] * 3 if isinstance(sides, str) else list(sides)
        bounds: dict[str, Any] = dict(zip("xyz", names))
        if size is not None:
            bounds["min"] = list(origin)
            bounds["max"] = [low + edge for low, edge in zip(origin, size)]
        if material is not None:
            bounds["material"] = material
        return self._with("bounds", _toml.plain(bounds))

    def material(self, name: str, **properties: float) -> Scene:
        """Adds a material: restitution, density (mass/volume), friction and the other keys of a scene file."""
        return self._with("materials", {name: _toml.plain(properties)})

    def random(
        self,
        count: int,
        *,
        diameter: float | None = None,
        diameters: Sequence[Sequence[float]] | None = None,
        volume_fraction: float | None = None,
        min: Sequence[float] | None = None,
        max: Sequence[float] | None = None,
        **group: Any,
    ) -> Scene:
        """Adds a random fill of the box, or of the part between the corners ``min`` and ``max``.

        All spheres have one ``diameter`` (default 1), or ``diameters`` lists sizes and their shares: ``[[0.9, 0.5], [1.1, 0.5]]``.
        ``group`` has the keys of a group of spheres, such as ``temperature``, ``material`` and ``inside``.
        """
        if diameter is None and diameters is None:
            diameter = 1.0
        keys = {
            "count": count,
            "diameter": diameter,
            "diameters": diameters,
            "volume_fraction": volume_fraction,
            "min": min,
            "max": max,
        }
        fill = {key: value for key, value in keys.items() if value is not None}
        return self._with("spheres", _toml.plain({"random": fill, **group}))

    def lattice(
        self,
        count: Sequence[int],
        *,
        spacing: float,
        kind: str = "cubic",
        origin: Sequence[float] = (0, 0, 0),
        diameter: float = 1.0,
        **group: Any,
    ) -> Scene:
        """Adds a lattice with ``count`` spheres along each axis; ``group`` as for :meth:`random`."""
        fill = {"kind": kind, "count": count, "spacing": spacing, "origin": origin, "diameter": diameter}
        return self._with("spheres", _toml.plain({"lattice": fill, **group}))

    def spheres(
        self,
        positions: Any,
        *,
        radii: Any = 0.5,
        velocities: Any = None,
        spins: Any = None,
        masses: Any = None,
        **group: Any,
    ) -> Scene:
        """Adds spheres at ``positions`` (N, 3). ``radii`` and ``masses`` are one number or N; ``velocities`` and ``spins``
        are one vector or (N, 3). Without ``masses`` the density of the material decides them."""
        import numpy as np

        centres = np.asarray(positions, dtype=float)
        if centres.ndim != 2 or centres.shape[1] != 3:
            raise SceneError(f"positions has the shape {centres.shape}; expected (N, 3)")
        columns: dict[str, Any] = {"position": centres}
        for name, key, values, shape in (
            ("radii", "radius", radii, centres.shape[:1]),
            ("masses", "mass", masses, centres.shape[:1]),
            ("velocities", "velocity", velocities, centres.shape),
            ("spins", "spin", spins, centres.shape),
        ):
            if values is not None:
                array = np.asarray(values, dtype=float)
                try:
                    columns[key] = np.broadcast_to(array, shape)
                except ValueError:
                    raise SceneError(f"{name} has the shape {array.shape}; expected {shape}") from None
        rows = zip(*(column.tolist() for column in columns.values()))
        return self._with("spheres", {"at": [dict(zip(columns, row)) for row in rows], **_toml.plain(group)})

    def file(self, path: str | os.PathLike[str], **group: Any) -> Scene:
        """Adds the spheres of a file; ``group`` as for :meth:`random`."""
        return self._with("spheres", _toml.plain({"file": os.path.abspath(path), **group}))

    def wall(self, **keys: Any) -> Scene:
        """Adds a wall with the keys of ``[[walls]]``: ``wall(plane={"point": [0, 0, 0], "normal": [0, 0, 1]})``."""
        return self._with("walls", _toml.plain(keys))

    def sink(self, **keys: Any) -> Scene:
        """Adds a sink with the keys of ``[[sinks]]``."""
        return self._with("sinks", _toml.plain(keys))

    @property
    def name(self) -> str:
        """Name of the scene, or path of its file."""
        return self._core.name

    @property
    def text(self) -> str:
        """The scene as TOML, without the overrides."""
        return self._state[0]

    @property
    def overrides(self) -> tuple[str, ...]:
        """The overrides, as TOML."""
        return tuple(self._state[3])

    @property
    def dt(self) -> float:
        """Outer step (time)."""
        return self._core.dt

    @property
    def steps(self) -> int:
        """Default length of a run (steps)."""
        return self._core.steps

    @property
    def seed(self) -> int:
        """Seed of all random numbers."""
        return self._core.seed

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return self._core.dimensions

    @property
    def gravity(self) -> tuple[float, float, float]:
        """Acceleration (length/time^2)."""
        return self._core.gravity

    @property
    def sphere_count(self) -> int:
        """Number of spheres at the start."""
        return self._core.sphere_count

    def __repr__(self) -> str:
        return f"<carom.Scene {self.name}: {self.sphere_count} spheres, dt {self.dt:g}, seed {self.seed}>"

    def _repr_html_(self) -> str:
        rows = [("spheres", self.sphere_count), ("dimensions", self.dimensions), ("dt", f"{self.dt:g}")]
        rows += [("steps", self.steps), ("seed", self.seed), ("gravity", list(self.gravity))]
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows)
        text = html.escape("\n".join([self.text, *self.overrides]))
        return (
            f"<table><caption>{html.escape(self.name)}</caption>{cells}</table>"
            f"<details><summary>TOML</summary><pre>{text}</pre></details>"
        )


def _overrides(set: Mapping[str, Any] | None, seed: int | None) -> list[str]:
    texts = [_toml.override(key, value) for key, value in (set or {}).items()]
    if seed is not None:
        texts.append(_toml.override("world.seed", seed))
    return texts


def _restore(state: tuple[str, str, Path | None, list[str]], data: dict[str, Any] | None) -> Scene:
    scene = Scene._of(*state)
    scene._data = data
    return scene
