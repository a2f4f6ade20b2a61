"""Bad input: an exception that names it, and nothing changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import gas

import carom
from carom import errors

ONES = np.ones((300, 3))
NAN = np.where(np.arange(900).reshape(300, 3) == 22, np.nan, 0.5)

BAD: list[tuple[str, Callable[[carom.Simulation], Any], type[Exception], str]] = [
    ("rows", lambda s: setattr(s, "positions", ONES[:5]), errors.InvalidError, r"positions has the shape \(5, 3\); expected \(300, 3\)"),
    ("columns", lambda s: setattr(s, "velocities", ONES[:, :2]), errors.InvalidError, r"velocities has the shape \(300, 2\)"),
    ("axes", lambda s: setattr(s, "spins", ONES[0]), errors.InvalidError, r"spins has the shape \(3,\)"),
    ("matrix", lambda s: setattr(s, "radii", ONES), errors.InvalidError, r"radii has the shape \(300, 3\); expected \(300,\)"),
    ("ragged", lambda s: setattr(s, "positions", [[1, 2], [3]]), errors.InvalidError, "positions is not an array"),
    ("complex", lambda s: setattr(s, "positions", ONES * 1j), TypeError, "positions has the dtype complex128"),
    ("text", lambda s: setattr(s, "masses", ["1"] * 300), TypeError, "masses has the dtype <U1"),
    ("objects", lambda s: setattr(s, "masses", [None] * 300), TypeError, "masses has the dtype object"),
    ("bool", lambda s: setattr(s, "masses", [True] * 300), TypeError, "masses has the dtype bool"),
    ("nan", lambda s: setattr(s, "positions", NAN), errors.InvalidError, r"positions\[7, 1\] is NaN"),
    ("infinite", lambda s: setattr(s, "masses", np.full(300, np.inf)), errors.InvalidError, r"masses\[0\] is inf"),
    ("zero radius", lambda s: setattr(s, "radii", np.zeros(300)), errors.InvalidError, "radius"),
    ("negative mass", lambda s: setattr(s, "masses", np.full(300, -1.0)), errors.InvalidError, "mass"),
    ("overlap", lambda s: setattr(s, "positions", ONES), errors.InvalidError, "spheres 0 and 1 overlap"),
    ("zero dt", lambda s: setattr(s, "dt", 0.0), errors.InvalidError, "world.dt"),
    ("nan dt", lambda s: setattr(s, "dt", float("nan")), errors.InvalidError, "world.dt"),
    ("gravity", lambda s: setattr(s, "gravity", [0, 0]), errors.InvalidError, r"gravity has the shape \(2,\)"),
    ("periodic gravity", lambda s: setattr(s, "gravity", [0, 0, -1]), errors.InvalidError, "gravity"),
    ("ids", lambda s: setattr(s, "ids", np.arange(300)), AttributeError, "ids"),
    ("taken id", lambda s: s.add([0, 0, 0], id=3), errors.InvalidError, "id 3 is taken"),
    ("add overlap", lambda s: s.add(s.positions[3] + [0.1, 0, 0]), errors.InvalidError, "spheres 3 and 300 overlap"),
    ("add nan", lambda s: s.add([0, 0, float("nan")]), errors.InvalidError, r"position\[2\] is NaN"),
    ("add radius", lambda s: s.add([0, 0, 0], radius=-1), errors.InvalidError, "radius is -1"),
    ("add material", lambda s: s.add([0, 0, 0], material="gold"), errors.InvalidError, "no material \"gold\""),
    ("remove", lambda s: s.remove(4000), errors.NoSuchSphereError, "4000"),
    ("impulse", lambda s: s.apply_impulse(1, [0, 0, float("inf")]), errors.InvalidError, "impulse"),
    ("no sphere", lambda s: s.apply_impulse(999, [0, 0, 1]), errors.NoSuchSphereError, "999"),
    ("steps", lambda s: s.step(-1), errors.InvalidError, "-1 steps"),
    ("both", lambda s: s.run(3, until=4.0), errors.InvalidError, "not both"),
    ("until nan", lambda s: s.run(until=float("nan")), errors.InvalidError, "until is nan"),
    ("until inf", lambda s: s.run(until=float("inf")), errors.InvalidError, "until is inf"),
    ("every", lambda s: s.run(3, every=0), errors.InvalidError, "every is 0"),
    ("color", lambda s: s.picture(color="taste"), errors.InvalidError, "color: \"taste\" is none of speed"),
    ("camera", lambda s: s.picture(camera="side"), errors.InvalidError, "camera: expected scene, iso"),
    ("size", lambda s: s.picture(size=(0, 10)), errors.UnsupportedError, "0 x 10 pixels"),
    ("hide", lambda s: s.picture(hide=["sky"]), errors.InvalidError, "hide: \"sky\" is none of"),
    ("range", lambda s: s.picture(value_range=(2, 1)), errors.InvalidError, "value_range"),
    ("film ending", lambda s: s.film("a.avi", frames=2), errors.InvalidError, "a.avi"),
    ("frames", lambda s: s.film(frames=0), errors.InvalidError, "0 frames"),
    ("fps", lambda s: s.film(frames=2, fps=0), errors.InvalidError, "fps is 0"),
    ("file ending", lambda s: s.write("/nonexistent/a.csv"), OSError, "/nonexistent/a.csv"),
    ("folder", lambda s: s.checkpoint("/nonexistent/a"), OSError, "/nonexistent/a"),
]


@pytest.mark.parametrize(("act", "error", "text"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input_raises_and_changes_nothing(
    sim: carom.Simulation, act: Callable[[carom.Simulation], Any], error: type[Exception], text: str
) -> None:
    twin = gas()
    twin.step(3)
    before = sim.state_hash
    with pytest.raises(error, match=text):
        act(sim)
    assert (sim.state_hash, sim.steps, len(sim.metrics["step"])) == (before, 3, 3)
    assert np.all(sim.radii == 0.5) and sim.dt == twin.dt and sim.gravity == (0, 0, 0)
    # A refused edit leaves the engine as it was, too.
    sim.step(5)
    twin.step(5)
    assert sim.state_hash == twin.state_hash


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"backend": "tpu"}, 'backend "tpu" is none of auto, cpu, gpu, exact'),
        ({"on_loss": "cry"}, 'on_loss "cry"'),
        ({"set": {"world.dtt": 1}}, "did you mean `dt`"),
        ({"set": {"world.dt": "soon"}}, "world.dt"),
        ({"set": {"world.dt": object()}}, "world.dt is <object"),
        ({"set": {"spheres.5.temperature": 1}}, "no entry"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_options_name_themselves(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        carom.Simulation("gas", **options)


def test_an_unknown_adapter_is_named() -> None:
    with pytest.raises(errors.NoAdapterError, match="Voodoo2"):
        carom.Simulation("gas", "gpu", adapter="Voodoo2")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: carom.Scene("gass"), "did you mean `gas`"),
        (lambda: carom.Scene("absent.toml"), "absent.toml"),
        (lambda: carom.Scene.builtin("pub"), "no built-in scene is called 'pub'"),
        (lambda: carom.Scene({"world": {"dt": -1}}), "world.dt is -1"),
        (lambda: carom.Scene({}), "dt"),
        (lambda: carom.Scene({"world": {"dt": None}}), "world.dt is None"),
        (lambda: carom.Scene.from_toml("[world]\ndt = x"), "scene:2"),
        (lambda: carom.Scene("gas").random(5), "Scene.new"),
        (lambda: carom.Scene.new(dt=1).override(seed=2).random(5), "add spheres before `override`"),
        (lambda: carom.Scene({"world": {"dt": 1}}, set={"world.steps": 5}).box([1, 1, 1]), "add bounds before `override`, `set`"),
        (lambda: carom.Scene.new(dt=1).spheres([[1, 2]]), r"positions has the shape \(1, 2\)"),
        (lambda: carom.Scene.new(dt=1).spheres([[1, 2, 3]], radii=[1, 2]), r"radii has the shape \(2,\)"),
        (lambda: carom.Scene.new(dt=1).spheres([[1, 2, float("nan")]]), "position has the z component NaN"),
    ],
)
def test_bad_scenes_name_what_is_wrong(make: Callable[[], carom.Scene], text: str) -> None:
    with pytest.raises(errors.SceneError, match=text):
        make()


def test_a_closed_simulation_says_so() -> None:
    with gas() as sim:
        assert not sim.closed
    assert sim.closed and repr(sim) == "<carom.Simulation, closed>"
    for act in (
        lambda: sim.step(), lambda: sim.positions, lambda: sim.report, lambda: sim.metrics, lambda: sim.contacts(),
        lambda: sim.run(2), lambda: sim.picture(), lambda: sim.to_ase(), lambda: setattr(sim, "masses", [1]),
        lambda: sim.checkpoint("a"), lambda: len(sim),
    ):  # fmt: skip
        with pytest.raises(errors.ClosedError, match="the simulation is closed"):
            act()
    sim.close()


def test_a_film_that_fails_leaves_no_file(sim: carom.Simulation, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidError):
        sim.film(tmp_path / "a.gif", frames=2, color="taste")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_checkpoint_is_refused(sim: carom.Simulation, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    sim.checkpoint(path)
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    with pytest.raises(errors.CheckpointError):
        carom.Simulation.resume(path)
    with pytest.raises(errors.CheckpointError, match="absent"):
        carom.Simulation.resume(tmp_path / "absent")


def test_a_busy_simulation_says_so_to_other_threads_and_does_not_block_them() -> None:
    sim = gas(20_000)
    thread = threading.Thread(target=lambda: sim.advance(40))
    refused = 0
    thread.start()
    while thread.is_alive():
        try:
            assert sim.steps in (0, 40)
        except errors.BusyError as error:
            assert "busy" in str(error)
            refused += 1
        time.sleep(0.001)
    thread.join()
    assert refused > 5, "the lock of the interpreter was not released"
    assert sim.steps == 40
