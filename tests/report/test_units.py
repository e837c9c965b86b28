import pytest

from penstock.report import units


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "0 B"),
        (0.25, "0.25 B"),
        (999.0, "999 B"),
        (999.9, "1 kB"),
        (1.2e12, "1.2 TB"),
        (1.234e9, "1.23 GB"),
        (5e21, "5,000 EB"),
    ],
)
def test_volumes_have_three_digits_and_the_largest_unit_that_fits(amount: float, text: str) -> None:
    assert units.volume(amount) == text


def test_a_rate_is_a_volume_per_second() -> None:
    assert units.rate(3.4e9) == "3.4 GB/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (2.5e-6, "2.5 µs"),
        (0.0123, "12.3 ms"),
        (59.0, "59 s"),
        (59.99, "1 min"),  # reads as 60.0 with three digits
        (90.0, "1.5 min"),
        (7560.0, "2.1 h"),
        (86400.0, "1 d"),
        (-90.0, "-1.5 min"),
        (8.64e8, "10,000 d"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text
