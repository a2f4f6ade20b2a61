"""Runs: hashes of the command, callbacks, Ctrl-C, checkpoints, metrics, threads."""

from __future__ import annotations

import csv
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import gas

import carom

SMALL = {"spheres.0.random.count": 2000}


@pytest.mark.parametrize("backend", ["cpu", "exact", "gpu"])
@pytest.mark.parametrize("seed", [1, 5])
def test_the_state_hash_is_that_of_the_command(command: Callable[..., Any], backend: str, seed: int) -> None:
    options = ["--backend", backend, "--steps", "12", "--seed", str(seed), "--set", "spheres.0.random.count=2000"]
    sim = carom.Simulation("gas", backend, set=SMALL, seed=seed)
    sim.run(12)
    assert sim.state_hash == command("run", "gas", *options)["state_hash"]


def test_the_state_hash_of_a_pile_is_that_of_the_command(command: Callable[..., Any]) -> None:
    sim = carom.Simulation("heap", "cpu")
    sim.step(40)
    assert sim.state_hash == command("run", "heap", "--backend", "cpu", "--steps", "40")["state_hash"]


def test_metrics_are_those_of_the_command(command: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    command("run", "galton", "--backend", "cpu", "--steps", "30", "--metrics", str(path))
    rows = list(csv.DictReader(path.open()))
    sim = carom.Simulation("galton", "cpu")
    sim.step(30)
    metrics = sim.metrics
    assert list(metrics) == list(rows[0])
    for name, column in metrics.items():
        if name != "wall_seconds":
            assert column.tolist() == [float(row[name]) for row in rows], name
    assert metrics["step"].dtype == np.int64 and metrics["time"].dtype == np.float64


def test_metrics_make_a_table_of_pandas(sim: carom.Simulation) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(sim.metrics)
    assert table.shape == (3, 34) and table["step"].tolist() == [1, 2, 3]
    assert dict(sim.report)["kinetic_energy"] == table["kinetic_energy"].iloc[-1]
    few = gas(metrics_every=2)
    few.step(5)
    assert few.metrics["step"].tolist() == [2, 4]


def test_run_takes_the_steps_of_the_scene_a_number_or_a_time() -> None:
    sim = carom.Simulation(carom.Scene.new(dt=0.01, steps=7).spheres([[0, 0, 0]]), "cpu")
    assert sim.run().step == 7 and sim.run().step == 7
    assert sim.run(3).step == 10
    sim.run(until=0.25)
    assert sim.steps == 25 and sim.time == pytest.approx(0.25)
    assert sim.run(until=0.1).step == 25


@pytest.mark.parametrize(
    ("dt", "until", "steps"),
    [
        (1 / 60, 10.0, 600),
        (0.016666667, 10.0, 600),
        (0.016666666, 10.0, 600),
        (0.01, 0.071, 8),
        (0.01, 0.07000001, 7),
        (0.001, 1000.0, 1_000_000),
        (0.001, 0.0001, 1),
        (0.01, 0.0, 0),
        (0.01, -1.0, 0),
    ],
)
def test_until_is_rounded_up_but_not_for_a_millionth(dt: float, until: float, steps: int) -> None:
    sim = carom.Simulation(carom.Scene.new(dt=dt), "cpu")
    assert sim._steps(None, until) == steps
    if steps < 100:
        assert sim.run(until=until).step == steps and sim.run(until=until).step == steps


def test_a_callback_sees_every_block_and_ends_the_run() -> None:
    sim, seen = gas(), []
    sim.run(10, callback=lambda s: seen.append((s.steps, s.positions.shape)), every=4)
    assert seen == [(4, (300, 3)), (8, (300, 3)), (10, (300, 3))]
    sim.run(10, callback=lambda s: s.steps < 12)
    assert sim.steps == 12
    # A comparison of NumPy is no `False` of Python; a zero and None do not end a run.
    other = gas()
    other.run(10, callback=lambda s: s.positions[:, 2].max() < -1e9)
    assert other.steps == 1
    other.run(3, callback=lambda s: s.positions[:, 2].max() > -1e9)
    other.run(3, callback=lambda s: None)
    other.run(3, callback=lambda s: 0)
    assert other.steps == 10
    with pytest.raises(ZeroDivisionError):
        sim.run(5, callback=lambda s: 1 // 0)
    assert sim.steps == 13
    whole = gas()
    whole.step(13)
    assert whole.state_hash == sim.state_hash


def test_progress_is_shown_by_tqdm(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    sim = gas()
    sim.run(20, progress=True)
    assert "20/20" in capsys.readouterr().err


def test_ctrl_c_stops_between_two_steps() -> None:
    sim = gas(20_000)
    timer = threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sim.run(100_000)
    assert time.monotonic() - start < 5 and 0 < sim.steps < 100_000
    assert len(sim.metrics["step"]) == sim.steps
    # The state is that after a whole step, and the run goes on.
    taken = sim.steps
    twin = gas(20_000)
    twin.step(taken + 1)
    sim.step()
    assert sim.state_hash == twin.state_hash


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_a_checkpoint_goes_on_to_the_bit(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "a.safetensors"
    sim = carom.Simulation("heap", backend, set={"spheres.0.lattice.count": [6, 6, 6]})
    sim.step(10)
    sim.checkpoint(path)
    sim.step(10)
    resumed = carom.Simulation.resume(path)
    assert (resumed.steps, resumed.backend, resumed.name) == (10, backend, "heap")
    with pytest.raises(ValueError, match="no default length"):
        resumed.run()
    resumed.step(10)
    assert resumed.state_hash == sim.state_hash


def test_the_command_resumes_a_checkpoint(command: Callable[..., Any], sim: carom.Simulation, tmp_path: Path) -> None:
    sim.checkpoint(tmp_path / "a.safetensors", end=20)
    sim.step(17)
    assert command("run", "--resume", str(tmp_path / "a.safetensors"))["state_hash"] == sim.state_hash


def test_several_simulations_step_at_once_in_threads() -> None:
    sims = [gas(3000, seed=seed) for seed in (1, 2, 1, 2)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda sim: sim.step(20), sims))
    hashes = [sim.state_hash for sim in sims]
    assert hashes[0] == hashes[2] != hashes[1] == hashes[3]


def test_one_simulation_shared_by_threads_neither_blocks_nor_panics() -> None:
    sim, refused = gas(3000), []

    def use(k: int) -> None:
        done = 0
        while done < 30:
            try:
                sim.step(1) if k % 2 else sim.positions
                done += 1
            except carom.errors.BusyError:
                refused.append(k)
                time.sleep(0.001 * (1 + k))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    twin = gas(3000)
    twin.step(60)
    assert sim.state_hash == twin.state_hash and sim.steps == 60 and refused


def test_a_summary_has_the_figures_of_json(command: Callable[..., Any]) -> None:
    sim = carom.Simulation("gas", "cpu", set=SMALL)
    sim.step(12)
    record = command("run", "gas", "--backend", "cpu", "--steps", "12", "--set", "spheres.0.random.count=2000")
    for name, value in sim.summary.items():
        if name in record and name != "wall_seconds":
            assert value == record[name], name
    assert sim.summary["energy_error"] is not None


@pytest.mark.long
def test_step_costs_less_than_two_percent_more_than_the_library() -> None:
    sim = gas(10_000)
    sim.step(50)
    shares = []
    # The library's own clock runs only while it computes; the rest of the time is the package's.
    for _ in range(200):
        start = time.perf_counter()
        report = sim.step(1)
        shares.append((time.perf_counter() - start) / report.wall_seconds - 1)
    share = float(np.median(shares))
    print(f"overhead of step(1) at 10,000 spheres: {100 * share:.2f}%")
    assert share < 0.02


@pytest.mark.long
def test_positions_of_a_million_spheres_take_less_than_20_ms() -> None:
    sim = carom.Simulation("gas", "cpu", set={"spheres.0.random.count": 1_000_000})
    times = []
    for _ in range(9):
        sim.step()
        start = time.perf_counter()
        positions = sim.positions
        times.append(time.perf_counter() - start)
    print(f"positions of a million spheres: {1e3 * float(np.median(times)):.1f} ms (all: {[f'{1e3 * t:.1f}' for t in times]})")
    assert positions.shape == (1_000_000, 3)
    assert np.median(times) < 0.020
