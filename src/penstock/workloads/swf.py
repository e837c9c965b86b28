"""Job traces in the Standard Workload Format of the Parallel Workloads Archive, version 2.2.

A line a job, of 18 numbers; −1 stands for what is not known. Lines that begin with ``;`` are comments, and the header is
made of comments ``; Key: value``. Columns used here, counted from 0: 0 job number, 1 submit time (seconds since
UnixStartTime), 2 wait and 3 run time in seconds, 4 processors allocated, 7 processors requested, 10 status (0 failed,
1 completed, 5 cancelled; 2, 3, 4 parts of a job that also has a line as a whole).
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from penstock.model import InputError
from penstock.model.errors import short
from penstock.workloads.laws import Floats, Integers

NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, STATUS = 0, 1, 2, 3, 4, 7, 10
COLUMNS: Final = 18
_HEADER: Final = re.compile(r";\s*(\w+)\s*:\s*(.*)")


@dataclass(frozen=True)
class Trace:
    """What a file holds: its header, and of each line that is 18 finite numbers the line's number and the numbers.

    `malformed` holds the numbers of the other lines, comments and empty ones not counted.
    """

    header: Mapping[str, str]
    lines: Integers
    columns: Floats
    malformed: tuple[int, ...]

    def number(self, key: str) -> float | None:
        """The number that the header gives for the key, or None."""
        try:
            value = float(self.header[key].split()[0])
        except (KeyError, ValueError, IndexError):
            return None
        return value if math.isfinite(value) and value >= 0.0 else None


def read_swf(path: str) -> Trace:
    """Read a trace, also one compressed by gzip (``.gz``). About 100,000 lines a second.

    A file without any line of 18 numbers is refused; single lines that are wrong are noted.
    """
    header: dict[str, str] = {}
    lines: list[int] = []
    rows: list[list[float]] = []
    malformed: list[int] = []
    first_wrong = ""
    for number, line in enumerate(_lines(path), start=1):
        if line.lstrip().startswith(";"):
            if match := _HEADER.match(line.lstrip()):
                header.setdefault(match[1], match[2].strip())
            continue
        if not (fields := line.split()):
            continue
        row = _numbers(fields)
        if row is not None:
            lines.append(number)
            rows.append(row)
        else:
            first_wrong = first_wrong or f"line {number}: {short(line.strip())}"
            malformed.append(number)
    if not rows:
        what = f"none of its {len(malformed):,} lines is a job ({first_wrong})" if malformed else "it holds no job"
        raise InputError(path, f"{what}; expected lines of {COLUMNS} numbers, the Standard Workload Format")
    return Trace(header, np.array(lines, np.int64), np.array(rows), tuple(malformed))


def _numbers(fields: list[str]) -> list[float] | None:
    if len(fields) != COLUMNS:
        return None
    try:
        row = list(map(float, fields))
    except ValueError:
        return None
    return row if math.isfinite(sum(row)) else None


def _lines(path: str) -> list[str]:
    """The lines; bytes beyond ASCII, which only comments may have, are taken one for one."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if path.endswith(".gz") else content).decode("latin-1")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # splitlines() knows more ends than files have
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise InputError(path, "is not gzip or ends too early; expected a compressed SWF file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}; expected an SWF file") from None
