"""Hashes hide users, names and paths, the same in every importer, and nobody without the key can find them again."""

import hashlib
import stat
from pathlib import Path

import pytest

from penstock.model import InputError
from penstock.workloads.importers.anonymize import Anonymizer, default_key
from penstock.workloads.importers.job_records import JobRecord

KEY = b"0123456789abcdef"


def test_the_same_text_gives_the_same_hash_and_other_keys_give_others() -> None:
    hidden = Anonymizer(KEY).hide("user", "alice")
    assert hidden == Anonymizer(KEY).hide("user", "alice") != Anonymizer(KEY).hide("user", "bob")
    assert hidden is not None
    assert hidden != Anonymizer(b"f" * 16).hide("user", "alice")
    assert hidden.removeprefix("user-") != str(Anonymizer(KEY).hide("name", "alice")).removeprefix("name-")
    assert hashlib.sha256(b"alice").hexdigest()[:12] not in hidden  # a plain hash could be looked up
    assert Anonymizer(KEY).hide("user", None) is None


def test_a_record_keeps_its_job_id_and_loses_its_names() -> None:
    record = JobRecord(
        "42", 0.0, 1.0, user="alice", group="physics", program="/home/alice/solver -x", files=("/logs/alice.log",)
    )
    hidden = Anonymizer(KEY).record(record)
    assert (hidden.job_id, hidden.name, hidden.end) == ("42", "job-42", 1.0)
    assert "alice" not in repr(hidden)
    assert "physics" not in repr(hidden)
    assert Anonymizer(KEY).record(JobRecord("42", 0.0, 1.0, name="alice's run")).name.startswith("name-")


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    first = Anonymizer.from_file().hide("user", "alice")
    assert first == Anonymizer.from_file().hide("user", "alice") == Anonymizer.from_file(default_key()).hide("user", "alice")
    assert stat.S_IMODE(default_key().stat().st_mode) == 0o600


def test_a_missing_or_short_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        Anonymizer.from_file(tmp_path / "none")
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(InputError, match="short: anonymize: a key of 3 bytes"):
        Anonymizer.from_file(tmp_path / "short")
