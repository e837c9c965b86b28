import pytest

from penstock.report import format_units


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "0 B"),
        (2.27e-13, "0 B"),  # what rounding leaves of a volume
        (0.0000234, "0.0000234 B"),
        (0.25, "0.25 B"),
        (999.0, "999 B"),
        (999.9, "1 kB"),
        (1.2e12, "1.2 TB"),
        (1.234e9, "1.23 GB"),
        (5e21, "5,000 EB"),
    ],
)
def test_volumes_have_three_digits_and_the_largest_unit_that_fits(amount: float, text: str) -> None:
    assert format_units.volume(amount) == text


def test_a_rate_is_a_volume_per_second() -> None:
    assert format_units.rate(3.4e9) == "3.4 GB/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (4.55e-13, "0 s"),  # what rounding leaves of a waiting time
        (-4.55e-13, "0 s"),
        (1e-9, "0 s"),
        (2e-9, "0.002 µs"),
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
    assert format_units.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "run", "text"),
    [
        (5e-6, 1e7, "0 s"),  # 1e-12 of four months is 10 µs
        (2e-5, 1e7, "20 µs"),
        (5e-6, 1e3, "5 µs"),
        (5e-10, 1.0, "0 s"),  # a short run: the nanosecond that policies compare with
        (5e-9, 1.0, "0.005 µs"),
    ],
)
def test_what_is_rounding_depends_on_the_length_of_the_run(seconds: float, run: float, text: str) -> None:
    assert format_units.duration(seconds, run) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-2.3e-16, "0"),
        (0.00194, "0.00194"),
        (1e-5, "0.00001"),
        (63.64, "63.6"),
        (999.7, "1,000"),
        (1.2e6, "1,200,000"),
    ],
)
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert format_units.number(value) == text
