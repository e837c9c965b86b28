"""The limits of a site, which hold whatever a client says: for turns, rounds, claims and overruns.

Every default means "no limit", so that a core with default limits does what the engine does.

What happens to a client that moves more than it is granted, by its own reports: a warning, a lower cap, then a bar.

A client overruns when it reports more than `penstock.live.core.pending.OVERRUN` times what its grants allowed, plus a round.
Reports come ten times a second, so overruns within a lease count as one strike. The client is warned at the first strike.
From `Limits.lowered_after` strikes on, its cap is divided by the factor of the overrun, for `Limits.penalty` seconds. From
`Limits.barred_after` strikes on, it is sent away, and for `Limits.penalty` seconds its operations wait. So do the operations
of applications that its user registers in that time (over TCP, where the user is not known: of the same job name). When a
client keeps to its grants for `Limits.penalty` seconds, and for a lease at least, its strikes are forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.live.core.clients import NEVER, NO_GROUP, Client, number_of_gid, number_of_name

BY_APPLICATION: Final = "application"
BY_USER: Final = "user"
SHARED_BY: Final = (BY_APPLICATION, BY_USER)
"""What counts as one for the policy."""


@dataclass(frozen=True)
class Limits:
    """The limits of a site, times in seconds.

    Example:
        >>> Limits(longest_turn=600.0, longest_round=60.0).watch(lease=10.0)
        70.0
    """

    longest_turn: float = math.inf
    """How long an operation may have bandwidth while others wait; then it goes behind the others."""
    longest_round: float = math.inf
    """The longest time that a round counts. A pause must take effect within a lease plus the time of a round."""
    least_reached: float = 0.0
    """Part of what it is granted that an operation must reach while others wait; below that its turn ends early."""
    max_elapsed_claim: float = math.inf
    """Seconds before its registration that a client may claim to have run."""
    max_nodes: float = math.inf
    """The nodes of the machine; a claim of more is cut to it."""
    share_by: str = BY_APPLICATION
    """Whether each application counts as one for the policy, or each user with all of the user's applications."""
    planned_uid: int | None = None
    """The only user whose clients may have the names of the workload; None for whoever is first."""
    lowered_after: int = 0
    """Overruns after which the cap of a client is lowered for a time; 0 for never."""
    barred_after: int = 0
    """Overruns after which a client is barred for a time; 0 for never."""
    penalty: float = 60.0
    """How long a lower cap or a bar lasts. After so long without an overrun, earlier ones no longer count."""

    weights: Mapping[int, float] = field(default_factory=dict)
    """Weights of users by uid, for policies that divide by weight; 1 for all others, and for users that are not known."""
    group_weights: Mapping[int, float] = field(default_factory=dict)
    """Weights of the operating system's groups by gid. If there are any, only these groups count as groups."""
    group_names: Mapping[str, int] = field(default_factory=dict)
    """The gids of these groups, by what a client may call them."""

    @property
    def by_user(self) -> bool:
        """Whether each user counts as one."""
        return self.share_by == BY_USER

    def weight(self, client: Client) -> float:
        """The weight of a `client`: that of its user times that of its group; 1 for those that are not known."""
        of_user = self.weights.get(client.uid, 1.0) if client.uid >= 0 else 1.0
        return of_user * self.group_weights.get(client.gid, 1.0)

    def proven_group(self, claim: str, gids: Sequence[int]) -> int:
        """The group that a client has a part in.

        Args:
            claim: The name of the group that it says it belongs to; empty if it says none.
            gids: The groups that it does belong to, its process's own one first, as the kernel says.

        Returns:
            The gid of the group that it claims, or that its process has, if that has a weight and it belongs to it, else
            `NO_GROUP`.
        """
        gid = self.group_names.get(claim, NO_GROUP) if claim else next(iter(gids), NO_GROUP)
        return gid if gid in gids and gid in self.group_weights else NO_GROUP

    def group_number(self, client: Client) -> int:
        """The number by which policies know the group of a `client`.

        Where no group has a weight, a group is what clients say. Else it is proven, and those without one count by user.
        """
        if not self.group_weights:
            return number_of_name(client.group, client.number)
        return number_of_gid(client.gid) if client.gid in self.group_weights else client.user_number

    def watch(self, lease: float) -> float:
        """Seconds of a turn in which an operation must reach `least_reached` of its grants: a lease and a longest round."""
        return min(self.longest_turn, lease + self.longest_round)


NO_LIMITS: Final = Limits()


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
        """Bar a new `client` at the date `now` if its user is barred."""
        client.barred_until = self._bars.get(_key(client), NEVER)
        self._bars = {key: date for key, date in self._bars.items() if date > now}


def _key(client: Client) -> int | str:
    return client.uid if client.uid >= 0 else client.job
