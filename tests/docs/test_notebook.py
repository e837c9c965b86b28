"""The notebook runs in a real kernel, and prints what is stored in it."""

from __future__ import annotations

import copy
import os
import re
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.docs.consoles import ROOT, UPDATING

NOTEBOOK = ROOT / "docs/tutorials/notebook.ipynb"


def shown(notebook: Any) -> list[list[str]]:
    """What each cell shows; of a plot only that there is one, since its pixels depend on fonts."""
    return [[_text(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return "a picture"
    return _rows(data["text/html"]) if "text/html" in data else output.get("text") or data["text/plain"]


def _rows(html: str) -> str:
    """The rows of a table without the time that they took."""
    heading, *rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    kept = [place for place, name in enumerate(heading) if name != "seconds"]
    return "\n".join(" ".join(row[place] for place in kept) for row in [heading, *rows])


def tidy(notebook: Any) -> None:
    """Drop what differs from run to run: dates, words on compiling, and the texts of what is shown as a table."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for data in (output.data for output in cell.outputs if "data" in output):
                if "text/html" in data:
                    data.pop("text/plain", None)


def test_the_notebook_shows_what_it_says(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = copy.deepcopy(stored)
    NotebookClient(fresh, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    tidy(fresh)
    if UPDATING:
        nbformat.write(fresh, NOTEBOOK)
    else:
        assert shown(fresh) == shown(stored)
