"""The page docs/api.md can be run, and names every function."""

import json
import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import penstock
import penstock.api
from penstock.api.results import Tables
from tests.test_documentation import ROOT, code


def test_the_page_can_be_run(demo: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"  # a file, as the source of its policy must be found
    script.write_text("\n".join(code("docs/api.md", "python")))
    (tmp_path / "demo.json").write_bytes(demo.read_bytes())
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (first,) = code("docs/api.md", "text")
    assert done.stdout.startswith(first)
    for made in ("comparison.png", "pressure.csv", "pressure.svg", "pressure/policies/newest_first.py"):
        assert (tmp_path / made).is_file()


PAGE = (ROOT / "docs/api.md").read_text(encoding="utf-8")


def test_the_page_names_every_function_and_drawing() -> None:
    functions = [name for name in penstock.__all__ if name.islower() and not name.startswith("_") and name != "plot"]
    assert not [name for name in functions if not re.search(rf"`{name}\(", PAGE)]
    drawings = PAGE.partition("## Drawings")[2].partition("\n## ")[0]
    assert not [name for name in penstock.plot.__all__ if f"`{name}(result)`" not in drawings]


def test_the_page_names_every_result() -> None:
    for module in pkgutil.iter_modules(penstock.api.__path__):
        import_module(f"penstock.api.{module.name}")
    results = {kind.__name__ for kind in Tables.__subclasses__() if kind.__module__.startswith("penstock.api.")}
    assert set(re.findall(r"^\| `(\w+)`[^|]* \| `", PAGE, re.MULTILINE)) >= results


@pytest.mark.parametrize("function", ["machine", "groups", "advise", "simulate", "bounds", "pack", "buffer"])
def test_every_result_is_tables_and_the_page_names_them(function: str) -> None:
    chain = [("work", 3000.0), ("write", 600.0)]
    jobs = tuple(penstock.Application.of(name, chain, nodes=1, recorded=(0.0, 3600.0), user=name) for name in "ab")
    result = getattr(penstock, function)(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=2), jobs))
    json.dumps(result.to_dict(), allow_nan=False)
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{type(result).__name__}` |"))
    for name, rows in result.tables().items():
        assert f"`{name}`" in row
        assert len(result.to_pandas(name)) == len(rows)
    shown = result._repr_html_()
    assert shown.startswith("<table><caption>")
    assert shown.count("<tr>") > 1
