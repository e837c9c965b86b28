"""Shares as lines for batch scripts."""

import numpy as np
import pytest

from penstock.buffers.plan import GIB, directives
from penstock.model import Application, InputError, Platform, Workload

JOBS = Workload(Platform(1.0), tuple(Application.of(name, [("write", 1.0)]) for name in ("ocean", "two\nlines", "reader")))


def test_a_line_for_each_job() -> None:
    lines = directives(JOBS, np.array([1.5 * GIB, 3.0 * GIB, 0.0])).splitlines()
    assert lines == [
        "# ocean",
        "#DW jobdw type=scratch access_mode=striped capacity=2GiB",
        "# two lines",
        "#DW jobdw type=scratch access_mode=striped capacity=3GiB",
        "# reader: no burst buffer",
    ]
    assert directives(JOBS, np.array([1.0, 0.0, 0.0]), "bb").splitlines()[1] == "#BB capacity=1GiB"


def test_an_unknown_style() -> None:
    with pytest.raises(InputError, match="style: 'lsf' is unknown; expected dw or bb"):
        directives(JOBS, np.zeros(3), "lsf")
