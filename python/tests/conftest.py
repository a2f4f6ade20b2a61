"""Options and fixtures of the tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carom

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the long tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="a long test: --long"))


def gas(count: int = 300, **options: Any) -> carom.Simulation:
    """A small gas on the backend cpu."""
    return carom.Simulation("gas", "cpu", set={"spheres.0.random.count": count}, threads=1, **options)


@pytest.fixture
def sim() -> carom.Simulation:
    made = gas()
    made.step(3)
    return made


@pytest.fixture
def command() -> Callable[..., dict[str, Any]]:
    """Runs the command `carom`, which tests/run.sh names in CAROM, with --json."""
    binary = os.environ.get("CAROM")
    if binary is None:
        pytest.skip("CAROM does not name the command; tests/python.sh does")

    def run(*arguments: str) -> dict[str, Any]:
        done = subprocess.run([binary, *arguments, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    return run
