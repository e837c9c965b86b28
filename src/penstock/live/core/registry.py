"""The clients by number, what has ended, and what the journal has yet to write."""

from __future__ import annotations

from penstock.live.core.clients import Client
from penstock.live.core.events import RegisterEvent
from penstock.live.core.recording import CompletedOperation


class Registry:
    """All clients that the coordinator knows, whether connected or not."""

    def __init__(self) -> None:
        self.clients: dict[int, Client] = {}
        self.next_number = 1
        self.completed = 0
        """Operations that have ended so far."""
        self.departed: list[str] = []
        """Jobs of the workload file that have come and gone."""
        self.ended: list[CompletedOperation] = []
        """Operations and clients that have ended; the journal empties the list."""
        self.changed: set[int] = set()
        """Numbers of the clients whose books have changed since `mark_written`."""
        self.regranted: set[int] = set()
        """Numbers of the clients whose grants have changed since then."""

    def add(self, now: float, event: RegisterEvent, max_rate: float, bandwidth: float) -> Client:
        """Enter a new client under the next number; its cap is the lower of `max_rate` and `bandwidth`, in bytes/s."""
        client = Client(
            number=self.next_number,
            job=event.job,
            user=event.user,
            uid=event.uid,
            key_digest=event.key_digest,
            nodes=event.nodes,
            max_rate=max_rate,
            cap=min(bandwidth, max_rate),
            registered=now,
            release=now - event.elapsed,
            done=event.elapsed if event.progress is None else event.progress,
            idle_since=now,
            lead=event.lead,
            dedicated_seconds=event.dedicated_seconds,
        )
        self.restore(client)
        return client

    def restore(self, client: Client) -> None:
        """Enter a client that has a number."""
        self.clients[client.number] = client
        self.next_number = max(self.next_number, client.number + 1)

    def remove(self, client: Client) -> None:
        """Drop the books of a client."""
        self.clients.pop(client.number, None)
        self.changed.add(client.number)

    def end_operation(self, now: float, client: Client, moved: float) -> None:
        """End the client's pending operation, of which `moved` bytes were moved."""
        operation = client.operation
        assert operation is not None
        self._record(client, operation.posted, now, moved, operation.rounds)
        client.end_operation(now, moved)
        self.completed += 1

    def record_leave(self, now: float, client: Client) -> None:
        """Record that the client has left."""
        self._record(client, now, now, 0.0, 1)

    def _record(self, client: Client, posted: float, end: float, volume: float, rounds: int) -> None:
        self.ended.append(
            CompletedOperation(
                application=client.number,
                job=client.job,
                nodes=client.nodes,
                cap=client.cap,
                registered=client.registered,
                posted=posted,
                end=end,
                volume=volume,
                rounds=rounds,
            )
        )

    def find(self, text: str) -> list[Client]:
        """The clients of that number or job name: first the one with the number, then the latest."""
        found = [client for client in self.clients.values() if text in (str(client.number), client.job)]
        return sorted(found, key=lambda client: (str(client.number) == text, client.number), reverse=True)

    def unwritten(self, *, full: bool = False) -> tuple[list[Client], list[int], dict[int, tuple[float, int]]]:
        """What the journal has to write.

        Args:
            full: Return all clients, not only those that have changed.

        Returns:
            The clients; the numbers of clients that are gone; and, for clients of which only the grants have changed, the
            rate in force in bytes/s and the number of the latest grant.
        """
        known = self.clients
        numbers = self.changed.union(known) if full else self.changed
        regranted = [known[number] for number in self.regranted - numbers if number in known]
        return (
            [known[number] for number in numbers if number in known],
            [number for number in numbers if number not in known],
            {client.number: (client.in_force, client.grant_number) for client in regranted},
        )

    def mark_written(self) -> None:
        """The journal has written everything, or does without."""
        self.changed.clear()
        self.regranted.clear()
