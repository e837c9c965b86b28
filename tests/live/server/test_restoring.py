"""What a coordinator starts with: the B that was measured before, unless nothing was."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, RegisterEvent, ReleaseEvent
from penstock.live.core.measuring import UNLIMITED
from penstock.live.core.predicting import Known, Prediction
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


def test_what_was_learned_comes_back_and_the_period_does_not(tmp_path: Path) -> None:
    """Means are in the journal. The latest operations are not: no period is claimed before there are new ones."""
    core = Core("set-10", 10.0, lease=math.inf)
    client = core.enter(0.0, RegisterEvent("a"))
    for lap in range(16):
        core.handle(10.0 * lap + 9.0, InformEvent(client, lap + 1, 10.0))
        core.handle(10.0 * lap + 10.0, ReleaseEvent(client, lap + 1))
    assert core.registry.predictor.predict(client, core.now).confidence > 0.7
    journal = Journal(str(tmp_path / "journal"))
    mark = Clock().mark()
    present = Present(160.0, mark.monotonic, mark.wall, mark.boot, 10.0, "set-10", "set-10", 2)
    journal.commit(JournalEntry(present, [client], [], {}, full=True), [])
    again = restore(journal, settings(tmp_path, bandwidth=10.0, policy="set-10", information="predicted")).core
    journal.close()
    assert again.pending.hides
    found = again.registry.predictor.predict(again.registry.clients[client.number], 165.0)
    assert found == Prediction(volume=10.0, due=4.0, period=10.0, confidence=0.0, operations=16)
    assert again.registry.predictor.together == Known(operations=16, alone=1.0)
