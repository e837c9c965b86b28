"""What the page says of MPI-IO is so."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/mpi.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_the_programs_run(mpi, tmp_path, number):
    assert len(PROGRAMS) == 2
    (tmp_path / "program.py").write_text(PROGRAMS[number])
    mpi(2, tmp_path / "program", folder=tmp_path, PENSTOCK_PATIENCE="0", PENSTOCK_SOCKET="/nowhere/socket").end()
    if number == 0:
        assert (tmp_path / "out.dat").read_bytes() == bytes(8_000_000) + b"\1" * 8_000_000
    else:
        assert (tmp_path / "steps.dat").read_bytes() == bytes(8_000_000)


def test_every_module_is_in_the_reference():
    reference = (ROOT / "docs/reference/mpi.md").read_text(encoding="utf-8")
    modules = {path.stem for path in (ROOT / "src/penstock/live/mpi").glob("[a-z]*.py")}
    assert set(re.findall(r"::: penstock\.live\.mpi\.(\w+)", reference)) == modules


def test_every_hint_has_its_line():
    from penstock.live.mpi.job_hints import PREFIX, Hints

    assert not [name for name in Hints.__dataclass_fields__ if f"\n| `{PREFIX}{name}` |" not in PAGE]
