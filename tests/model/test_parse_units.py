import math

import pytest

from penstock.model import InputError, parse_units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16 h", 57600.0),
        ("1.5min", 90.0),
        ("250 ms", 0.25),
        ("3", 3.0),
        ("1e3", 1000.0),
        (7, 7.0),
        (0, 0.0),
        ("2 d", 172800.0),
    ],
)
def test_seconds(text: object, expected: float) -> None:
    assert parse_units.seconds(text, "x") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3.2 TB", 3.2e12), ("1 kB", 1000.0), ("1 KiB", 1024.0), ("2 GiB", 2 * 2.0**30), ("5 B", 5.0), (12.5, 12.5)],
)
def test_volumes(text: object, expected: float) -> None:
    assert parse_units.volume(text, "x") == expected


def test_bandwidth() -> None:
    assert parse_units.bandwidth("200 GiB/s", "x") == 200 * 2.0**30
    assert parse_units.bandwidth(1, "x") == 1.0


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (
            parse_units.seconds,
            "3 parsecs",
            "x: '3 parsecs' has the unknown unit 'parsecs'; expected one of ns, us, µs, ms, s",
        ),
        (parse_units.seconds, "soon", "x: 'soon' is not an amount; expected seconds"),
        (parse_units.seconds, -1.0, "x: -1.0 is negative; expected a finite number of seconds, 0 or more"),
        (parse_units.seconds, math.nan, "x: nan is not finite"),
        (parse_units.volume, math.inf, "x: inf is not finite"),
        (parse_units.volume, "1e999 B", "x: '1e999 B' is not finite"),
        (parse_units.volume, 10**400, "is not finite"),
        (parse_units.volume, "3 h", "x: '3 h' has the unknown unit 'h'; expected one of B, kB"),
        (parse_units.volume, True, "x: True is not a number"),
        (parse_units.volume, None, "x: None is not a number"),
        (parse_units.bandwidth, 0, "x: 0 is not a bandwidth; expected a finite number of bytes/s above 0"),
        (parse_units.bandwidth, "3 GB", "x: '3 GB' has the unknown unit 'GB'; expected one of B/s"),
    ],
)
def test_wrong_amounts_say_what_is_expected(read: object, value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(value, "x")  # type: ignore[operator]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0, -3, 1.0, True, "4", None])
def test_counts_are_whole_numbers(value: object) -> None:
    with pytest.raises(InputError, match=r"x: .* is not a number of nodes; expected a whole number, 1 or more"):
        parse_units.count(value, "x", "nodes")
