"""The generators by kind. A new kind takes a line in `GENERATORS`; ``penstock generate`` and campaigns then know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from penstock.model import Workload
from penstock.model.workload import io_load, io_weight
from penstock.workloads.apex import ApexWindows, windows
from penstock.workloads.batches import Batch, Mira, Packs, Uniform, mira, uniform
from penstock.workloads.bicolored import Bicolored, Jacobi, bicolored, jacobi
from penstock.workloads.curves import curve_source
from penstock.workloads.distributed import Distributed, distributed, load_with_one
from penstock.workloads.lanl import Lanl, lanl
from penstock.workloads.parameters import parameter
from penstock.workloads.swf import Swf, stream
from penstock.workloads.synthetic import Synthetic, demo, synthetic


@dataclass(frozen=True)
class Made:
    """The workloads that a generator made, and lines about them for a user. The lines are computed when they are read."""

    workloads: tuple[Workload, ...]
    notes: Iterable[str] = ()


@dataclass(frozen=True)
class Generator:
    """How one kind of workload is made.

    Attributes:
        parameters: The dataclass of its parameters, whose fields are made by `penstock.workloads.parameters.parameter`.
        make: Makes the workloads from parameters and a seed. The same parameters and seed give the same workloads.
        summary: What it makes, in a few words.
        description: What it makes, in a sentence or two.
        seeded: Whether the seed has an effect.
        several: Whether it makes several workloads.
        suffix: The format of files that suits its workloads: json, or parquet where they have many phases.

    """

    parameters: type[Any]
    make: Callable[[Any, int], Made]
    summary: str
    description: str
    seeded: bool = True
    several: bool = False
    suffix: str = "json"


@dataclass(frozen=True)
class Demo:
    """The demo has no parameters."""


@dataclass(frozen=True, kw_only=True)
class DistributedFromCurves(Distributed):
    """The parameters of application sets, and where their curves come from."""

    curves: str = parameter(
        "built-in curves of I/O nodes (io-nodes), a stand-in for those of OSTs (osts), or a CSV file of measured profiles",
        "io-nodes",
        metavar="io-nodes|osts|FILE",
    )
    statistic: str = parameter("what stands for the runs in a file of profiles: mean, median or best", "mean")


@dataclass(frozen=True, kw_only=True)
class SwfFromPath(Swf):
    """The parameters of a stream, and the file of its trace."""

    path: str = parameter("the trace, plain or .gz", metavar="TRACE")


def measures(workload: Workload) -> str:
    """How much I/O the workload asks for, in a line: W if all applications are released together, and α."""
    together = len({application.release for application in workload.applications}) == 1
    weight = f"I/O weight W {io_weight(workload):.3f}, " if together else ""
    return f"{len(workload.applications):,} applications: {weight}I/O load α {io_load(workload):.3f}"


def _measured(workload: Workload, notes: Iterable[str] = ()) -> Made:
    def lines() -> Iterator[str]:
        yield from notes
        yield measures(workload)

    return Made((workload,), lines())


def _batch(drawn: Batch) -> Made:
    return _measured(drawn.workload, (drawn.summary(),))


def _lanl(parameters: Lanl, seed: int) -> Made:
    drawn = lanl(parameters, seed)
    return _measured(drawn.workload, (drawn.summary(),))


def _distributed(parameters: DistributedFromCurves, seed: int) -> Made:
    curves = curve_source(parameters.curves, parameters.statistic)
    workload = distributed(parameters, curves, seed)

    def lines() -> Iterator[str]:
        yield f"curves: {curves.label}"
        sizes = f"{parameters.applications:,} applications, {parameters.resources:,} I/O resources"
        load = f"I/O load with one each {load_with_one(workload):.3f} (asked for {parameters.load:g} on average)"
        yield f"{sizes}: {load}"

    return Made((workload,), lines())


def _swf(parameters: SwfFromPath, seed: int) -> Made:
    made = stream(parameters.path, parameters, seed)
    return _measured(made.workload, made.summary())


GENERATORS: Final = MappingProxyType(
    {
        "demo": Generator(
            Demo,
            lambda _, seed: Made((demo(seed),)),
            "eight applications in one busy hour",
            "A small workload to look at: eight applications of three kinds in one hour of a busy machine.",
        ),
        "synthetic": Generator(
            Synthetic,
            lambda parameters, seed: Made((synthetic(parameters, seed),)),
            "the synthetic traces of 000 §6.2",
            "The synthetic traces of 000 §6.2: small, medium and big applications that can each saturate the link.",
        ),
        "apex": Generator(
            ApexWindows,
            lambda parameters, seed: Made(
                windows(parameters.workload, parameters.machine, seed, parameters.count, parameters.start)
            ),
            "steady-state windows of the APEX workloads of 000 §6.3",
            "The longest steady-state windows in three months of NERSC or TRILAB jobs (000 §6.3), one file per window.",
            several=True,
        ),
        "bicolored": Generator(
            Bicolored,
            lambda parameters, seed: _measured(bicolored(parameters, seed)),
            "the bi-colored chains of 001 §II.D.2",
            "Jobs that alternate work and I/O on a link of bandwidth 1 (001 §II.D.2, Table II.1).",
        ),
        "jacobi": Generator(
            Jacobi,
            lambda parameters, _: _measured(jacobi(parameters)),
            "the five Jacobi applications of 001 §III.D.1",
            "The five Jacobi applications of 001 §III.D.1 (Table III.1), B = 1. Nothing is drawn.",
            seeded=False,
        ),
        "packs": Generator(
            Packs,
            lambda parameters, seed: _batch(uniform(parameters, seed)),
            "the batches of 001 §III.D.2 for packs",
            "25 to 100 periodic applications for 2048 nodes with an I/O node of bandwidth 1 (001 §III.D.2.b).",
        ),
        "uniform": Generator(
            Uniform,
            lambda parameters, seed: _batch(uniform(parameters, seed)),
            "the uniform batches of 001 §IV.B.4 (BU, NU)",
            "100 to 500 periodic applications for 2048 nodes with an I/O node of bandwidth 1 (001 §IV.B.4).",
            suffix="parquet",
        ),
        "mira": Generator(
            Mira,
            lambda parameters, seed: _batch(mira(parameters, seed)),
            "the batches of 001 §IV.B.3 after Mira (MB, MN)",
            "100 to 500 periodic applications with the sizes and times of Mira's jobs (001 §IV.B.3).",
        ),
        "distributed": Generator(
            DistributedFromCurves,
            _distributed,
            "the application sets of 002 §V.C, for I/O nodes or OSTs",
            "Applications with bandwidths by the number of I/O resources they use, on 24 nodes for each resource, "
            "for a wanted I/O load (002 §V.C).",
        ),
        "lanl": Generator(
            Lanl,
            _lanl,
            "the checkpointing applications of 004 §7.1",
            "Four LANL applications that compute and write checkpoints, on a machine like Intrepid: 96,000 cores, "
            "160 GB/s (004 §7.1, Table 1). They start first in, first out.",
            suffix="parquet",
        ),
        "swf": Generator(
            SwfFromPath,
            _swf,
            "the jobs of a trace in the Standard Workload Format",
            "The jobs of a trace, each released when it was submitted. A trace says nothing about I/O: its part f of the "
            "run time is drawn for each job, by default from N(0.1, 0.1²) truncated to [0, 0.9].",
            suffix="parquet",
        ),
    }
)
"""All kinds, in the order of the help."""
