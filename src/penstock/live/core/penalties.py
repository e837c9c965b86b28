"""What happens to a client that moves more than it is granted, by its own reports: a warning, a lower cap, then a bar.

A client overruns when it reports more than `penstock.live.core.pending.OVERRUN` times what its grants allowed, plus a round.
Reports come ten times a second, so overruns within a lease count as one strike. The client is warned at the first strike.
From `Limits.lowered_after` strikes on, its cap is divided by the factor of the overrun, for `Limits.penalty` seconds. From
`Limits.barred_after` strikes on, it is sent away, and for `Limits.penalty` seconds its operations wait. So do the operations
of applications that its user registers in that time (over TCP, where the user is not known: of the same job name). When a
client keeps to its grants for `Limits.penalty` seconds, and for a lease at least, its strikes are forgotten.
"""

from __future__ import annotations

from typing import Final

from penstock.live.core.limits import Limits
from penstock.live.core.registry import NEVER, Client

LEAST_PART: Final = 1 / 16
"""Smallest part that a cap is cut to: a client that cannot move data cannot show that it keeps to its grants."""


class Penalties:
    """Counts overruns and says what follows from them.

    Args:
        limits: The limits of the site.
        lease: Overruns within so many seconds count as one.
    """

    def __init__(self, limits: Limits, lease: float) -> None:
        self._limits = limits
        self._lease = lease
        self._bars: dict[int | str, float] = {}
        """Until when new clients of a user are barred: by uid, or by job where the user is not known."""

    def strike(self, now: float, client: Client, factor: float) -> str | None:
        """Count an overrun.

        Args:
            now: The date, in seconds.
            client: Who has moved more than it was granted.
            factor: How many times more, above 1.

        Returns:
            What to tell the client; None if it has been told. `Client.barred_until` says whether it is barred now.
        """
        limits = self._limits
        if client.strikes and now < client.struck + self._lease:
            return None
        client.strikes = 1 if now >= client.struck + max(limits.penalty, self._lease) else client.strikes + 1
        client.struck = now
        what = f"it has moved {factor:.3g} times what it was granted"
        if limits.barred_after and client.strikes >= limits.barred_after:
            client.barred_until = now + limits.penalty
            self._bars[_key(client)] = client.barred_until
            return f"{what}, {client.strikes} times now; its operations wait for {limits.penalty:g} s"
        if limits.lowered_after and client.strikes >= limits.lowered_after:
            client.lowered_to = max(LEAST_PART, 1.0 / factor)
            client.lowered_until = now + limits.penalty
            part = f"{client.lowered_to:.0%} of its cap"
            return f"{what}, {client.strikes} times now; it has at most {part} for {limits.penalty:g} s"
        return f"{what}; it is held back if that goes on"

    def admit(self, now: float, client: Client) -> None:
        """Bar a new client whose user is barred."""
        client.barred_until = self._bars.get(_key(client), NEVER)
        self._bars = {key: date for key, date in self._bars.items() if date > now}


def _key(client: Client) -> int | str:
    return client.uid if client.uid >= 0 else client.job
