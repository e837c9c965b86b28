"""The journal: whatever was committed is known to whoever opens the file next, also after it was shortened."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from penstock.live.core.clients import Client
from penstock.live.core.recording import CompletedOperation
from penstock.live.server import journal
from penstock.live.server.journal import Journal, JournalEntry, Present, recorded
from penstock.model import InputError
from tests.naive.profiles import examples

NOBODY = Client(0, "", "", 0, "", 1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
NUMBERS = st.sets(st.integers(1, 6), max_size=3)
STEPS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.integers(0, 3)), max_size=60)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Rows are soon too long, and operations soon forgotten."""
    monkeypatch.setattr(journal, "LONG_BYTES", 2000)
    monkeypatch.setattr(journal, "MOST_OPERATIONS", 40)


@examples(100)
@given(steps=STEPS)
def test_what_is_committed_is_known(tmp_path_factory, steps):
    """Against a dictionary, by a copy of the files as a kill would leave them after every commit."""
    folder = tmp_path_factory.mktemp("journal")
    known: dict[int, Client] = {}
    ended: list[CompletedOperation] = []
    with closing(Journal(str(folder / "journal"))) as written:
        assert written.load() == (None, [])
        for date, (changed, gone, granted, count) in enumerate(steps):
            operations = [CompletedOperation(len(ended) + k, "job", 1, 1.0, 0.0, 0.0, 1.0, 1.0, 1) for k in range(count)]
            ended += operations
            for number in changed:
                known[number] = replace(NOBODY, number=number, done=float(date), grant_number=date)
            for number in gone:
                known.pop(number, None)
            regranted = {number: (float(date), date + 1) for number in granted & known.keys()}
            for number, (rate, grant) in regranted.items():
                known[number].in_force, known[number].grant_number = rate, grant
            full = written.is_long
            books = [replace(known[number]) for number in (known if full else changed & known.keys())]
            written.commit(JournalEntry(present_at(date), books, sorted(gone), regranted, full), operations)
            assert written.failure is None
            killed = folder / "killed"
            shutil.rmtree(killed, ignore_errors=True)
            killed.mkdir()
            for file in folder.glob("journal*"):
                shutil.copy(file, killed)
            with closing(Journal(str(killed / "journal"))) as again:
                present, applications = again.load()
            assert present == present_at(date)
            assert [asdict(one) for one in applications] == [asdict(known[number]) for number in sorted(known)]
            _, told = recorded(str(folder / "journal"))
            assert told == ended[-len(told) :]
            assert len(told) >= min(len(ended), 40)


def present_at(date: int) -> Present:
    return Present(float(date), float(date), float(date), "boot", 1e9, "fcfs", "fcfs", 7, ["gone"])


def test_it_does_not_grow(tmp_path):
    """Rows that hold nothing any more are deleted, over restarts too, so that there are never many."""
    rows = []
    for _ in range(3):
        with closing(Journal(str(tmp_path / "journal"))) as written:
            written.load()
            for date in range(500):
                written.commit(JournalEntry(present_at(date), [replace(NOBODY, number=1)], [], {}, written.is_long))
                rows.append(written._database.execute("SELECT count(*) FROM entry").fetchone()[0])
    assert max(rows) < 40


def test_operations_are_counted_and_the_oldest_forgotten(tmp_path):
    path = str(tmp_path / "journal")
    with closing(Journal(path)) as written:
        written.load()
        for date in range(500):
            operations = [CompletedOperation(date, "job", 1, 1.0, 0.0, 0.0, 1.0, 1.0, 1)]
            written.commit(JournalEntry(present_at(date), [replace(NOBODY, number=1)], [], {}, written.is_long), operations)
        _, told = recorded(path)
    assert [operation.application for operation in told] == list(range(500 - len(told), 500))
    assert 40 <= len(told) < 100


def test_a_commit_that_fails_is_said_and_the_next_holds_everything(tmp_path):
    with closing(Journal(str(tmp_path / "journal"))) as written:
        written.load()
        written.commit(JournalEntry(present_at(0), [replace(NOBODY, number=1)], [], {}, True))
        assert not written.is_long
        with closing(sqlite3.connect(tmp_path / "journal", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            written.commit(JournalEntry(present_at(1), [replace(NOBODY, number=2)], [], {}))
            assert written.failure == "database is locked"
            assert written.is_long
            other.execute("ROLLBACK")
        written.commit(JournalEntry(present_at(2), [replace(NOBODY, number=number) for number in (1, 2)], [], {}, True))
        assert written.failure is None
        assert [one.number for one in written.load()[1]] == [1, 2]


def test_what_is_no_journal_is_refused(tmp_path):
    (tmp_path / "journal").write_bytes(b"not a database, but long enough to be taken for one" * 100)
    with pytest.raises(InputError, match="cannot be used as a journal: file is not a database"):
        Journal(str(tmp_path / "journal"))


def test_a_start_waits_for_a_reader_that_has_locked_the_file(tmp_path):
    """A reader repairs the log of a coordinator that was killed; meanwhile nobody else can open the file."""
    path = str(tmp_path / "journal")
    with closing(Journal(path)) as first:
        first.commit(JournalEntry(Present(0.0, 0.0, 0.0, "", 1.0, "fcfs", "fcfs", 1), [], [], {}, full=True))
        assert first.failure is None
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as reader:
        reader.execute("PRAGMA locking_mode=EXCLUSIVE")
        reader.execute("BEGIN EXCLUSIVE")
        threading.Timer(0.5, reader.close).start()
        with closing(Journal(path)) as second:
            assert second.failure is None
            assert second.load()[0] is not None
