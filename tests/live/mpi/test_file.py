"""`penstock.live.mpi.File` beside ``MPI.File``, on real ranks; no coordinator."""

import pytest


@pytest.mark.parametrize(
    ("ranks", "environment"),
    [(1, {"PENSTOCK_PATIENCE": "0"}), (3, {"PENSTOCK_PATIENCE": "0"}), (2, {"PENSTOCK_DISABLE": "1"})],
)
def test_it_does_what_mpi_does(mpi, tmp_path, environment, ranks):
    out, err = mpi(ranks, "same", tmp_path, PENSTOCK_SOCKET=str(tmp_path / "none"), **environment).end()
    assert out.count("same") == ranks
    assert (
        err.count("going on uncoordinated") == ("PENSTOCK_PATIENCE" in environment) * ranks
    )  # each process says once that it is on its own


def test_an_error_of_one_rank_is_one_of_all(mpi, tmp_path):
    out, _ = mpi(3, "errors", tmp_path, PENSTOCK_SOCKET=str(tmp_path / "none"), PENSTOCK_PATIENCE="0").end()
    assert out.count("alike") == 3


def test_jobs_and_hints_are_used(mpi, tmp_path):
    out, _ = mpi(2, "uses", tmp_path, PENSTOCK_SOCKET=str(tmp_path / "none"), PENSTOCK_PATIENCE="0").end()
    assert out.count("used") == 2
