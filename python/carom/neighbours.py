"""Conversions to the data types of ASE, PyVista, OVITO and freud. Each package is optional."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import ase
    import freud
    import ovito.data
    import pyvista

    from .simulation import Simulation


def _load(module: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {package}: pip install 'carom[{extra}]'") from error


def to_ase(sim: Simulation) -> ase.Atoms:
    """``ase.Atoms``, all with the symbol ``X``.

    Positions, velocities and masses are those of the spheres in the units of the simulation, which ASE does not convert. The
    arrays ``id``, ``radius`` and ``spin`` hold the rest. The cell is the box, with its corner as ``celldisp``; an open axis ends
    where the spheres end.
    """
    ase = _load("ase", "ASE", "ase")
    low, high, periodic = sim.bounds
    atoms = ase.Atoms(
        numbers=np.zeros(len(sim), dtype=int),
        positions=sim.positions,
        masses=sim.masses,
        cell=np.subtract(high, low),
        celldisp=low,
        pbc=periodic,
    )
    atoms.set_velocities(sim.velocities)
    atoms.set_array("id", np.array(sim.ids))
    atoms.set_array("radius", np.array(sim.radii))
    atoms.set_array("spin", np.array(sim.spins))
    atoms.info.update(time=sim.time, step=sim.steps)
    return atoms


def to_pyvista(sim: Simulation) -> pyvista.PolyData:
    """``pyvista.PolyData`` with a point for each sphere and the point data ``id``, ``radius``, ``diameter``, ``mass``,
    ``velocity``, ``spin``, ``speed``, ``material`` and ``asleep``. ``glyph(scale="diameter", geom=pyvista.Sphere())`` draws them.
    """
    pyvista = _load("pyvista", "PyVista", "pyvista")
    points = pyvista.PolyData(np.array(sim.positions))
    velocities, radii = np.array(sim.velocities), np.array(sim.radii)
    data = {
        "id": np.array(sim.ids),
        "radius": radii,
        "diameter": 2 * radii,
        "mass": np.array(sim.masses),
        "velocity": velocities,
        "spin": np.array(sim.spins),
        "speed": np.linalg.norm(velocities, axis=1),
        "material": np.array(sim.material_indices),
        "asleep": np.array(sim.asleep),
    }
    for name, values in data.items():
        points.point_data[name] = values
    points.field_data["time"] = [sim.time]
    return points


def to_ovito(sim: Simulation) -> ovito.data.DataCollection:
    """``ovito.data.DataCollection`` with particles and a simulation cell; an open axis of the cell ends where the spheres end.

    In a pipeline: ``ovito.pipeline.Pipeline(source=ovito.pipeline.StaticSource(data=sim.to_ovito()))``.
    """
    ovito = _load("ovito.data", "OVITO", "ovito")
    data = ovito.DataCollection()
    particles = ovito.Particles()
    particles.create_property("Position", data=sim.positions)
    particles.create_property("Particle Identifier", data=sim.ids.astype(np.int64))
    particles.create_property("Velocity", data=sim.velocities)
    particles.create_property("Radius", data=sim.radii)
    particles.create_property("Mass", data=sim.masses)
    particles.create_property("Angular Velocity", data=sim.spins)
    data.objects.append(particles)
    low, high, periodic = sim.bounds
    cell = ovito.SimulationCell(pbc=tuple(periodic), is2D=sim.dimensions == 2)
    cell[...] = np.column_stack([np.diag(np.subtract(high, low)), low])
    data.objects.append(cell)
    data.attributes["Time"] = sim.time
    data.attributes["Timestep"] = sim.steps
    return data


def to_freud(sim: Simulation) -> tuple[freud.box.Box, NDArray[np.float32]]:
    """A ``freud.box.Box`` and the points in it, which freud takes as its ``system``.

    The middle of a box of freud is the origin, so the points are shifted. On an axis that is not periodic the box is wide enough
    to hold all spheres.
    """
    freud = _load("freud", "freud", "freud")
    low, high, periodic = (np.asarray(part) for part in sim.bounds)
    positions, radii = sim.positions, sim.radii
    if len(positions):
        low = np.where(periodic, low, np.minimum(low, (positions - radii[:, None]).min(axis=0)))
        high = np.where(periodic, high, np.maximum(high, (positions + radii[:, None]).max(axis=0)))
    edges = high - low
    is_flat = sim.dimensions == 2
    box = freud.box.Box(edges[0], edges[1], 0.0 if is_flat else edges[2], is2D=is_flat)
    box.periodic = [bool(p) for p in periodic] if not is_flat else [bool(periodic[0]), bool(periodic[1]), False]
    points = positions - 0.5 * (low + high)
    if is_flat:
        points[:, 2] = 0.0
    # In float32 a point on the upper side may round to a point outside.
    return box, box.wrap(points.astype(np.float32))
