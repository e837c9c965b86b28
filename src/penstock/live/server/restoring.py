"""The start of a coordinator: its clock and core as the journal has them, or new ones."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Final

from penstock.live.client.transfer import SLICE
from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.measuring import UNLIMITED, MeasuredBandwidth
from penstock.live.server.journal import Clock, Journal, Present
from penstock.live.server.settings import AUTO, PREDICTED, ServerSettings
from penstock.model import Degradation, InputError
from penstock.model.files import read

LOG: Final = logging.getLogger("penstock.coordinator")
MIN_UPDATE_INTERVAL: Final = 2.0 * SLICE
"""Seconds for which small changes of a rate are deferred: the time in which a client moves two slices."""


@dataclass(frozen=True)
class Restored:
    """What a coordinator starts with."""

    clock: Clock
    core: Core
    note: str = ""
    """Why the policy is not the one in the settings, if so."""


def restore(journal: Journal, settings: ServerSettings) -> Restored:
    """Read the journal.

    A policy that was changed at run time survives a restart with the same settings, if it still can be used. Clients that
    the policy does not plan for keep their books and are not served.

    Args:
        journal: The journal.
        settings: The settings of the coordinator.

    Raises:
        InputError: If the journal cannot be read, or the policy of the settings cannot be used.
    """
    present, clients = journal.load()
    if present is None:
        clock = Clock()
        return Restored(clock, _core(settings, settings.policy, clock.now(), None))
    clock = Clock(present.mark)
    if present.configured == settings.policy != present.policy:
        try:
            core = _core(settings, present.policy, clock.now(), present.bandwidth)
        except InputError as error:
            LOG.error("%s; going on with %s", error, settings.policy)
        else:
            note = f"set by `penstock ctl policy`; the settings say {settings.policy}"
            return Restored(clock, _filled(core, present, clients), note)
    core = _core(settings, settings.policy, clock.now(), present.bandwidth)
    return Restored(clock, _filled(core, present, clients))


def _filled(core: Core, present: Present, clients: list[Client]) -> Core:
    core.registry.next_number = present.next_number
    unserved = core.restore(clients, present.departed)
    if unserved:
        names = ", ".join(f"{client.job!r} ({client.number})" for client in unserved[:8])
        more = f" and {len(unserved) - 8} others" if len(unserved) > 8 else ""
        text = "policy %s serves the applications of its workload only; %s%s, known from before, are not served"
        LOG.warning(text, core.policy.name, names, more)
    return core


def _core(settings: ServerSettings, policy: str, now: float, last_bandwidth: float | None) -> Core:
    """The core of these settings; a B that is measured starts from the last one."""
    measured = None
    if settings.bandwidth == AUTO:
        if settings.degradation:
            raise InputError("degradation", "it is a part of a known bandwidth; expected --bandwidth RATE instead of auto")
        known = last_bandwidth if last_bandwidth is not None and last_bandwidth < UNLIMITED else None
        measured = MeasuredBandwidth(known or settings.first_bandwidth or None)
    return Core(
        policy,
        measured.bandwidth if measured is not None else settings.bandwidth,
        node_bandwidth=settings.node_bandwidth,
        lease=settings.lease,
        keep=settings.keep,
        keep_most=settings.max_applications,
        min_update_interval=MIN_UPDATE_INTERVAL,
        limits=settings.limits,
        workload=read(settings.workload) if settings.workload else None,
        now=now,
        degradation=Degradation.of(json.loads(settings.degradation)) if settings.degradation else None,
        measured=measured,
        observe=settings.observe,
        predicted=settings.information == PREDICTED,
    )
