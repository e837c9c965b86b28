"""The page docs/api.md can be run, and names every function."""

import os
import re
import subprocess
import sys
from pathlib import Path

import penstock
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


def test_the_page_names_every_function_and_drawing() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    functions = [name for name in penstock.__all__ if name.islower() and not name.startswith("_") and name != "plot"]
    assert not [name for name in (*functions, *penstock.plot.__all__) if not re.search(rf"`{name}\(", page)]
