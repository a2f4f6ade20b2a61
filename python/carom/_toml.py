"""TOML texts of scenes and overrides, from the values of Python and NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from .errors import SceneError


def plain(value: Any, place: str = "the scene") -> Any:
    """The value in types that TOML has."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry, f"{place}.{key}") for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry, f"{place}[{k}]") for k, entry in enumerate(value)]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), place)
    if isinstance(value, np.generic):
        return plain(value.item(), place)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (bool, int, float, str)):
        return value
    raise SceneError(f"{place} is {value!r}; expected a number, a text, a list or a dict")


def document(data: Mapping[str, Any]) -> str:
    """The TOML text of a dict."""
    return tomli_w.dumps(plain(data))


def override(key: str, value: Any) -> str:
    """The TOML text that sets one value, such as ``world.dt = 0.001``."""
    value = plain(value, key)
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, dict) for v in value)):
        for part in reversed(key.split(".")):
            value = {part: value}
        return tomli_w.dumps(value).strip()
    text = tomli_w.dumps({"value": value}).strip()
    return f"{key} = {text.removeprefix('value = ')}"
