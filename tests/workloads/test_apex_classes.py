"""Cielo, its scaled machines and the classes, against what 000 §6.3.1 says of them."""

import pytest

from penstock.model import InputError
from penstock.workloads import MACHINES, ApexMachine
from penstock.workloads.apex import CLASSES, GIB, NERSC, find_machine


def test_what_the_paper_says_of_the_classes() -> None:
    nersc, trilab = ({kind.name: kind for kind in CLASSES[name]} for name in ("nersc", "trilab"))
    assert (nersc["GTS"].cores, nersc["GTS"].hours) == (16_512, 48)
    assert nersc["GTS"].cores / (8894 * 16) == pytest.approx(1 / 8, rel=0.1)
    assert (nersc["CESM"].cores, nersc["CESM"].hours) == (8000, 10 * 24)
    assert nersc["SkySurvey"].share / sum(kind.share for kind in NERSC) == pytest.approx(0.12, abs=0.005)
    assert {min(kind.cores for kind in trilab.values()), max(kind.cores for kind in trilab.values())} == {4096, 32768}
    assert min(kind.hours for kind in trilab.values()) == 64


def test_cielo_and_its_successors() -> None:
    assert list(MACHINES) == ["cielo", *(f"M_{step}" for step in range(1, 11))]
    assert MACHINES["cielo"] == ApexMachine("cielo", 8894, 200 * GIB)
    assert MACHINES["M_10"] == ApexMachine("M_10", 2 * 8894, 200 * GIB * 2 / 10)
    assert MACHINES["M_5"].nodes == 12578  # 8894 · √2 = 12577.99
    for step in range(1, 11):  # cores grow as the bandwidth does, but for 1/t
        machine = MACHINES[f"M_{step}"]
        assert step * machine.bandwidth / machine.nodes == pytest.approx(200 * GIB / 8894, rel=1e-4)
    platform = find_machine("M_0").platform
    assert platform.cap(100) == pytest.approx(120 * GIB)
    assert platform.cap(200) == 200 * GIB


def test_a_machine_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"machine\.nodes: 0 is not a number of nodes; expected a whole number, 1 or more"):
        ApexMachine("none", 0, 1.0)
    with pytest.raises(InputError, match=r"machine\.bandwidth: -1\.0 is not a bandwidth"):
        ApexMachine("none", 1, -1.0)
