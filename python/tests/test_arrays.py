"""Arrays: shapes, dtypes, order and units; edits; structured arrays."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import gas

import carom


def test_arrays_have_the_stated_shapes_and_dtypes(sim: carom.Simulation) -> None:
    for name, shape, dtype in [
        ("positions", (300, 3), np.float64),
        ("velocities", (300, 3), np.float64),
        ("spins", (300, 3), np.float64),
        ("radii", (300,), np.float64),
        ("masses", (300,), np.float64),
        ("ids", (300,), np.uint32),
        ("asleep", (300,), np.bool_),
        ("fixed", (300,), np.bool_),
        ("material_indices", (300,), np.uint16),
    ]:
        array = getattr(sim, name)
        assert (array.shape, array.dtype) == (shape, dtype), name
        assert array.flags.c_contiguous and not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert np.all(sim.radii == 0.5) and np.allclose(sim.masses, 1.0)
    kinetic = 0.5 * (sim.masses[:, None] * sim.velocities**2).sum()
    assert kinetic == pytest.approx(sim.report.kinetic_energy, rel=1e-12)


def test_positions_do_not_depend_on_whether_other_arrays_were_read_before() -> None:
    first, second = gas(), gas()
    first.step(2), second.step(2)
    alone = first.positions
    assert second.velocities.shape == (300, 3)
    assert np.array_equal(alone, second.positions)


def test_order_and_values_are_those_of_the_files(sim: carom.Simulation, tmp_path: Path) -> None:
    sim.write(tmp_path / "state.csv")
    rows = list(csv.DictReader((tmp_path / "state.csv").open()))
    assert [int(row["id"]) for row in rows] == sim.ids.tolist() == sorted(sim.ids.tolist())
    written = np.array([[float(row[k]) for k in ("x", "y", "z", "vx", "vy", "vz")] for row in rows])
    assert np.array_equal(written, np.hstack([sim.positions, sim.velocities]))


def test_final_csv_of_the_command_has_the_same_rows(command: Callable[..., Any], tmp_path: Path) -> None:
    command("run", "gas", "--backend", "cpu", "--steps", "5", "--set", "spheres.0.random.count=300", "--out", str(tmp_path))
    rows = list(csv.DictReader((tmp_path / "final.csv").open()))
    sim = gas()
    sim.step(5)
    assert [int(row["id"]) for row in rows] == sim.ids.tolist()
    written = np.array([[float(row[k]) for k in "xyz"] for row in rows])
    assert np.array_equal(written, sim.positions)


@pytest.mark.parametrize("name", ["positions", "velocities", "spins"])
def test_an_edit_of_a_matrix_is_seen_at_once_and_by_the_next_step(sim: carom.Simulation, name: str) -> None:
    new = getattr(sim, name) + [0.25, 0.0, 0.0]
    setattr(sim, name, new)
    assert np.array_equal(getattr(sim, name), new)
    sim.step()
    assert sim.steps == 4


def test_an_edit_of_a_column_is_seen_at_once(sim: carom.Simulation) -> None:
    sim.masses = 2 * sim.masses
    sim.radii = 0.9 * sim.radii
    assert np.allclose(sim.masses, 2.0) and np.allclose(sim.radii, 0.45)
    before = sim.report.kinetic_energy
    sim.step()
    assert sim.report.kinetic_energy == pytest.approx(2 * before, rel=1e-5)


def test_integers_lists_and_float32_are_taken(sim: carom.Simulation) -> None:
    sim.velocities = np.ones((300, 3), dtype=np.int32)
    assert np.all(sim.velocities == 1.0)
    sim.velocities = np.full((300, 3), 0.5, dtype=np.float32)
    sim.masses = [2] * 300
    assert np.all(sim.velocities == 0.5) and np.all(sim.masses == 2.0)


def test_spheres_are_added_struck_and_removed() -> None:
    sim = carom.Simulation(carom.Scene.new(dt=0.5), "cpu")
    assert len(sim) == 0 and sim.positions.shape == (0, 3) and len(sim.contacts()) == 0
    first = sim.add([0, 0, 0], velocity=[1, 0, 0])
    second = sim.add([5, 0, 0], id=7, radius=0.25)
    assert (first, second, sim.ids.tolist()) == (0, 7, [0, 7])
    # Density 6/pi: mass 1 at diameter 1.
    assert sim.masses == pytest.approx([1.0, 0.125])
    sim.apply_impulse(7, [0, 0.125, 0])
    sim.step()
    assert sim.positions == pytest.approx(np.array([[0.5, 0, 0], [5, 0.5, 0]]), abs=1e-6)
    sim.remove(0)
    assert sim.ids.tolist() == [7]
    sim.gravity = [0, 0, -1]
    # A list would not equal a tuple.
    assert sim.gravity == (0.0, 0.0, -1.0) and sim.report.momentum == pytest.approx((1.0, 0.125, 0.0), abs=1e-6)
    assert isinstance(sim.gravity, tuple) and isinstance(sim.report.momentum, tuple)
    assert carom.Scene.new(dt=0.5, gravity=[0, 0, -1]).gravity == (0.0, 0.0, -1.0)


def test_arrays_of_contacts_impacts_and_metrics_cannot_be_written() -> None:
    scene = carom.Scene.new(dt=0.5).spheres([[0, 0, 0], [1.2, 0, 0]], velocities=[[1, 0, 0], [0, 0, 0]])
    scene = scene.sink(min=[8, -1, -1], max=[9, 1, 1], name="end")
    sim = carom.Simulation(scene, "cpu", record_impacts=True)
    sim.step()
    metrics = sim.metrics
    assert {"step", "kinetic_energy", "removed_end"} <= set(metrics) and len(sim.impacts()) == 1
    for name, array in [("contacts", sim.contacts()), ("impacts", sim.impacts()), *metrics.items()]:
        assert not array.flags.writeable, name
    with pytest.raises(ValueError, match="read-only"):
        sim.impacts()["impulse"] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        metrics["kinetic_energy"][0] = 0.0


def test_impacts_are_a_structured_array() -> None:
    scene = carom.Scene.new(dt=0.5).spheres([[0, 0, 0], [1.2, 0, 0]], velocities=[[1, 0, 0], [0, 0, 0]])
    sim = carom.Simulation(scene, "cpu", record_impacts=True)
    assert sim.step().pair_impacts == 1
    (impact,) = sim.impacts()
    assert (impact["sphere"], impact["partner"], impact["is_wall"]) == (0, 1, False)
    assert impact["time"] == pytest.approx(0.2, abs=1e-6) and impact["impulse"] == pytest.approx(1.0, rel=1e-6)
    assert impact["normal"] == pytest.approx([-1, 0, 0]) and impact["point"] == pytest.approx([0.7, 0, 0], abs=1e-6)
    assert sim.velocities[:, 0] == pytest.approx([0, 1], abs=1e-6)


def test_contacts_carry_the_weight() -> None:
    scene = (
        carom.Scene.new(dt=0.05, gravity=[0, 0, -1])
        .material("default", restitution=0.5, friction=0.5)
        .wall(plane={"point": [0, 0, 0], "normal": [0, 0, 1]}, name="floor")
        .spheres([[0, 0, 0.5], [0, 0, 1.5], [0, 0, 2.5]], masses=1.0)
    )
    sim = carom.Simulation(scene, "cpu")
    sim.step(40)
    contacts = sim.contacts()
    assert contacts["is_wall"].tolist() == [False, True, False]
    assert sim.wall_names[contacts["partner"][1]] == "floor"
    assert np.linalg.norm(contacts["force"], axis=1) == pytest.approx([2, 3, 1], abs=1e-3)
    assert contacts["force"].shape == (3, 3) and abs(contacts["gap"]).max() < 2e-3


def test_spheres_that_sleep_are_those_of_the_report() -> None:
    scene = (
        carom.Scene.new(dt=0.05, gravity=[0, 0, -1])
        .material("default", restitution=0.5, friction=0.5)
        .wall(plane={"point": [0, 0, 0], "normal": [0, 0, 1]})
        .spheres([[0, 0, 0.5], [9, 0, 400]])
    )
    sim = carom.Simulation(scene, "cpu", threads=1)
    assert sim.asleep.tolist() == [False, False]
    sim.step(400)
    assert sim.asleep.tolist() == [True, False] and sim.report.asleep == 1
