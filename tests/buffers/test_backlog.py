"""The largest backlog of writes."""

from __future__ import annotations

import pytest
from hypothesis import given

from penstock.buffers import full_speed_timeline, largest_backlog
from penstock.buffers.lower_bounds import backlog
from tests.buffers.instances import applications, workloads
from tests.buffers.naive import Timeline
from tests.naive.profiles import examples


def test_by_hand():
    # a brings 8 bytes from 4 to 6, b 8 from 7 to 9: 4 are left at 6, 2 at 7, 6 at 9. Reads do not count.
    workload = applications([("work", 4.0), ("write", 8.0), ("read", 8.0)], [("work", 7.0), ("write", 8.0), ("work", 9.0)])
    found = largest_backlog(full_speed_timeline(workload))
    assert (found.size, found.begin, found.end) == (6.0, 4.0, 9.0)
    assert backlog(full_speed_timeline(workload)).tolist() == [0.0, 0.0, 4.0, 2.0, 4.0, 6.0, 0.0]  # at 8 a ends


def test_nothing_is_written():
    found = largest_backlog(full_speed_timeline(applications([("work", 4.0)])))
    assert (found.size, found.begin, found.end) == (0.0, 0.0, 0.0)


@examples(150)
@given(workloads())
def test_against_all_intervals(workload):
    asked, line = full_speed_timeline(workload), Timeline(workload)
    everybody = range(len(workload.applications))
    limit = workload.platform.write_limit
    total = [sum(line.moved(k, "write", date) for k in everybody) for date in asked.events]
    largest = max(
        total[c] - total[a] - limit * (asked.events[c] - asked.events[a]) for c in range(len(total)) for a in range(c + 1)
    )
    found = largest_backlog(asked)
    assert found.size == pytest.approx(largest, abs=1e-5)
    first, last = (list(asked.events).index(date) for date in (found.begin, found.end))
    assert total[last] - total[first] - limit * (found.end - found.begin) == pytest.approx(found.size, abs=1e-5)
