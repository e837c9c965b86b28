"""Dates by which clients must act: renew their lease, acknowledge a reduced grant, or come back.

A sign of life costs constant time. Finding what is due costs time proportional to what is due and to the number of clients
that have a reduced grant to acknowledge.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator

from penstock.live.core.clients import Client


class Leases:
    """The deadlines of all clients.

    Args:
        lease: Seconds of silence after which a client loses its grant.
        keep: Seconds for which the books of a client are kept after that.
        keep_most: Largest number of clients whose books are kept so.
    """

    def __init__(self, lease: float, keep: float, keep_most: int) -> None:
        self.lease = lease
        self.keep = keep
        self.keep_most = keep_most
        self._heard: OrderedDict[int, Client] = OrderedDict()
        self._deadlines: dict[int, tuple[float, Client]] = {}
        self._away: OrderedDict[int, tuple[float, Client]] = OrderedDict()

    def renew(self, now: float, client: Client) -> None:
        """Start a new lease: the client gave a sign of life."""
        client.last_heard = now
        self._heard[client.number] = client
        self._heard.move_to_end(client.number)
        self._away.pop(client.number, None)

    def set_deadline(self, client: Client, deadline: float) -> None:
        """Set the date by which the client must acknowledge a reduced grant; an earlier deadline stands."""
        self._deadlines.setdefault(client.number, (deadline, client))

    def clear_deadline(self, client: Client) -> None:
        """The client has no reduced grant to acknowledge."""
        self._deadlines.pop(client.number, None)

    def mark_away(self, now: float, client: Client) -> None:
        """The client has lost its place; its books are kept for a while."""
        self._heard.pop(client.number, None)
        self.clear_deadline(client)
        self._away[client.number] = (now, client)

    def forget(self, client: Client) -> None:
        """Drop all dates of the client."""
        for dates in (self._heard, self._deadlines, self._away):
            dates.pop(client.number, None)

    def silent(self, now: float) -> Iterator[Client]:
        """Clients whose lease has ended. The caller must mark each as away before it asks for the next."""
        while self._heard:
            client = next(iter(self._heard.values()))
            if client.last_heard + self.lease > now:
                return
            yield client

    def overdue(self, now: float) -> list[Client]:
        """Clients that did not acknowledge a reduced grant by its deadline."""
        return [client for deadline, client in self._deadlines.values() if deadline <= now]

    def expired(self, now: float) -> Iterator[Client]:
        """Clients away for longer than `keep`, and the oldest of too many. The caller must forget each."""
        while self._away:
            since, client = next(iter(self._away.values()))
            if since + self.keep > now and len(self._away) <= self.keep_most:
                return
            yield client

    def next_date(self) -> float:
        """The earliest of these dates; infinite if there is none."""
        silent = next(iter(self._heard.values())).last_heard + self.lease if self._heard else math.inf
        expired = next(iter(self._away.values()))[0] + self.keep if self._away else math.inf
        return min(silent, expired, min((deadline for deadline, _ in self._deadlines.values()), default=math.inf))

    def state(self) -> tuple[list[tuple[int, float]], list[tuple[int, float]], list[tuple[int, float]]]:
        """The dates by number of client: last signs of life, deadlines, and since when clients are away."""
        return (
            [(number, client.last_heard) for number, client in self._heard.items()],
            sorted((number, deadline) for number, (deadline, _) in self._deadlines.items()),
            [(number, since) for number, (since, _) in self._away.items()],
        )
