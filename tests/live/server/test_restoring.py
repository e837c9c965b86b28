"""What a coordinator starts with: the B that was measured before, unless nothing was."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.live.core.measuring import UNLIMITED
from penstock.live.server.journal import Clock, Journal, JournalEntry, Present
from penstock.live.server.restoring import restore
from penstock.live.server.settings import AUTO
from tests.live.server.running import settings


@pytest.mark.parametrize(
    ("last", "first", "starts"),
    [(2e9, 0.0, 2e9), (2e9, 5e8, 2e9), (UNLIMITED, 5e8, 5e8), (UNLIMITED, 0.0, UNLIMITED)],
    ids=["as measured", "rather than the first", "nothing was measured", "nothing is known"],
)
def test_a_measured_bandwidth(tmp_path: Path, last: float, first: float, starts: float) -> None:
    journal = Journal(str(tmp_path / "journal"))
    mark = Clock().mark()
    present = Present(200.0, mark.monotonic, mark.wall, mark.boot, last, "fair-share", "fair-share", 1)
    journal.commit(JournalEntry(present, [], [], {}, full=True), [])
    restored = restore(journal, settings(tmp_path, bandwidth=AUTO, first_bandwidth=first))
    journal.close()
    assert restored.core.bandwidth == starts
