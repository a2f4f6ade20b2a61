"""Pictures and films that notebooks show."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._carom import Image


class Picture:
    """A picture of a simulation, which a notebook shows."""

    def __init__(self, image: Image) -> None:
        self._image = image

    @property
    def size(self) -> tuple[int, int]:
        """Width and height (pixels)."""
        return self._image.size

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """Red, green, blue and 255 of every pixel: (height, width, 4), row by row from the top."""
        return self._image.pixels()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a PNG file."""
        Path(path).write_bytes(self._image.png())

    def _repr_png_(self) -> bytes:
        return self._image.png()

    def __repr__(self) -> str:
        width, height = self.size
        return f"<carom.Picture {width} x {height}>"


class Film:
    """A film of a simulation, which a notebook shows: a GIF or an MP4."""

    def __init__(self, path: Path, data: bytes, frames: int, size: tuple[int, int]) -> None:
        #: Path of the file; it may be gone if the film was made without a path.
        self.path = path
        #: The bytes of the file.
        self.data = data
        #: Number of frames.
        self.frames = frames
        #: Width and height (pixels).
        self.size = size

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the film to a file; the ending should be that of the film."""
        Path(path).write_bytes(self.data)

    def _repr_html_(self) -> str:
        text = base64.b64encode(self.data).decode()
        width, _ = self.size
        if self.path.suffix.lower() == ".mp4":
            return f'<video controls loop width="{width}" src="data:video/mp4;base64,{text}"></video>'
        return f'<img width="{width}" src="data:image/gif;base64,{text}">'

    def __repr__(self) -> str:
        width, height = self.size
        return f"<carom.Film {self.path.name}, {self.frames} frames of {width} x {height}>"
