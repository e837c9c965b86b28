"""The document of all findings: stable, the same for the same seed, and without what JSON cannot hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import penstock
from penstock.advise.findings import NOT_MODELLED, AdviceSettings, find_out
from penstock.model import InputError
from tests.advise.machines import colliding, week

KEYS = {
    "title",
    "headline",
    "summary",
    "scheduler",
    "policy",
    "backtest",
    "seen",
    "worth",
    "answers",
    "assumes",
    "not_modelled",
    "wanted_data",
    "notes",
}


def test_the_document() -> None:
    document = penstock.advise(week(jobs=20), policies=["fcfs"]).to_dict()
    assert set(document) == KEYS
    assert [one["key"] for one in document["answers"]] == ["policy", "resources", "buffer", "apart"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document == penstock.advise(week(jobs=20), policies=["fcfs"]).to_dict()


def test_metadata_and_iops_are_not_modelled() -> None:
    assert any(text.startswith("Metadata") for text in NOT_MODELLED)
    assert any(text.startswith("IOPS") for text in NOT_MODELLED)


def test_the_largest_gain_comes_first() -> None:
    advice = penstock.advise(colliding())
    gains = [one.gain.mean for one in advice.found.changes if one.gain is not None]
    assert gains == sorted(gains, reverse=True)
    assert (
        advice.found.headline
        == "Up to 1.00 node-hours (33.3 %) can be saved: use a burst buffer of 30 min of full bandwidth"
    )


def test_a_watcher_is_told_of_every_step() -> None:
    told: list[str] = []
    counts: list[int] = []

    class Watcher:
        def begin(self, name: str) -> None:
            told.append(name)

        def at(self, part: float) -> None:
            assert 0.0 <= part <= 1.0

        def end(self) -> None:
            counts.append(1)

    @contextmanager
    def watch(steps: int) -> Iterator[Watcher]:
        told.append(str(steps))
        yield Watcher()

    find_out(colliding(), AdviceSettings(), watch)
    assert told[1] == "backtest"
    assert "jobs together" in told
    assert len(counts) == len(told) - 1 <= int(told[0])


def test_tables_and_frames() -> None:
    advice = penstock.advise(colliding())
    frame = advice.to_pandas()
    assert list(frame["verdict"])[:3] == ["change", "open", "change"]
    assert set(advice.tables()) >= {"answers", "backtest", "users", "over_time", "policies", "buffers", "pairs", "costs"}
    assert "Which policy" in advice._repr_html_()


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"trust: 0\.9 is no factor; expected 1 or more"):
        penstock.advise(colliding(), trust=0.9)
