"""Make-pack (001 Algorithm 2) against its slow twin and by hand; packs on I/O nodes."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.planning.jobs import Machine
from penstock.planning.packs import ORDERS, Pack, lpt, make_packs, sorted_jobs
from tests.naive.compare import close
from tests.naive.profiles import examples
from tests.planning.instances import SENSIBILITIES, job_tables, table
from tests.planning.naive import naive_packs


def jobs_of(packs: tuple[Pack, ...]) -> list[list[int]]:
    return [list(pack.jobs) for pack in packs]


@examples(300)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.sampled_from(ORDERS))
def test_make_pack_equals_its_twin(instance, sensibility, order):
    jobs, machine = instance
    assert jobs_of(make_packs(jobs, machine, sensibility, order)) == naive_packs(jobs, machine, sensibility, order)


@examples(100)
@given(job_tables(), st.sampled_from(SENSIBILITIES), st.sampled_from(ORDERS))
def test_the_laws_of_packs(instance, sensibility, order):
    jobs, machine = instance
    packs = make_packs(jobs, machine, sensibility, order)
    assert sorted(job for pack in packs for job in pack.jobs) == list(range(len(jobs)))
    assert [pack.nodes for pack in packs] == sorted((pack.nodes for pack in packs), reverse=True)
    for pack in packs:
        members = list(pack.jobs)
        assert pack.nodes == sum(jobs.nodes[members]) <= machine.nodes
        assert pack.seconds == max(jobs.seconds[members])
        assert pack.occupation == close(sum(jobs.occupation[members]))
        assert pack.load == close(pack.occupation / pack.seconds if pack.seconds else 0.0)
        assert len(members) == 1 or pack.load <= sensibility * (1 + 1e-9)


@examples(60)
@given(job_tables())
def test_an_infinite_sensibility_is_first_fit(instance):
    jobs, machine = instance
    silent = table([(q, t, 0.0) for q, t in zip(jobs.nodes, jobs.seconds, strict=True)])
    assert jobs_of(make_packs(jobs, machine, math.inf)) == jobs_of(make_packs(silent, machine, 1.0))


# Nodes, seconds, volume; P = 4, b = 1.
FOUR = table([(2, 10.0, 5.0), (2, 8.0, 4.0), (1, 6.0, 3.0), (1, 4.0, 0.0)])


def test_by_hand_with_a_sensibility_of_1() -> None:
    # a: a pack of its own. b: 4 nodes and 9 of 10 bytes, so with a. c: no nodes left there, so a new one. d: with c.
    first, second = make_packs(FOUR, Machine(4, 1.0), 1.0)
    assert first == Pack((0, 1), 4, 10.0, 9.0, 0.9)
    assert second == Pack((2, 3), 2, 6.0, 3.0, 0.5)


def test_by_hand_with_a_sensibility_of_a_half() -> None:
    # a has all of 0.5 · 10 bytes, b and c do not fit with it nor with each other; d, without I/O, goes where the load is
    # just 0.5, into the first: equality is accepted.
    packs = make_packs(FOUR, Machine(4, 1.0), 0.5)
    assert jobs_of(packs) == [[0, 3], [1], [2]]
    assert [pack.load for pack in packs] == [0.5, 0.5, 0.5]


def test_packs_are_sorted_after_each_insertion() -> None:
    # The pack of b has 3 nodes and comes before that of a, which has 1, so c goes with b.
    jobs = table([(1, 10.0, 10.0), (3, 9.0, 9.0), (1, 8.0, 0.0)])
    assert jobs_of(make_packs(jobs, Machine(4, 1.0), 1.0)) == [[1, 2], [0]]


def test_the_candidate_counts_in_time_as_well_as_in_volume() -> None:
    # In the order of the file: a alone would be within S · b · T = 4; with b, T is 10, so 4 + 6 bytes are within 10.
    jobs = table([(1, 4.0, 4.0), (1, 10.0, 6.0)])
    assert jobs_of(make_packs(jobs, Machine(4, 1.0), 1.0, "random")) == [[0, 1]]


def test_a_job_alone_is_accepted_whatever_its_load() -> None:
    jobs = table([(1, 10.0, 10.0), (1, 5.0, 0.0)])
    packs = make_packs(jobs, Machine(4, 1.0), 0.25)
    assert jobs_of(packs) == [[0], [1]]
    assert packs[0].load == 1.0


def test_equality_is_accepted_although_sums_have_roundings() -> None:
    # 0.1 + 0.2 is above 0.3 in binary.
    jobs = table([(1, 0.3, 0.2), (1, 0.3, 0.1)])
    assert jobs_of(make_packs(jobs, Machine(4, 1.0), 1.0)) == [[0, 1]]


def test_the_orders() -> None:
    jobs = table([(1, 4.0, 0.0, 1.0), (1, 8.0, 0.0, 0.5), (1, 8.0, 0.0, 2.0), (1, 5.0, 0.0, 2.0)])
    assert sorted_jobs(jobs, "max").tolist() == [1, 2, 3, 0]
    assert sorted_jobs(jobs, "random").tolist() == [0, 1, 2, 3]
    assert sorted_jobs(jobs, "char").tolist() == [2, 3, 0, 1]
    with pytest.raises(InputError, match="order: 'min' is unknown; expected one of max, random, char"):
        sorted_jobs(jobs, "min")


@pytest.mark.parametrize("sensibility", [-1.0, math.nan])
def test_no_such_sensibility(sensibility: float) -> None:
    with pytest.raises(InputError, match=r"sensibility: .* is out of range; expected 0 or more, or inf"):
        make_packs(FOUR, Machine(4, 1.0), sensibility)


def test_lpt_by_hand() -> None:
    # 5 and 4 on different ones; 3 beside 4 (7), 3 beside 5 (8), 3 beside 7 (10).
    assert lpt([3.0, 5.0, 4.0, 3.0, 3.0], 2) == [1, 0, 1, 0, 1]
    assert lpt([1.0, 1.0], 3) == [0, 1]
    assert lpt([], 2) == []


@examples(100)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=7), st.integers(1, 3))
def test_lpt_is_within_four_thirds_of_the_best(lengths, io_nodes):
    def last_end(places):
        return max(sum(t for t, p in zip(lengths, places, strict=True) if p == place) for place in range(io_nodes))

    best = min(last_end(places) for places in itertools.product(range(io_nodes), repeat=len(lengths)))
    found = last_end(lpt([float(length) for length in lengths], io_nodes))
    assert best <= found
    assert 3 * io_nodes * found <= (4 * io_nodes - 1) * best
