"""Who may connect, and how much: limits of users and hosts, and of peers that have not said who they are.

A peer is a stranger until it has registered, joined or given a command. On the Unix socket the kernel tells its user. Over
TCP it must also show the token. There strangers have limits apart from those of peers with the token: a small number of
connections per host, of which the oldest is closed for a new one, and their own budget of messages. After some wrong tokens
from a host, the coordinator checks only so many tokens per second from it, over all its connections. When the process runs
out of file descriptors, it closes connections of strangers first, and it keeps some descriptors for the operator.
"""

from __future__ import annotations

import resource
from collections import Counter, OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from penstock.live.server.journal import Clock
    from penstock.live.server.peer import Peer
    from penstock.live.server.settings import ServerSettings

Key: TypeAlias = int | str
"""Whose limits a peer shares: its uid, or over TCP its host."""

STRANGERS: Final = 128
"""Connections of one host that have not shown the token."""
EXTRA_CONNECTIONS: Final = 64
"""Connections of a user beyond those of its clients: for peers that are about to register, and for questions."""
KEPT_FILES: Final = 32
"""Files that connections leave free: for the journal, for what Python opens, and for the operator."""
OPERATOR_FILES: Final = 8
"""How many of them are for connections of the operator."""
HTTP_FILES: Final = 64
"""Files for connections over HTTP."""
FREE_GUESSES: Final = 5
"""Wrong tokens from a host that cause no delay."""
GUESSES_PER_SECOND: Final = 10.0
"""Tokens per second that are checked from a host with more wrong tokens than that."""
LONGEST_DELAY: Final = 2.0
"""Longest wait of a token before it is checked, in seconds; a token that would wait longer is refused."""
FORGIVING_SECONDS: Final = 60.0
"""Seconds after which one wrong token is forgiven."""
MOST_WRONG: Final = 30.0
"""Most wrong tokens that are remembered of a host, so that half an hour later all are forgiven."""
MOST_HOSTS: Final = 4096
"""Hosts and users whose wrong tokens and budgets are remembered."""


class Bucket:
    """A token bucket: `rate` tokens a second, at most those of one second.

    Args:
        rate: Tokens a second.
        now: The date at which it is full, in seconds.
    """

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._then = now

    def take(self, count: int, now: float) -> float:
        """Take `count` tokens at the date `now`; returns the seconds until the bucket has them, 0 if it has them now."""
        tokens = self._tokens + (now - self._then) * self._rate  # as `left`, without a call: this is done for each message
        if tokens > self._rate:
            tokens = self._rate
        self._tokens = tokens = tokens - count
        self._then = now
        return 0.0 if tokens >= 0.0 else -tokens / self._rate

    def left(self, now: float) -> float:
        """The tokens in the bucket at the date `now`; below 0 when more were taken."""
        return min(self._rate, self._tokens + (now - self._then) * self._rate)


class Guesses:
    """Limits how many tokens of a host are looked at, over all its connections."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[Key, tuple[float, float, Bucket]] = OrderedDict()
        """By host: wrong tokens that are not forgiven, since when they are counted so, and the budget."""

    def failed(self, host: Key, now: float) -> None:
        """The `host` has sent a wrong token at the date `now`."""
        wrong, bucket = self._wrong(host, now)
        self._hosts[host] = (min(wrong + 1.0, MOST_WRONG), now, bucket or Bucket(GUESSES_PER_SECOND, now))
        self._hosts.move_to_end(host)
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.popitem(last=False)

    def delay(self, host: Key, now: float) -> float | None:
        """Seconds from `now` before a token of this `host` is looked at; None if too many wait already."""
        wrong, bucket = self._wrong(host, now)
        if bucket is None or wrong < FREE_GUESSES:
            return 0.0
        wait = bucket.take(1, now)
        if wait > LONGEST_DELAY:
            bucket.take(-1, now)
            return None
        return wait

    def _wrong(self, host: Key, now: float) -> tuple[float, Bucket | None]:
        if host not in self._hosts:
            return 0.0, None
        wrong, since, bucket = self._hosts[host]
        return max(0.0, wrong - (now - since) / FORGIVING_SECONDS), bucket


class Connections:
    """All connections, and what they share: the limits of each user and host, and counts of misbehaviour.

    Args:
        settings: The settings, with the limits.
        clock: The coordinator's clock.
    """

    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        self.peers: set[Peer] = set()
        self.slowed: set[Peer] = set()
        """Peers that send too fast and are not read at the moment."""
        self.guesses = Guesses()
        self.refused = 0
        """Wrong messages so far."""
        self.cut_off = 0
        """Peers so far that did not read their replies."""
        self.turned_away = 0
        """Connections so far that gave way to others, or found no room."""
        self.capacity = _capacity(settings)
        self._settings = settings
        self._clock = clock
        self._strangers: OrderedDict[Peer, None] = OrderedDict()
        """Peers that have not said who they are, oldest first."""
        self._strangers_of: dict[Key, OrderedDict[Peer, None]] = {}
        self._counts: Counter[Key] = Counter()
        self._buckets: OrderedDict[tuple[Key, bool], Bucket] = OrderedDict()

    def add(self, peer: Peer) -> str | None:
        """Enter a new connection, `peer`, for which an older stranger may have to go; why there is no room for it, if so."""
        self.peers.add(peer)
        self._counts[peer.user] += 1
        own = self._strangers_of.setdefault(peer.user, OrderedDict())
        self._strangers[peer] = own[peer] = None
        while len(own) > self._most_strangers(peer):
            self._turn_away(next(iter(own)))
        while len(self.peers) > self.capacity and len(self._strangers) > 1:
            self._turn_away(next(iter(self._strangers)))
        if len(self.peers) > self.capacity + (OPERATOR_FILES if peer.is_operator else 0):
            return "too many connections are open; expected fewer"
        if peer.local and self._counts[peer.user] > self._most_connections and not peer.is_operator:
            return "too many connections of this user; expected fewer"
        return None

    def introduced(self, peer: Peer) -> None:
        """The peer has said, and proved, who it is."""
        if peer in self._strangers:
            own = self._strangers_of[peer.user]
            del self._strangers[peer], own[peer]
            if not own:
                del self._strangers_of[peer.user]

    def is_stranger(self, peer: Peer) -> bool:
        """Whether the peer has yet to say who it is."""
        return peer in self._strangers

    def hold(self, peer: Peer) -> None:
        """The peer has spoken and must wait: silent ones give way before it."""
        self._strangers.move_to_end(peer)
        self._strangers_of[peer.user].move_to_end(peer)

    def remove(self, peer: Peer) -> None:
        """Drop the connection `peer`, which has ended."""
        if peer not in self.peers:
            return
        self.introduced(peer)
        self.peers.discard(peer)
        self.slowed.discard(peer)
        self._counts[peer.user] -= 1
        if self._counts[peer.user] <= 0:
            del self._counts[peer.user]

    def bucket(self, peer: Peer) -> Bucket:
        """The messages that all connections of the user of `peer` together may send.

        Strangers of a host have a budget of their own.
        """
        key = (peer.user, peer.local or peer not in self._strangers)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket(self._settings.message_rate_per_user, self._clock.now())
            if len(self._buckets) > MOST_HOSTS:
                self._buckets.popitem(last=False)
        return bucket

    @property
    def _most_connections(self) -> int:
        return self._settings.max_applications_per_user + EXTRA_CONNECTIONS

    def _most_strangers(self, peer: Peer) -> int:
        return self._most_connections if peer.local else STRANGERS

    def _turn_away(self, peer: Peer) -> None:
        """Close the connection of a stranger, unless what it has sent by now says who it is."""
        peer.look()
        if peer in self._strangers:
            peer.turn_away("too many connections say nothing; expected a register or join message at once")


def _capacity(settings: ServerSettings) -> int:
    """Connections that the process can hold beside what it has open, with some to spare."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else 64
    return max(OPERATOR_FILES, soft - opened - KEPT_FILES - (HTTP_FILES if settings.http else 0))
