"""What the page says of the client is so."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import penstock.live.client
from penstock.live.client import Job
from penstock.live.protocol import Inform, Release
from tests.live.client.scripted import Scripted

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/client.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ELSEWHERE = ("h5py", "torch", "zarr")
"""Libraries of recipes that are functions, which the tests below call."""
RUN = [program for program in PROGRAMS if not any(f"import {library}" in program for library in ELSEWHERE)]
VOLUMES = [[5e7, 5e7], [1e6], [4e6], [8e7], 4 * [2e7]]


@pytest.mark.parametrize("number", range(5))
def test_the_programs_run(
    server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    assert len(RUN) == 5
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_SOCKET", server.address)
    exec(RUN[number], {})
    assert [inform.volume for inform in server.of(Inform)] == VOLUMES[number]
    assert [release.moved for release in server.of(Release)] == VOLUMES[number]
    assert caplog.records == []


def test_what_the_example_of_levels_says_follows(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SOCKET", server.address)
    exec(RUN[4], {})
    assert [(inform.rounds, inform.follows) for inform in server.of(Inform)] == [(16, 6e7), (16, 4e7), (16, 2e7), (16, 0.0)]


def recipe(library: str) -> dict[str, Any]:
    """What the recipe for this library defines, by name."""
    (program,) = [program for program in PROGRAMS if f"import {library}" in program]
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def test_the_recipe_for_h5py_saves_what_it_tells(server: Scripted, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fields = {"t": np.arange(500.0).reshape(5, 100), "p": np.ones((5, 100))}
    with Job("a", address=server.address) as job:
        recipe("h5py")["save"](job, tmp_path / "out.h5", fields)
    with h5py.File(tmp_path / "out.h5") as file:
        assert {name: file[name][:].tobytes() for name in file} == {name: field.tobytes() for name, field in fields.items()}
    assert [(inform.volume, inform.rounds) for inform in server.of(Inform)] == [(8000.0, 2)]
    assert [release.moved for release in server.of(Release)] == [8000.0]
    assert caplog.records == []


class Anything:
    """Stands for a library: whatever is called on it, it writes down in `calls` and returns one of its kind."""

    def __init__(self, calls: list[str], name: str = "") -> None:
        self._calls, self._name = calls, name

    def __getattr__(self, name: str) -> "Anything":
        return Anything(self._calls, name)

    def __call__(self, *_: object, **__: object) -> "Anything":
        self._calls.append(self._name)
        return self

    def __enter__(self) -> "Anything":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __setitem__(self, *_: object) -> None:
        self._calls.append("set")


@pytest.mark.parametrize(
    ("library", "function", "calls", "moved"),
    [
        ("torch", "checkpoint", ["save"], 8000.0),
        ("zarr", "store", ["open", "set", "set", "set"], 4000.0),
    ],
)
def test_the_recipes_of_other_libraries(
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    library: str,
    function: str,
    calls: list[str],
    moved: float,
) -> None:
    """Their steps, with something in the place of the library: what they announce is what they tell they have moved."""
    field = np.zeros((5, 100))
    heard: list[str] = []
    monkeypatch.setitem(sys.modules, library, Anything(heard))  # type: ignore[arg-type]
    names = recipe(library)
    tensor = SimpleNamespace(numel=lambda: 500, element_size=lambda: 8)
    with Job("a", address=server.address) as job:
        if library == "torch":
            names[function](job, SimpleNamespace(state_dict=lambda: {"a": tensor, "b": tensor}), "out")
        else:
            names[function](job, "out", field, 2)
    assert heard == calls
    assert [release.moved for release in server.of(Release)] == [moved]
    assert [inform.volume for inform in server.of(Inform)] == [moved]
    assert caplog.records == []


def test_every_module_is_in_the_reference() -> None:
    reference = (ROOT / "docs/reference/client.md").read_text(encoding="utf-8")
    modules = {path.stem for path in Path(penstock.live.client.__file__).parent.glob("[a-z]*.py")}
    assert set(re.findall(r"::: penstock\.live\.client\.(\w+)", reference)) == modules
