"""carom collides hard spheres exactly: grains, marbles and hard-sphere gases, as NumPy arrays.

>>> import carom
>>> sim = carom.Simulation("gas", set={"spheres.0.random.count": 1000})
>>> report = sim.step(10)
>>> sim.positions.shape
(1000, 3)
"""

import os as _os
import sys as _sys

# A Mesa layer of the Vulkan loader would ask an absent display for its adapter, and the Wayland library would print errors.
if _sys.platform == "linux" and not {"XDG_RUNTIME_DIR", "MESA_VK_DEVICE_SELECT"} & _os.environ.keys():
    _os.environ.setdefault("NODEVICE_SELECT", "1")

from . import errors
from ._carom import Report, __version__, builtin_scenes
from .errors import CaromError
from .notebook import Film, Picture
from .scene import Scene
from .simulation import Simulation
from .study import study

__all__ = [
    "CaromError",
    "Film",
    "Picture",
    "Report",
    "Scene",
    "Simulation",
    "__version__",
    "builtin_scenes",
    "errors",
    "study",
]
