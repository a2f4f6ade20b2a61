"""Studies: many runs of one scene, on this machine or on a cluster."""

from __future__ import annotations

import concurrent.futures
import hashlib
import itertools
import json
import os
import socket
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _toml
from .errors import CheckpointError, InvalidError
from .scene import Scene
from .simulation import Simulation, _bar, _length

Row = dict[str, Any]
Measure = Callable[[Simulation], Mapping[str, Any]]

# Checkpoints that stay: if a disk fills up while the last one is written, the one before is still there.
_KEPT = 2


def study(
    scene: Scene | str | os.PathLike[str] | Mapping[str, Any],
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    measure: Measure,
    client: Any = None,
    *,
    steps: int | None = None,
    until: float | None = None,
    backend: str = "cpu",
    threads: int = 1,
    folder: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    progress: bool = False,
) -> list[Row]:
    """Runs a scene once for every entry of a grid and returns a row for each run, in the order of the grid.

    Parameters
    ----------
    scene
        A :class:`Scene` or its argument.
    grid : mapping or sequence of mappings
        Values by their paths in the scene, as for ``Scene.override``; ``seed`` is short for ``world.seed``. A mapping of lists
        stands for all combinations, the last key varying fastest. A sequence lists the runs one by one.
    measure : callable
        ``measure(sim)`` is called at the end of each run and returns a dict of numbers, texts and lists.
    client : optional
        A ``dask.distributed.Client`` or a ``concurrent.futures.Executor``; without one the runs follow one another here.
        A ``ProcessPoolExecutor`` needs ``mp_context=multiprocessing.get_context("spawn")``.
    steps, until
        Length of each run (steps, or time, rounded up to a whole step as for ``Simulation.run``); default: that of the scene.
    backend, threads
        As for :class:`Simulation`. With one thread a run leaves the other cores to other runs.
    folder : path, optional
        Folder for checkpoints and finished rows, which all workers share. A study that is called again with the same folder
        goes on: finished runs are not repeated, and the others start from their last checkpoints. Default: a temporary folder of
        this machine.
    checkpoint_every : int, optional
        Steps between two checkpoints of a run; default: a tenth of the run. A run whose worker is lost goes on from the last
        one, to the bit.
    progress : bool
        Shows a bar of the runs where tqdm is installed.

    Returns
    -------
    list of dict
        ``run`` (the place in the grid), the values of the grid, and the results of ``measure``. ``pandas.DataFrame(rows)`` makes
        a table of it.
    """
    scene = scene if isinstance(scene, Scene) else Scene(scene)
    entries = _entries(grid)
    if checkpoint_every is not None and checkpoint_every < 1:
        raise InvalidError(f"checkpoint_every is {checkpoint_every}; expected at least 1")
    _check(client)
    # A worker of a Dask cluster may still write a file when the study has failed; the error of the study is what counts.
    with tempfile.TemporaryDirectory(prefix="carom-study-", ignore_cleanup_errors=True) as temporary:
        root = Path(folder if folder is not None else temporary).resolve()
        root.mkdir(parents=True, exist_ok=True)
        runs = []
        for index, entry in enumerate(entries):
            # Reports a wrong path or value before the first run.
            own = scene.override({_path(key): value for key, value in entry.items()})
            length = _length(steps, until, 0.0, own.dt)
            length = own.steps if length is None else length
            runs.append(
                _Run(
                    index=index,
                    scene=own,
                    values=entry,
                    steps=length,
                    backend=backend,
                    threads=threads,
                    folder=root / f"run-{index:05}",
                    every=checkpoint_every or max(length // 10, 1),
                    measure=measure,
                )
            )
        _claim(root, runs)
        return _map(runs, client, progress)


@dataclass(frozen=True)
class _Run:
    index: int
    scene: Scene
    values: Row
    steps: int
    backend: str
    threads: int
    folder: Path
    every: int
    measure: Measure

    def identity(self) -> list[Any]:
        return [self.scene.text, list(self.scene.overrides), self.steps, self.backend]


def _path(key: str) -> str:
    return "world.seed" if key == "seed" else key


def _entries(grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]) -> list[Row]:
    if isinstance(grid, Mapping):
        columns = [list(values) for values in grid.values()]
        entries = [dict(zip(grid, values)) for values in itertools.product(*columns)]
    else:
        entries = [dict(entry) for entry in grid]
    return [_toml.plain(entry, "grid") for entry in entries]


# Refuses a folder with the runs of another study.
def _claim(root: Path, runs: list[_Run]) -> None:
    text = json.dumps([run.identity() for run in runs])
    digest = hashlib.sha256(text.encode()).hexdigest()
    path = root / "study.json"
    if path.exists():
        if json.loads(path.read_text())["digest"] != digest:
            raise InvalidError(f"{root} holds another study (scene, grid, length or backend); choose another folder")
    else:
        _write(path, json.dumps({"digest": digest, "runs": len(runs)}).encode())


def _check(client: Any) -> None:
    if client is not None and not hasattr(client, "submit"):
        raise InvalidError(f"client is {client!r}; expected a dask.distributed.Client or an Executor")
    context = getattr(client, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        # A forked process lacks the threads of the engine and waits for them without end.
        raise InvalidError(
            "client forks its processes, which hang once this process has used the engine; "
            'make it with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))'
        )


def _map(runs: list[_Run], client: Any, progress: bool) -> list[Row]:
    bar = _bar(len(runs), "run") if progress else None
    tick = (lambda: bar.update(1)) if bar is not None else (lambda: None)
    futures: list[Any] = []
    try:
        if client is None:
            rows = []
            for run in runs:
                rows.append(_execute(run))
                tick()
            return rows
        if hasattr(client, "gather"):
            futures = client.map(_execute, runs, pure=False)
        else:
            for run in runs:
                futures.append(client.submit(_execute, run))
        if bar is not None:
            for future in futures:
                future.add_done_callback(lambda _: tick())
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            future.cancel()
        # Runs that are under way cannot be cancelled and write to the folder until they end.
        running = [f for f in futures if isinstance(f, concurrent.futures.Future) and not f.cancelled()]
        concurrent.futures.wait(running)
        raise
    finally:
        if bar is not None:
            bar.close()


# Takes a run from its last checkpoint to its end, on whatever machine this is.
def _execute(run: _Run) -> Row:
    finished = run.folder / "row.json"
    if finished.exists():
        return json.loads(finished.read_text())
    run.folder.mkdir(parents=True, exist_ok=True)
    with _start(run) as sim:
        with open(run.folder / "starts.txt", "a") as log:
            log.write(f"step {sim.steps} of {run.steps} on {socket.gethostname()}, process {os.getpid()}\n")
        while sim.steps < run.steps:
            sim.advance(min(run.every - sim.steps % run.every, run.steps - sim.steps))
            # The figures of the last step are not part of a checkpoint, so there is none at the end.
            if sim.steps < run.steps:
                _save(run, sim)
        # A figure that does not apply is None.
        found = run.measure(sim).items()
        measured = {key: None if value is None else _toml.plain(value, key) for key, value in found}
    taken = [key for key in measured if key in run.values or key == "run"]
    if taken:
        raise InvalidError(f"measure returns {taken[0]!r}, which is a column of the grid")
    row = {"run": run.index, **run.values, **measured}
    text = json.dumps(row)
    _write(finished, text.encode())
    for path in [*run.folder.glob("checkpoint-*"), *run.folder.glob("metrics-*")]:
        path.unlink(missing_ok=True)
    return json.loads(text)


def _start(run: _Run) -> Simulation:
    for checkpoint in sorted(run.folder.glob("checkpoint-*.safetensors"), reverse=True):
        metrics = checkpoint.with_name(checkpoint.name.replace("checkpoint", "metrics")).with_suffix(".npz")
        earlier = _load(metrics)
        if earlier is None:
            continue
        try:
            sim = Simulation.resume(checkpoint, run.backend, threads=run.threads)
        except (OSError, CheckpointError):
            # Removed by a worker that was thought lost, or damaged: the one before will do.
            continue
        try:
            sim.restore_metrics(earlier)
        except InvalidError:
            # A column is missing or too short.
            sim.close()
            continue
        return sim
    return Simulation(run.scene, run.backend, threads=run.threads)


# The arrays of a file; None if it is absent or damaged.
def _load(path: Path) -> dict[str, Any] | None:
    try:
        with np.load(path) as columns:
            return dict(columns)
    except (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
        # Damaged flags of the archive read as an encryption or a compression that zipfile lacks: a RuntimeError.
        return None


def _save(run: _Run, sim: Simulation) -> None:
    step = sim.steps
    metrics = run.folder / f"metrics-{step:010}.npz"
    columns: dict[str, Any] = dict(sim.metrics)
    with _replacing(metrics) as part:
        np.savez(part, **columns)
    # The checkpoint comes last: where it is, its metrics are too.
    sim.checkpoint(run.folder / f"checkpoint-{step:010}.safetensors", run.steps)
    for old in sorted(run.folder.glob("checkpoint-*.safetensors"))[:-_KEPT]:
        old.unlink(missing_ok=True)
        old.with_name(old.name.replace("checkpoint", "metrics")).with_suffix(".npz").unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with _replacing(path) as part:
        part.write_bytes(data)


# A path for the new content of a file, which replaces the old at the end. Workers on several machines share the folder, so
# the number of a process is no name of its own; a file of mkstemp could not be read by other users.
@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    part = path.with_name(f".{uuid.uuid4().hex}-{path.name}")
    try:
        yield part
        os.replace(part, path)
    finally:
        # Still there only if the writing failed.
        part.unlink(missing_ok=True)
