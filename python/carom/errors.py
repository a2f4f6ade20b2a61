"""Exceptions of carom. Each has the text of the library: what was found, where, and what to change."""


class CaromError(Exception):
    """Base of all exceptions of carom."""


class SceneError(CaromError, ValueError):
    """A scene that cannot be read; the text shows the line."""


class CheckpointError(CaromError, ValueError):
    """A checkpoint that cannot be read."""


class InvalidError(CaromError, ValueError):
    """An inconsistent system, or an argument out of range."""


class UnsupportedError(CaromError, ValueError):
    """The backend or this machine lacks a feature."""


class NoSuchSphereError(CaromError, LookupError):
    """No sphere has the id."""


class NonFiniteError(CaromError, ArithmeticError):
    """The state of a sphere is no longer finite."""


class CapacityError(CaromError, MemoryError):
    """The engine needs more than can be addressed or allocated."""


class NoProgressError(CaromError, RuntimeError):
    """The engine cannot take a further step."""


class NoAdapterError(CaromError, RuntimeError):
    """No adapter was found, or none that is capable enough."""


class DeviceLostError(CaromError, RuntimeError):
    """The device was lost or refused a command."""


class ClosedError(CaromError, RuntimeError):
    """The simulation or the film is closed."""


class BusyError(CaromError, RuntimeError):
    """Another thread uses the simulation."""
