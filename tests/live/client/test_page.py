"""What the page says of the client is so."""

import re
from pathlib import Path

import pytest

import penstock.live.client
from penstock.live.protocol import Inform, Release
from tests.live.client.scripted import Scripted

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/client.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
VOLUMES = [[5e7, 5e7], [1e6], [8e7]]


@pytest.mark.parametrize("number", range(3))
def test_the_programs_run(server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    assert len(PROGRAMS) == 3
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_SOCKET", server.address)
    exec(PROGRAMS[number], {})
    assert [inform.volume for inform in server.of(Inform)] == VOLUMES[number]
    assert [release.moved for release in server.of(Release)] == VOLUMES[number]


def test_every_module_is_in_the_reference() -> None:
    reference = (ROOT / "docs/reference/client.md").read_text(encoding="utf-8")
    modules = {path.stem for path in Path(penstock.live.client.__file__).parent.glob("[a-z]*.py")}
    assert set(re.findall(r"::: penstock\.live\.client\.(\w+)", reference)) == modules
