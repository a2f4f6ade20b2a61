"""The snippet of the README runs as it stands, and the notebooks run to their ends."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "python" / "examples").glob("*.ipynb"))


def snippets(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)


def run(text: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_snippet_of_the_readme_runs_in_an_empty_folder(tmp_path: Path) -> None:
    (text,) = snippets(ROOT / "README.md")
    assert len(text.splitlines()) <= 15
    assert run(text, tmp_path).strip()


def test_the_snippets_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    texts = snippets(ROOT / "docs" / "python.md")
    assert len(texts) >= 4
    run("\n".join(texts), tmp_path)


def test_the_notebooks_were_found() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["equation_of_state", "hopper_flow"]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", []))
    print(printed)
    assert printed
