"""The notebook runs in a real kernel, and prints what is stored in it."""

from __future__ import annotations

import copy
import os
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.docs.consoles import ROOT, UPDATING

NOTEBOOK = ROOT / "docs/tutorials/notebook.ipynb"


def shown(notebook: Any) -> list[list[str]]:
    """The text that each cell shows; of a plot only that there is one, since its pixels depend on fonts."""
    return [
        [
            "a picture" if "image/png" in output.get("data", {}) else output.get("text") or output["data"]["text/plain"]
            for output in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_the_notebook_shows_what_it_says(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    stored = nbformat.read(NOTEBOOK, as_version=4)
    fresh = copy.deepcopy(stored)
    NotebookClient(fresh, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell in fresh.cells:  # what was compiled for the first time is said on standard error
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    if UPDATING:
        nbformat.write(fresh, NOTEBOOK)
    else:
        assert shown(fresh) == shown(stored)
