"""How often somebody else does I/O."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.model import InputError
from penstock.theory.interference import concurrency, running_jobs, someone_in_io
from tests.data import real
from tests.workloads.traces import line, write


def test_the_time_that_so_many_run(tmp_path: Path) -> None:
    # Jobs from 10 to 40, from 20 to 30 and, after a gap, from 50 to 60: one runs for 30 of 50 s, two for 10, none for 10.
    path = write(tmp_path / "t.swf", line(1, 0, 10, 30), line(2, 15, 5, 10), line(3, 50, 0, 10))
    chances = concurrency(running_jobs(path))
    assert chances.tolist() == pytest.approx([0.2, 0.6, 0.2])
    # With a quarter of the time in I/O: 1 − (0.2 + 0.6·0.75 + 0.2·0.75²).
    assert someone_in_io(chances, 0.25) == pytest.approx(1.0 - (0.2 + 0.45 + 0.1125))


def test_the_formula_is_what_drawing_gives() -> None:
    random = np.random.default_rng(3)
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    running = random.choice(4, 200_000, p=chances)
    busy = random.binomial(running, 0.15) > 0
    assert busy.mean() == pytest.approx(someone_in_io(chances, 0.15), abs=0.004)


def test_edges() -> None:
    assert someone_in_io(np.array([1.0]), 0.5) == 0.0
    assert someone_in_io(np.array([0.0, 1.0]), 1.0) == 1.0
    with pytest.raises(InputError, match=r"^share: 1.5 is no part of the time; expected 0 to 1$"):
        someone_in_io(np.array([1.0]), 1.5)


def test_a_real_trace() -> None:
    chances = concurrency(running_jobs(real("swf/theta_2022.swf")))
    assert chances.sum() == pytest.approx(1.0)
    assert someone_in_io(chances, 0.05) == pytest.approx(0.26, abs=0.005)
