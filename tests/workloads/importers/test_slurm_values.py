"""Values as Slurm writes them."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.workloads.importers.slurm_values import (
    Unreadable,
    bytes_of,
    dates_of,
    file_system,
    job_and_step,
    nodes_in,
    numbers_of,
    seconds_of,
    tres_of,
)

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:04", 4.0),
        ("1-02:03:04", 93_784.0),
        ("100-00:00:00", 8_640_000.0),
        ("05:30", 330.0),
        ("00:00.015", 0.015),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("Unknown", None),
        ("INVALID", None),
        ("", None),
    ],
)
def test_a_time(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@given(st.integers(0, 10**9))
def test_a_time_is_read_as_slurm_writes_it(seconds: int) -> None:
    minutes, hours, days = seconds // 60 % 60, seconds // 3600 % 24, seconds // 86_400
    text = (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:{seconds % 60:02}"
    assert seconds_of(text) == float(seconds)


@pytest.mark.parametrize("text", ["soon", "1-2-3:04:05", "-1:00", "99999999999-00:00:00", "4"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(Unreadable):
        seconds_of(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("4000Mn", 4000 * 2**20), ("2Gc", 2**31), ("20.02M", 20_992_492), ("3160K", 3160 * 1024), ("0", 0), ("7", 7)],
)
def test_an_amount(text: str, amount: int) -> None:
    assert bytes_of(text) == amount


@pytest.mark.parametrize("text", ["", "many", "-3M", "1e9", "9" * 40])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(Unreadable):
        bytes_of(text)


def test_dates() -> None:
    date = datetime(2026, 7, 1, 12, 30, tzinfo=BERLIN).timestamp()
    assert dates_of("2026-07-01T12:30:00", BERLIN) == (date,)
    assert dates_of("2026-07-01T10:30:00+00:00", BERLIN) == (date,)
    assert dates_of("2026-07-01T12:30:00+0200", None) == (date,)
    assert dates_of(f"{date:.0f}", BERLIN) == (date,)
    assert [dates_of(text, BERLIN) for text in ("Unknown", "None", "N/A", "", "0")] == [()] * 5
    # The clock shows 2:30 twice on this day, first in summer time, two hours ahead of UTC; and 2:30 never in March.
    first = datetime.fromisoformat("2026-10-25T00:30:00+00:00").timestamp()
    assert dates_of("2026-10-25T02:30:00", BERLIN) == (first, first + 3600.0)
    assert len(dates_of("2026-03-29T02:30:00", BERLIN)) == 1


def test_a_date_without_a_zone_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert dates_of("2026-07-01T12:30:00", None) == dates_of("2026-07-01T12:30:00", ZoneInfo("America/New_York"))
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["20:12:33", "yesterday", "2026-13-01T00:00:00", "99999999999999", "9999-12-31T23:59:59"])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(Unreadable):
        dates_of(text, BERLIN)


def test_ids_of_jobs_and_steps() -> None:
    texts = (
        "123",
        "123.batch",
        "123.0",
        "123_4",
        "123_4.extern",
        "123_[1-4%2]",
        "123_[1,5,...",
        "123+1",
        "123+1.0",
        "9_2+1.0",
    )
    assert [job_and_step(text) for text in texts] == [
        ("123", ""),
        ("123", "batch"),
        ("123", "0"),
        ("123_4", ""),
        ("123_4", "extern"),
        ("123_[1-4%2]", ""),
        ("123_[1,5,...", ""),
        ("123+1", ""),
        ("123+1", "0"),
        ("9_2+1", "0"),
    ]
    for text in ("", "batch", "12 3", "a1", "1|2", "1.2.3.4"):
        with pytest.raises(Unreadable):
            job_and_step(text)


def test_lists() -> None:
    assert list(numbers_of("1-4%2")) == [1, 2, 3, 4]
    assert list(numbers_of("0-8:4,11")) == [0, 4, 8, 11]
    assert [nodes_in(text) for text in ("n1", "n[1-4,7],login1", "rack[1-2]n[01-10]", "a1,a2,b", "None assigned")] == [
        1,
        6,
        20,
        3,
        None,
    ]
    for text in ("n[x]", "n[1-2-3]"):
        with pytest.raises(Unreadable):
            nodes_in(text)


def test_a_file_system_with_its_own_counter_comes_before_what_processes_moved() -> None:
    assert file_system(tres_of("cpu=00:00:02,energy=0,fs/disk=20971520,mem=3K")) == 20_971_520
    assert file_system(tres_of("fs/disk=7,fs/lustre=1G")) == 2**30
    assert file_system(tres_of("cpu=00:00:02,energy=0")) is None
    assert file_system(tres_of("")) is None


@pytest.mark.parametrize("text", ["fs/disk=1,5G", "5G"])
def test_amounts_without_a_name_are_refused(text: str) -> None:
    """With a decimal comma 1.5 GiB would be read as 1 byte."""
    with pytest.raises(Unreadable, match=r"has a part without '='; expected amounts such as fs/disk=1\.5G"):
        tres_of(text)


def test_amounts_by_name() -> None:
    assert tres_of("cpu=2,gres/gpu:a=1,node=") == {"cpu": "2", "gres/gpu:a": "1", "node": ""}
    assert tres_of("") == {}
    assert tres_of("cpu=1,,mem=2,") == {"cpu": "1", "mem": "2"}
