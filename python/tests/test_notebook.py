"""Pictures, films and the HTML of scenes and reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import carom


def test_a_picture_is_a_png_that_shows_the_spheres(sim: carom.Simulation, tmp_path: Path) -> None:
    picture = sim.picture(size=(160, 120), camera="iso", color="id", hide=["legend"])
    assert picture._repr_png_().startswith(b"\x89PNG\r\n") and picture.size == (160, 120)
    assert picture.pixels.shape == (120, 160, 4) and picture.pixels.dtype == np.uint8
    assert len(np.unique(picture.pixels.reshape(-1, 4), axis=0)) > 500
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == picture._repr_png_()
    assert not np.array_equal(picture.pixels, sim.picture(size=(160, 120), camera="top").pixels)


def test_a_film_is_a_gif_of_the_steps_that_follow(sim: carom.Simulation, tmp_path: Path) -> None:
    film = sim.film(tmp_path / "a.gif", frames=3, steps_per_frame=2, size=(96, 64), camera="orbit:90")
    assert sim.steps == 3 + 2 * 2
    assert film.data.startswith(b"GIF89a") and (tmp_path / "a.gif").read_bytes() == film.data
    assert "data:image/gif;base64," in film._repr_html_() and film.frames == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]
    image = pytest.importorskip("PIL.Image").open(tmp_path / "a.gif")
    assert (image.n_frames, image.size) == (3, (96, 64))


def test_an_mp4_needs_ffmpeg(sim: carom.Simulation, tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        with pytest.raises(carom.errors.UnsupportedError, match="ffmpeg"):
            sim.film(tmp_path / "a.mp4", frames=2)
    else:
        film = sim.film(tmp_path / "a.mp4", frames=2, size=(64, 64))
        assert b"ftyp" in film.data[:16] and "video/mp4" in film._repr_html_()


def test_scenes_and_reports_have_html(sim: carom.Simulation) -> None:
    html = carom.Scene("gas", set={"world.dt": 0.002})._repr_html_()
    assert "<table>" in html and "world.dt = 0.002" in html and "volume_fraction" in html
    report = sim.report
    assert f"<td>{report.pair_impacts}</td>" in report._repr_html_() and "step 3" in report._repr_html_()
    assert "step 3" in repr(report) and set(dict(report)) <= set(dir(report))
    with pytest.raises(AttributeError, match="no figure"):
        report.heat  # noqa: B018
