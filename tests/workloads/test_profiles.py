"""Measured profiles: what the files hold, each statistic, and one line for what is wrong."""

from collections import Counter
from pathlib import Path

import pytest

from penstock.model import Curve, InputError
from penstock.workloads import read_profiles
from penstock.workloads.curves import best_count
from tests.data import real
from tests.workloads.curves import DIRECT, HEADER, MCKP, RUNS, SUMMARIES, measured, run, write

SUMMARY_HEADER = "scenario,processes," + ",".join(
    f"{what}_MBps_{count}ion" for count in (0, 1, 2, 4) for what in ("n", "mean", "median", "max")
)
SUMMARY = "a,96," + ",".join(
    f"3,{mean},{median},{best}" for mean, median, best in [(9, 9, 9), (2, 1, 4), (5, 6, 7), (3, 3, 3)]
)


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("mean", (2e6, 5e6, 3e6)), ("median", (1e6, 6e6, 3e6)), ("best", (4e6, 7e6, 3e6))],
)
def test_runs_and_summaries_give_the_same_curve(tmp_path: Path, statistic: str, expected: tuple[float, ...]) -> None:
    # Three runs each: 1, 1, 4 with mean 2; 2, 6, 7 with mean 5; 3, 3, 3. Direct access, 0 I/O nodes, is left out.
    rates = {0: (9, 9, 9), 4: (3, 3, 3), 2: (2, 7, 6), 1: (4, 1, 1)}
    lines = [run(count, rate) for count, three in rates.items() for rate in three]
    runs = read_profiles(write(tmp_path / "runs.csv", HEADER, *lines), statistic)
    assert runs == {"96-8-0-1-32-1": Curve((1, 2, 4), expected)}
    summaries = read_profiles(write(tmp_path / "summaries.csv", SUMMARY_HEADER, SUMMARY), statistic)
    assert summaries == {"a": Curve((1, 2, 4), expected)}


def test_scenarios_keep_the_order_of_the_file_and_runs_may_come_in_any(tmp_path: Path) -> None:
    lines = [run(2, 5, 64), run(1, 8, 32), run(1, 3, 64), run(1, 6, 32)]
    curves = read_profiles(write(tmp_path / "a.csv", HEADER, "", *lines, ""))
    assert list(curves.items()) == [("96-8-0-1-64-1", Curve((1, 2), (3e6, 5e6))), ("96-8-0-1-32-1", Curve((1,), (7e6,)))]


def test_runs_may_name_their_scenario(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ";scenario;forwarders;bandwidth;clients", "1;C;0;5;8", "2;C;1;6;8", "3;C;8;7.5;8")
    assert read_profiles(path, "median") == {"C": Curve((1, 8), (6e6, 7.5e6))}


def test_a_count_that_was_not_measured_is_left_out(tmp_path: Path) -> None:
    fields = SUMMARY.split(",")
    fields[10:14] = ["0", "", "", ""]
    assert read_profiles(write(tmp_path / "a.csv", SUMMARY_HEADER, ",".join(fields))) == {"a": Curve((1, 4), (2e6, 3e6))}


def test_ends_of_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"\ufeff{HEADER}\r\n{run(1, 2)}\r\n".encode())
    assert read_profiles(path) == {"96-8-0-1-32-1": Curve((1,), (2e6,))}


COLUMNS = "expected the columns forwarders, bandwidth, processes, clients, layout, spatiality, request, odirect"
WRONG = [
    ([], "is empty; expected a CSV file of profiles"),
    (["", " "], "is empty; expected a CSV file of profiles"),
    ([HEADER], "holds no line but its header; expected measured profiles"),
    (
        ["a,b", "1,2"],
        "there is neither a column 'forwarders' nor one such as 'mean_MBps_1ion'; expected measured profiles, one line "
        "per run or per scenario",
    ),
    ([HEADER.replace("bandwidth", "speed"), run(1, 2)], f"the column 'bandwidth' is missing; {COLUMNS}"),
    ([HEADER.replace("layout", "shape"), run(1, 2)], f"the column 'layout' is missing; {COLUMNS}"),
    (["forwarders,bandwidth", "1,2"], f"the column 'processes' is missing; {COLUMNS}"),
    (
        [SUMMARY_HEADER.replace("scenario", "name"), SUMMARY],
        "the column 'scenario' is missing; expected the columns scenario, mean_MBps_1ion",
    ),
    (
        [SUMMARY_HEADER.replace("mean_MBps_1ion", "mean"), SUMMARY],
        "the column 'mean_MBps_1ion' is missing; expected the columns scenario, mean_MBps_1ion",
    ),
    ([SUMMARY_HEADER, SUMMARY, SUMMARY], "line 3: scenario a occurs twice; expected each once"),
    (
        [SUMMARY_HEADER, SUMMARY.replace("3,2,1,4", "3,,1,4")],
        "scenario a: the counts [2, 4] lack 1; expected the bandwidth with 1 I/O resource",
    ),
    (
        [SUMMARY_HEADER, SUMMARY.replace("3,5,6,7", "3,0,6,7")],
        "line 2, mean_MBps_2ion: '0' is not a bandwidth; expected a finite number of MB/s above 0",
    ),
    (
        [HEADER, run(1, 2), run(2, 3, 64), run(4, 3, 64)],
        "scenario 96-8-0-1-64-1: the counts [2, 4] lack 1; expected the bandwidth with 1 I/O resource",
    ),
    ([HEADER, run(1, 2)[:20]], "line 2: 9 fields; expected 13, one for each column"),
    ([HEADER, run(0, 2)], "all runs are direct access, with 0 I/O nodes; expected runs with 1 I/O node or more"),
    ([HEADER, run("two", 2)], "line 2, forwarders: 'two' is not a number of I/O nodes; expected 0 or more"),
    ([HEADER, run("-1", 2)], "line 2, forwarders: '-1' is not a number of I/O nodes; expected 0 or more"),
    *(
        (
            [HEADER, run(1, 2), run(1, rate)],
            f"line 3, bandwidth: '{rate}' is not a bandwidth; expected a finite number of MB/s",
        )
        for rate in ("0.0", "-3", "nan", "inf", "", "fast", "2 GB/s")
    ),
    (
        [HEADER, run(1, 2), run(1, 2, operation="read")],
        "line 3: scenario 96-8-0-1-32-1 was also measured with ['60', '131072', 'write'] for ['stonewall', 'total', "
        "'operation'], not ['60', '131072', 'read']; expected one way",
    ),
    ([HEADER, "x" * 200_000], "line 2: field larger than field limit (131072); expected a CSV file of profiles"),
]


@pytest.mark.parametrize(("lines", "message"), WRONG)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, lines: list[str], message: str) -> None:
    path = write(tmp_path / "a.csv", *lines)
    with pytest.raises(InputError) as caught:
        read_profiles(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_what_is_no_file_of_profiles(tmp_path: Path) -> None:
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, message in [
        (binary, "byte 0 is not UTF-8 text; expected a CSV file of profiles"),
        (tmp_path, "cannot be read: Is a directory; expected a CSV file of profiles"),
        (tmp_path / "none.csv", "cannot be read: No such file or directory; expected a CSV file of profiles"),
    ]:
        with pytest.raises(InputError) as caught:
            read_profiles(path)
        assert str(caught.value) == f"{path}: {message}"
    with pytest.raises(InputError, match="statistic: 'max' is out of range; expected mean, median, best"):
        read_profiles("none.csv", "max")


@pytest.mark.parametrize(
    ("statistic", "best"),
    [("mean", (10, 91, 16, 72)), ("median", (12, 89, 16, 72)), ("best", (14, 86, 16, 73))],
)
def test_the_189_measured_profiles(statistic: str, best: tuple[int, ...]) -> None:
    summaries, runs = measured(statistic), read_profiles(real(RUNS), statistic)
    assert len(summaries) == 189
    assert all(curve.counts == (1, 2, 4, 8) for curve in summaries.values())
    counts = Counter(best_count(curve) for curve in summaries.values())
    assert tuple(counts[n] for n in (1, 2, 4, 8)) == best
    assert runs.keys() == summaries.keys()
    for scenario, curve in summaries.items():  # the summaries are rounded to 10 bytes/s
        assert runs[scenario].bandwidths == pytest.approx(curve.bandwidths, abs=5.1)


def test_other_measured_files() -> None:
    nine = read_profiles(real(MCKP))
    assert sorted(nine) == list("ABCDEFGHI")
    assert nine["A"] == Curve((1, 2, 4, 8), (77.6e6, 75.432e6, 388.066e6, 366.048e6))
    assert nine == read_profiles(real(MCKP), "best")
    with pytest.raises(InputError, match="all runs are direct access, with 0 I/O nodes; expected runs with 1 I/O node"):
        read_profiles(real(DIRECT))
    with pytest.raises(InputError, match="statistic: 'worst' is out of range"):
        read_profiles(real(SUMMARIES), "worst")
