"""Conversions to the data types of other packages, each with the real package."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import gas

import carom


@pytest.fixture
def pile() -> carom.Simulation:
    """Spheres of two sizes on a floor, in a box with one periodic, one walled and one open axis that is off the origin."""
    scene = (
        carom.Scene.new(dt=0.02, gravity=[0, 0, -1])
        .box([6, 6, 6], origin=[-1, 2, 0], sides=["periodic", "wall", "open"])
        .wall(plane={"point": [0, 0, 0], "normal": [0, 0, 1]})
        .spheres([[0, 4, 1], [2, 4, 1.5], [4.9, 4, 3]], radii=[0.5, 0.75, 0.5], velocities=[0.5, 0, 0], spins=[0, 0, 2])
    )
    sim = carom.Simulation(scene, "cpu")
    sim.step(5)
    return sim


def test_ase(pile: carom.Simulation) -> None:
    pytest.importorskip("ase")
    atoms = pile.to_ase()
    assert len(atoms) == 3 and atoms.pbc.tolist() == [True, False, False]
    assert np.array_equal(atoms.positions, pile.positions)
    assert np.allclose(atoms.get_velocities(), pile.velocities, rtol=1e-14)
    assert np.array_equal(atoms.get_masses(), pile.masses)
    assert np.array_equal(atoms.arrays["radius"], pile.radii) and np.array_equal(atoms.arrays["id"], pile.ids)
    assert np.allclose(atoms.cell.lengths()[:2], [6, 6]) and np.allclose(atoms.get_celldisp().ravel()[:2], [-1, 2])
    # By the shortest path across the periodic axis: 0.1 of a period from sphere 2 to sphere 0.
    direct = pile.positions[0] - pile.positions[2]
    assert atoms.get_distance(0, 2, mic=True) == pytest.approx(np.hypot(direct[0] + 6, direct[2]), rel=1e-9)
    assert atoms.get_kinetic_energy() == pytest.approx((0.5 * pile.masses[:, None] * pile.velocities**2).sum())


def test_pyvista(pile: carom.Simulation) -> None:
    pyvista = pytest.importorskip("pyvista")
    points = pile.to_pyvista()
    assert np.array_equal(points.points, pile.positions)
    assert np.array_equal(points["velocity"], pile.velocities) and np.array_equal(points["id"], pile.ids)
    glyphs = points.glyph(scale="diameter", geom=pyvista.Sphere(theta_resolution=60, phi_resolution=60), orient=False)
    low, high = (pile.positions - pile.radii[:, None]).min(axis=0), (pile.positions + pile.radii[:, None]).max(axis=0)
    assert np.allclose(glyphs.bounds, np.column_stack([low, high]).ravel(), atol=5e-3)


def test_ovito(pile: carom.Simulation) -> None:
    pytest.importorskip("ovito")
    from ovito.data import CutoffNeighborFinder
    from ovito.pipeline import Pipeline, StaticSource

    data = Pipeline(source=StaticSource(data=pile.to_ovito())).compute()
    particles = data.particles
    assert np.array_equal(particles.positions[...], pile.positions)
    assert np.array_equal(particles["Radius"][...], pile.radii)
    assert np.array_equal(particles["Particle Identifier"][...], pile.ids)
    assert data.cell.pbc == (True, False, False) and np.allclose(data.cell[...][:, 3][:2], [-1, 2])
    assert data.attributes["Timestep"] == 5
    # Sphere 2 is a neighbour of sphere 0 only across the periodic axis.
    found = [neighbour.index for neighbour in CutoffNeighborFinder(2.9, data).find(0)]
    assert sorted(found) == [1, 2]


def test_freud() -> None:
    freud = pytest.importorskip("freud")
    sim = gas(2000)
    sim.step(60)
    box, points = sim.to_freud()
    assert points.shape == (2000, 3) and np.all(np.abs(points) <= 0.5 * box.Lx)
    # Hard spheres of diameter 1: no pair is closer than 1, and g(r) at contact is that of Carnahan and Starling,
    # (1 - phi / 2) / (1 - phi)^3 = 1.76 at phi = 0.2, here within 15% for a bin of width 0.1 and one state.
    rdf = freud.density.RDF(bins=30, r_max=3.0)
    rdf.compute((box, points))
    assert rdf.rdf[:9].max() == 0.0
    assert rdf.rdf[10] == pytest.approx(1.76 - 0.15, rel=0.15)


def test_freud_in_two_dimensions_and_with_open_sides() -> None:
    pytest.importorskip("freud")
    box, points = carom.Simulation("balls_in_a_box", "cpu").to_freud()
    assert box.is2D and not any(box.periodic) and np.all(points[:, 2] == 0)
    sim = carom.Simulation(carom.Scene.new(dt=0.1).spheres([[10, 0, 0], [12, 1, 3]]), "cpu")
    box, points = sim.to_freud()
    assert [box.Lx, box.Ly, box.Lz] == pytest.approx([3, 2, 4])
    assert np.allclose(points[1] - points[0], [2, 1, 3])
