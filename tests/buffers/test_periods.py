"""Busy periods: short ones, and what lies between them needs no buffer."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from penstock.buffers import full_speed_timeline
from penstock.buffers.periods import busy_periods
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples


def dates(workload) -> list[list[float]]:
    asked = full_speed_timeline(workload)
    return asked.events[busy_periods(asked)].tolist()


def test_a_write_and_the_time_it_drains():
    # From 4 to 6 at twice the speed of the file system: what is left is gone at 8, and the next event is at 9.
    phases = [("work", 4.0), ("write", 8.0), ("work", 3.0), ("write", 8.0), ("work", 9.0)]
    assert dates(applications(phases)) == [[4.0, 9.0], [9.0, 20.0]]


def test_a_read_and_the_time_to_prefetch_it():
    phases = [("work", 5.0), ("read", 8.0), ("work", 3.0), ("read", 8.0), ("work", 9.0)]
    assert dates(applications(phases)) == [[0.0, 7.0], [7.0, 12.0]]


def test_one_that_fits_alone_is_never_busy():
    slow = ([("work", 4.0), ("write", 8.0), ("read", 8.0)], {"bandwidth": 2.0})
    assert dates(applications(slow)) == []
    # Two together are, though their sum fits: one at 1 byte/s takes twice the time that its bytes do.
    slower = ([("work", 5.0), ("write", 1.0)], {"bandwidth": 1.0})
    also = ([("work", 4.0), ("write", 2.0)], {"bandwidth": 1.0})
    assert dates(applications(slower, also)) == [[5.0, 6.0]]


def test_reads_and_writes_beside_each_other():
    # Written from 4 to 6 and gone at 8; read from 10 on, and prefetched from 8 on. Periods are cut at events.
    phases = [("work", 4.0), ("write", 8.0), ("work", 4.0), ("read", 8.0)]
    assert dates(applications(phases)) == [[4.0, 12.0]]
    someone_starts = ([("work", 1.0)], {"release": 8.0})
    assert dates(applications(phases, someone_starts)) == [[4.0, 8.0], [8.0, 12.0]]
    # With half a second less between them they meet, and prefetching may begin before the write does.
    phases = [("work", 4.0), ("write", 8.0), ("work", 3.5), ("read", 8.0)]
    assert dates(applications(phases, someone_starts)) == [[0.0, 11.5]]


@examples(150)
@given(workloads())
def test_periods_hold_all_that_must_be_buffered(workload):
    asked = full_speed_timeline(workload)
    periods = busy_periods(asked)
    assert (periods[:, 0] < periods[:, 1]).all()
    assert (periods[:-1, 1] <= periods[1:, 0]).all()
    busy = np.zeros(len(asked.lengths), np.bool_)
    for first, last in periods.tolist():
        busy[first:last] = True
    for operations, speed, cap in (
        (asked.writes, asked.write_speed, asked.write_cap),
        (asked.reads, asked.read_speed, asked.read_cap),
    ):
        for owner, start, stop in zip(operations.owner, operations.start, operations.stop, strict=True):
            if speed[owner] > cap[owner] * (1.0 + 1e-6):
                assert busy[start:stop].all()
