"""Reading the Standard Workload Format: every line is a job, a comment, or counted as malformed."""

import gzip
from pathlib import Path

import pytest

from penstock.model import InputError
from penstock.workloads.swf import NUMBER, RUN, read_swf
from tests.data import real
from tests.workloads.traces import HEADER, line, write


def test_jobs_comments_and_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", "", line(7, run=12.5), "  ; a comment: between jobs \x85 \xe9", f"\t{line(8)}  ", "")
    trace = read_swf(path)
    assert trace.header["Version"] == "2.2"
    assert trace.columns.shape == (2, 18)
    assert trace.columns[:, NUMBER].tolist() == [7.0, 8.0]
    assert trace.columns[0, RUN] == 12.5
    assert trace.lines.tolist() == [6, 8]
    assert trace.malformed == ()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("; MaxNodes: 128 (2048 processors)\n", 128.0),
        (";MaxNodes:4360\n; MaxNodes: 7\n", 4360.0),
        ("; MaxNodes: many\n", None),
        ("; MaxNodes:\n", None),
        ("; MaxNodes: -1\n", None),
        ("; MaxNodes: inf\n", None),
        ("", None),
    ],
)
def test_numbers_of_the_header(tmp_path: Path, header: str, expected: float | None) -> None:
    assert read_swf(write(tmp_path / "a.swf", line(), header=header)).number("MaxNodes") == expected


@pytest.mark.parametrize(
    "wrong",
    [
        "1 2 3",
        f"{line()} 19",
        line().rsplit(" ", 1)[0],
        line().replace("3600", "1h"),
        line().replace("3600", "nan"),
        line().replace("3600", "inf"),
        "\x00\x01\x02",
        '{"penstock": 1}',
    ],
)
def test_a_malformed_line_is_noted_and_the_others_are_read(tmp_path: Path, wrong: str) -> None:
    trace = read_swf(write(tmp_path / "a.swf", line(1), wrong, line(2), wrong))
    assert trace.columns[:, NUMBER].tolist() == [1.0, 2.0]
    assert trace.malformed == (6, 8)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.swf"
    path.write_bytes((HEADER + line(1) + "\n" + line(2)).replace("\n", end).encode())
    assert read_swf(str(path)).lines.tolist() == [5, 6]


def test_a_compressed_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.swf.gz"
    path.write_bytes(gzip.compress((HEADER + line(3)).encode()))
    assert read_swf(str(path)).columns[0, NUMBER] == 3.0


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    whole = gzip.compress((HEADER + line()).encode())
    cut, plain = tmp_path / "cut.swf.gz", tmp_path / "plain.swf.gz"
    cut.write_bytes(whole[:-12])
    plain.write_text(line())
    expected = "expected lines of 18 numbers, the Standard Workload Format"
    for path, message in [
        (str(tmp_path / "missing.swf"), "cannot be read: No such file or directory; expected an SWF file"),
        (str(tmp_path), "cannot be read: Is a directory; expected an SWF file"),
        (str(cut), "is not gzip or ends too early; expected a compressed SWF file"),
        (str(plain), "is not gzip or ends too early; expected a compressed SWF file"),
        (write(tmp_path / "empty.swf", header=""), f"it holds no job; {expected}"),
        (write(tmp_path / "comments.swf"), f"it holds no job; {expected}"),
        (
            write(tmp_path / "w.json", '{"penstock": 1,', "}", header=""),
            f"none of its 2 lines is a job (line 1: '{{\"penstock\": 1,'); {expected}",
        ),
    ]:
        with pytest.raises(InputError) as caught:
            read_swf(path)
        assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(("name", "jobs"), [("theta_2022.swf", 23_911), ("CEA-curie_sample.swf", 29_998)])
def test_real_traces(name: str, jobs: int) -> None:
    trace = read_swf(real(f"swf/{name}"))
    assert trace.columns.shape == (jobs, 18)
    assert trace.malformed == ()
    assert trace.number("MaxProcs") in (4360.0, 93_312.0)
