"""Random small workloads and views: round numbers with many ties, and numbers without any."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from penstock.model import Application, Curve, Phases, Platform, Workload
from penstock.numeric.compiled import JIT
from penstock.policies import REGISTRY, View
from penstock.policies.policy import STATIC
from penstock.policies.view import FLOATS, GIVEN, INTEGERS, MOMENT, ROW
from tests.naive.policies import Active, Scene

KINDS = ("io", "read", "write")


def odd_floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers that no sum of others meets, but none that are apart by less than a microsecond: a date 1e-12 s after another
    is of no use to anyone, and there a rounding error is no longer small."""
    grain = 1.000000370041e-6
    return st.integers(math.ceil(low / grain), math.floor(high / grain)).map(lambda i: i * grain)


def amounts(nice: bool) -> st.SearchStrategy[float]:
    """Seconds or bytes, 0 among them."""
    if nice:
        return st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 3.0, 4.0, 8.0, 30.0])
    return st.one_of(st.just(0.0), odd_floats(0.01, 10.0), odd_floats(0.01, 10.0), odd_floats(0.001, 100.0))


def chains(nice: bool, size: int) -> st.SearchStrategy[list[tuple[str, float]]]:
    """Phases in any order: work after work, I/O after I/O, amounts of 0."""
    phase = st.tuples(st.sampled_from(["work", *KINDS]), amounts(nice))
    alternating = st.lists(st.tuples(amounts(nice), amounts(nice)), min_size=1, max_size=max(1, size // 2)).map(
        lambda pairs: [p for work, volume in pairs for p in (("work", work), ("io", volume))]
    )
    return st.one_of(st.lists(phase, min_size=1, max_size=size), alternating)


@st.composite
def workloads(
    draw,
    *,
    nice: bool | None = None,
    applications: int = 6,
    phases: int = 8,
    window: bool | None = None,
    coarse: bool = False,
):
    """A workload of a few applications, released before or inside the window, some with a history.

    In a `coarse` one operations have rounds, and a link that is shared carries less.
    """
    nice = draw(st.booleans()) if nice is None else nice
    count = draw(st.integers(1, applications))
    number = (lambda low, high: st.integers(4 * low, 4 * high).map(lambda i: i / 4)) if nice else odd_floats
    bandwidth = draw(st.sampled_from([1.0, 2.0, 4.0, 10.0]) if nice else odd_floats(0.3, 12.0))
    node_bandwidth = draw(st.one_of(st.none(), st.sampled_from([0.25, 0.5, 1.0]) if nice else odd_floats(0.1, 2.0)))
    begin = draw(number(-5, 5))
    windowed = draw(st.booleans()) if window is None else window
    end = begin + draw(number(1, 40)) if windowed else None
    members = []
    for index in range(count):
        release = draw(number(-10, 8))
        if end is not None:
            release = min(release, begin + 0.75 * (end - begin))
        options = {"nodes": draw(st.integers(1, 8)), "release": release}
        if draw(st.booleans()):
            options["lead"] = draw(amounts(nice))
        if draw(st.integers(0, 3)) == 0:
            options["bandwidth"] = draw(st.sampled_from([0.5, 1.0, 2.0]) if nice else odd_floats(0.1, 15.0))
        if windowed and release < begin and draw(st.booleans()):
            share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]) if nice else odd_floats(0.0, 1.0))
            options["progress"] = share * (begin - release)
        if coarse and draw(st.booleans()):
            options["rounds"] = draw(st.sampled_from([1, 2, 3, 4, 50]))
        members.append(Application.of(f"a{index}", draw(chains(nice, phases)), **options))
    lossy = coarse and draw(st.booleans())
    degradation = draw(st.sampled_from([{2: 0.5}, {4: 0.84}, {2: 0.75, 3: 0.5}])) if lossy else None
    return Workload(
        Platform(bandwidth, node_bandwidth, degradation=degradation), tuple(members), (begin, end) if windowed else None
    )


LOOPS = st.lists(st.tuples(odd_floats(0.01, 20.0), odd_floats(0.1, 5.0)), min_size=1, max_size=3)
"""Seconds of work and bytes of the operations that an application repeats."""


@st.composite
def cyclic_workloads(draw):
    """Applications that repeat one to three operations, so often that their periods are looked for several times."""
    members = []
    for place in range(draw(st.integers(1, 3))):
        loop = [phase for work, volume in draw(LOOPS) for phase in (("work", work), ("io", volume))]
        members.append(Application.of(f"a{place}", loop * draw(st.integers(4, 14))))
    return Workload(Platform(2.0), tuple(members))


@st.composite
def placed_workloads(draw, *, nice: bool | None = None, applications: int = 5, resources: int = 4):
    """A workload with I/O resources and curves, and a placement of it; no chain takes less than half a second."""
    nice = draw(st.booleans()) if nice is None else nice
    workload = draw(workloads(nice=nice, applications=applications, phases=6))
    size = draw(st.integers(1, resources))
    speeds = st.sampled_from([0.5, 1.0, 1.0, 2.0, 4.0]) if nice else odd_floats(0.2, 8.0)
    members, placement = [], []
    for application in workload.applications:
        counts = range(1, size + 1) if nice else sorted({1, *draw(st.sets(st.integers(2, 6)))})
        curve = {count: draw(speeds) for count in counts}
        placement.append(tuple(draw(st.permutations(range(size))))[: draw(st.integers(1, size))])
        chain = list(application.phases)
        if sum(amount / (1.0 if kind == "work" else max(curve.values())) for kind, amount in chain) < 0.5:
            chain.append(("work", 1.0))
        members.append(replace(application, phases=Phases.of(chain), curve=Curve.of(curve)))
    nodes = draw(st.one_of(st.none(), st.just(8 * len(members))))
    platform = Platform(workload.platform.bandwidth, nodes=nodes, resources=size)
    return Workload(platform, tuple(members), workload.window), tuple(placement)


@st.composite
def scenes(draw, *, nice: bool | None = None, most: int = 7, window: bool | None = None):
    """What a policy may be shown: active applications with any mixture of caps, volumes and histories."""
    nice = draw(st.booleans()) if nice is None else nice
    count = draw(st.integers(1, most))
    bandwidth = draw(st.sampled_from([1.0, 2.0, 10.0]) if nice else odd_floats(0.3, 12.0))
    now = draw(st.sampled_from([0.0, 1.0, 8.0]) if nice else odd_floats(-3.0, 50.0))
    active = []
    for index in draw(st.permutations(range(count))):
        cap = bandwidth
        if draw(st.booleans()):
            cap = bandwidth * draw(st.sampled_from([0.25, 0.5, 0.75, 1.0]) if nice else odd_floats(0.01, 1.0))
        elapsed = draw(st.sampled_from([0.0, 1.0, 2.0, 4.0]) if nice else st.one_of(st.just(0.0), odd_floats(0.001, 60.0)))
        done = elapsed * draw(st.sampled_from([0.0, 0.5, 0.75, 1.0]) if nice else odd_floats(0.0, 1.0))
        posted = now - draw(st.sampled_from([0.0, 0.5, 1.0]) if nice else odd_floats(0.0, 5.0))
        omega = draw(st.sampled_from([0.0, 0.02, 0.5, 1.0, 5.0, 10.0, 1000.0]) if nice else odd_floats(1e-3, 1e5))
        remaining = draw(st.sampled_from([0.5, 1.0, 2.0, 3.0]) if nice else odd_floats(1e-3, 100.0))
        nodes = draw(st.integers(1, 9))
        more = draw(st.sampled_from([1.0, 1.5, 2.0]) if nice else odd_floats(1.0, 5.0))
        left = draw(st.sampled_from([0.0, 2.0, 5.0]) if nice else odd_floats(0.0, 90.0))
        active.append(
            Active(
                index,
                remaining,
                cap,
                round(posted, 9),
                done,
                now - elapsed,
                nodes,
                omega,
                volume=remaining * more,
                transferring=elapsed * draw(st.sampled_from([0.0, 0.25, 0.5]) if nice else odd_floats(0.0, 1.0)),
                whole=done + remaining / cap + left,
                rank=float(draw(st.integers(0, 9))),
                turn=index,
                rounds=draw(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 50.0])),
                reach=draw(st.sampled_from([0.0, 0.0, 0.0, 0.125, 0.5])) * cap,
                weight=draw(st.sampled_from([1.0, 1.0, 2.0, 0.5]) if nice else odd_floats(0.1, 9.0)),
                user=draw(st.integers(0, 3)),
                group=draw(st.integers(0, 2)),
            )
        )
    if draw(st.booleans()):
        holder = draw(st.sampled_from(active))
        holder.rate = holder.cap
    windowed = draw(st.booleans()) if window is None else window
    end = now + draw(st.sampled_from([0.5, 2.0, 16.0]) if nice else odd_floats(0.01, 200.0)) if windowed else math.inf
    parameter = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 8.0]) if nice else odd_floats(0.0, 40.0))
    return Scene(active, now, bandwidth, end, parameter, completed=draw(st.integers(0, count)))


def frozen(values, dtype) -> np.ndarray:
    array = np.array(values, dtype)
    array.flags.writeable = False
    return array


def view_of(scene: Scene) -> View:
    """The scene as policies of Penstock see it."""
    active, size = scene.active, len(scene.active)

    def column(name: str) -> np.ndarray:
        return frozen([getattr(a, name) for a in active], np.float64)

    return View(
        application=frozen([a.index for a in active], np.int64),
        remaining=column("remaining"),
        cap=column("cap"),
        posted=column("posted"),
        progress=column("progress"),
        release=column("release"),
        nodes=column("nodes"),
        mean_iteration=column("omega"),
        volume=column("volume"),
        rate=column("rate"),
        transferring=column("transferring"),
        whole=column("whole"),
        rank=column("rank"),
        rounds=column("rounds"),
        reach=column("reach"),
        weight=column("weight"),
        turn=frozen([a.turn for a in active], np.int64),
        user=frozen([a.user for a in active], np.int64),
        group=frozen([a.group for a in active], np.int64),
        degradation=frozen(scene.degradation[:size] if scene.degradation else [1.0] * size, np.float64),
        scratch=np.full(size, math.nan),
        spare=np.full(size, math.nan),
        order=np.full(size, -1, np.int64),
        now=scene.now,
        bandwidth=scene.bandwidth,
        window_end=scene.window_end,
        parameter=scene.parameter,
        completed=scene.completed,
    )


def rates_of(policy, scene: Scene) -> dict[int, float]:
    """The policy's rates by application."""
    rates = rates_for(policy, view_of(scene))
    return {a.index: float(rate) for a, rate in zip(scene.active, rates, strict=True)}


def rates_for(policy, view: View) -> np.ndarray:
    """The rates that the policy gives when it is asked as the engine asks, at places behind some others."""
    floats, integers, moment, degradation = tables_of(view)
    size, capacity = len(view.cap), floats.shape[1]
    _call(policy.compiled(), (floats, integers, moment, degradation), capacity, BEHIND, size)
    assert np.isnan(floats[GIVEN, :BEHIND]).all(), "it writes to its own places only"
    return floats[GIVEN, BEHIND:]


def key_for(policy, view: View, i: int) -> float:
    """The key of entry i in the policy's order, as the engine asks for it."""
    tables = tables_of(view)
    return _call(policy.compiled_key(), tables, tables[0].shape[1], BEHIND + i, result=ctypes.c_double)


BEHIND = 3
"""Places before those of a view."""


def tables_of(view: View) -> tuple[np.ndarray, ...]:
    """The view as engine and coordinator keep it."""
    capacity = BEHIND + len(view.cap)
    floats, integers = np.full((len(FLOATS) + 1, capacity), math.nan), np.full((len(INTEGERS), capacity), -1, np.int64)
    for table, names in ((floats, FLOATS), (integers, INTEGERS)):
        for name in names:
            table[ROW[name], BEHIND:] = getattr(view, name)
    return floats, integers, np.array([float(getattr(view, name)) for name in MOMENT]), np.array(view.degradation)


def _call(function, tables, *places, result=None):
    if not JIT:
        return function(*tables, *places)
    arguments = [*(table.ctypes.data for table in tables), *places]
    prototype = ctypes.CFUNCTYPE(result, *[ctypes.c_ssize_t] * len(arguments))
    return prototype(function.__wrapper_address__())(*arguments)


def suited(name: str, workload: Workload) -> Workload:
    """The workload as it is, or for a static order with everybody there at the begin: it knows no others."""
    if REGISTRY[name].family != STATIC:
        return workload
    at_once = [replace(a, release=min(a.release, workload.begin)) for a in workload.applications]
    return replace(workload, applications=tuple(at_once))
