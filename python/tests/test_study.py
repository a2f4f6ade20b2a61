"""Studies: the same table from one worker, four workers, and workers that are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import carom

GRID = {"bounds.x": ["periodic", "wall"], "seed": [1, 2, 3]}
SCENE = carom.Scene("gas", set={"spheres.0.random.count": 200})


def measure(sim: carom.Simulation) -> dict[str, Any]:
    # Metrics of every step, the sums of the whole run, and the state to the bit.
    impacts = sim.metrics["pair_impacts"]
    return {
        "impacts": impacts.sum(),
        "rows": len(impacts),
        "z": sim.summary["compressibility"],
        "hash": sim.state_hash,
    }


def run(client: Any = None, steps: int = 30, **options: Any) -> list[dict[str, Any]]:
    return carom.study(SCENE, GRID, measure, client, steps=steps, **options)


def test_rows_are_in_the_order_of_the_grid() -> None:
    rows = run()
    assert [(r["run"], r["bounds.x"], r["seed"]) for r in rows] == [
        (k, side, seed) for k, (side, seed) in enumerate((b, s) for b in GRID["bounds.x"] for s in GRID["seed"])
    ]
    assert all(row["rows"] == 30 for row in rows) and len({row["hash"] for row in rows}) == 6
    # With a wall the pressure is not that of the virial.
    assert rows[0]["z"] > 1 and rows[3]["z"] is None
    single = carom.Simulation(SCENE, "cpu", set={"bounds.x": "wall"}, seed=2)
    single.step(30)
    assert rows[4]["hash"] == single.state_hash


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_give_the_table_of_a_serial_run(pool: Any) -> None:
    options = {"mp_context": multiprocessing.get_context("spawn")} if pool is ProcessPoolExecutor else {}
    with pool(2, **options) as client:
        assert run(client) == run()


def test_a_study_goes_on_in_its_folder(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    calls = []

    def failing(sim: carom.Simulation) -> dict[str, Any]:
        calls.append(sim.steps)
        if len(calls) == 3:
            raise Stop
        return measure(sim)

    with pytest.raises(Stop):
        carom.study(SCENE, GRID, failing, steps=30, folder=tmp_path, checkpoint_every=8)
    assert sorted(path.name for path in (tmp_path / "run-00000").iterdir()) == ["row.json", "starts.txt"]
    left = sorted(path.name for path in (tmp_path / "run-00002").glob("checkpoint*"))
    assert left == ["checkpoint-0000000016.safetensors", "checkpoint-0000000024.safetensors"]
    # The last checkpoint is damaged: the one before will do.
    damaged = tmp_path / "run-00002" / left[1]
    damaged.write_bytes(damaged.read_bytes()[:-20])
    rows = run(folder=tmp_path, checkpoint_every=8)
    assert rows == run()
    starts = [(tmp_path / f"run-{k:05}" / "starts.txt").read_text().splitlines() for k in range(6)]
    assert [len(lines) for lines in starts] == [1, 1, 2, 1, 1, 1]
    assert starts[2][1].startswith("step 16 of 30 ")
    with pytest.raises(carom.errors.InvalidError, match="another study"):
        run(folder=tmp_path, steps=40)


@pytest.mark.parametrize(
    ("grid", "result", "text"),
    [
        ({"world.dtt": [1]}, {}, "did you mean `dt`"),
        ({"seed": [1]}, {"seed": 2}, "'seed', which is a column"),
        ({"seed": [1]}, {"a": object()}, "a is <object"),
    ],
)
def test_bad_studies_name_what_is_wrong(grid: Any, result: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        carom.study(SCENE, grid, lambda sim: result, steps=1)
    with pytest.raises(carom.errors.InvalidError, match="client is 'local'"):
        carom.study(SCENE, {"seed": [1]}, measure, "local", steps=1)


def test_a_pool_that_forks_is_refused(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as client:
        with pytest.raises(carom.errors.InvalidError, match=r'mp_context=multiprocessing.get_context\("spawn"\)'):
            run(client, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_run_raises_its_error_after_the_running_ones_have_ended(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    under_way, calls = threading.Event(), []

    def failing(sim: carom.Simulation) -> dict[str, Any]:
        calls.append(sim.seed)
        if sim.seed == 1:
            assert under_way.wait(60)
            raise Stop
        under_way.set()
        time.sleep(0.5)
        return {}

    with ThreadPoolExecutor(2) as client:
        for folder in (tmp_path, None):
            calls.clear()
            under_way.clear()
            with pytest.raises(Stop):
                carom.study(SCENE, {"seed": list(range(1, 9))}, failing, client, steps=1, folder=folder)
            # Those that had not begun are cancelled, but for one that may begin between the error and the cancellation.
            seen = sorted(calls)
            assert 2 in seen and len(seen) <= 3
            if folder is not None:
                rows = [tmp_path / f"run-{seed - 1:05}" / "row.json" for seed in seen[1:]]
                assert all(row.exists() for row in rows)
            time.sleep(0.1)
            assert sorted(calls) == seen


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "missing column", "short column"])
def test_damaged_metrics_fall_back_to_the_checkpoint_before(tmp_path: Path, damage: str) -> None:
    grid = {"seed": [1]}

    def failing(sim: carom.Simulation) -> dict[str, Any]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        carom.study(SCENE, grid, failing, steps=30, folder=tmp_path, checkpoint_every=8)
    path = tmp_path / "run-00000" / "metrics-0000000024.npz"
    data = bytearray(path.read_bytes())
    with np.load(path) as file:
        columns = dict(file)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(data[:-100])
    elif damage == "flipped":
        # In the values of the first column, which the checksum of the archive covers.
        data[200] ^= 1
        path.write_bytes(data)
    elif damage == "text":
        path.write_bytes(b"no archive")
    elif damage == "missing column":
        del columns["pair_impacts"]
        np.savez(path, **columns)
    else:
        columns["pair_impacts"] = columns["pair_impacts"][:-1]
        np.savez(path, **columns)
    rows = carom.study(SCENE, grid, measure, steps=30, folder=tmp_path, checkpoint_every=8)
    assert rows == carom.study(SCENE, grid, measure, steps=30)
    starts = (tmp_path / "run-00000" / "starts.txt").read_text().splitlines()
    assert starts[-1].startswith("step 16 of 30 ")
    # No temporary file stays.
    assert sorted(p.name for p in (tmp_path / "run-00000").iterdir()) == ["row.json", "starts.txt"]


def test_the_length_of_a_study_is_checked_and_rounded_as_that_of_a_run() -> None:
    grid = {"seed": [1]}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"steps": -3}, "-3 steps; expected 0"),
        ({"steps": 3, "until": 1.0}, "steps or until, not both"),
        ({"until": float("nan")}, "until is nan"),
    ]
    for options, text in cases:
        with pytest.raises(carom.errors.InvalidError, match=text):
            carom.study(SCENE, grid, measure, **options)
    scene = carom.Scene.new(dt=0.016666667).spheres([[0, 0, 0]])
    for until, steps in [(0.1, 6), (0.101, 7), (0.0, 0)]:
        (row,) = carom.study(scene, grid, lambda sim: {"steps": sim.steps}, until=until)
        assert row["steps"] == steps


def dask(workers: int) -> Any:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    return cluster, distributed.Client(cluster)


@pytest.mark.long
def test_one_and_four_workers_of_dask_give_the_same_table() -> None:
    tables = [run()]
    for workers in (1, 4):
        cluster, client = dask(workers)
        with cluster, client:
            tables.append(run(client))
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.long
def test_a_killed_worker_costs_its_run_since_the_last_checkpoint(tmp_path: Path) -> None:
    grid = {"seed": list(range(1, 13))}
    scene = carom.Scene("gas", set={"spheres.0.random.count": 4000})
    options: dict[str, Any] = {"steps": 300, "checkpoint_every": 20}
    serial = carom.study(scene, grid, measure, **options)
    cluster, client = dask(2)
    killed: list[int] = []

    def kill() -> None:
        # In the middle of the study: three runs are done, and a fourth has written a checkpoint.
        while True:
            done = len(list(tmp_path.glob("run-*/row.json")))
            if done >= 3 and (running := list(tmp_path.glob("run-*/checkpoint-00000000[4-9]*"))):
                pid = int((running[0].parent / "starts.txt").read_text().split()[-1])
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
            time.sleep(0.005)

    with cluster, client:
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        rows = carom.study(scene, grid, measure, client, folder=tmp_path, **options)
        thread.join(5)
    assert len(killed) == 1 and len(rows) == 12
    assert rows == serial
    starts = {path.parent.name: path.read_text().splitlines() for path in tmp_path.glob("run-*/starts.txt")}
    again = {name: lines for name, lines in starts.items() if len(lines) > 1}
    assert len(again) >= 1, starts
    # The interrupted run went on from a checkpoint, not from its start.
    resumed = [lines for lines in again.values() if lines[0].endswith(f"process {killed[0]}") and int(lines[1].split()[1]) > 0]
    assert resumed, again
