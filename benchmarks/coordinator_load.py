"""A load for one coordinator: many registered applications, some active, each a connection that speaks the protocol.

Runs as a process of its own: ``python -m benchmarks.coordinator_load SOCKET PID REGISTERED ACTIVE EVENTS_PER_S SECONDS``.
Every step releases one operation and announces another application's, which is two events; lower grants are answered at
once, and those answers are not counted. With 0 events a second it goes as fast as answers come, `WINDOW` steps at a time;
with 0 active applications they only give signs of life.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

from penstock.live.protocol import (
    Beat,
    Grant,
    Inform,
    Lines,
    Register,
    Registered,
    Release,
    Request,
    Yielded,
    decode_reply,
    encode,
)

WINDOW = 16
VOLUME = 1e9


class Member(asyncio.Protocol):
    """One application."""

    def __init__(self) -> None:
        self.seq = 0
        self.operation = 0
        self.rate = 0.0
        self.asked = 0.0
        self.ready = asyncio.get_running_loop().create_future()
        self.lines = Lines()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is connected."""
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more can be measured."""
        if not DONE:
            sys.stderr.write(f"benchmarks: the coordinator has hung up: {exc}\n")
            os._exit(1)

    def data_received(self, data: bytes) -> None:
        """Take the time of the first answer, and yield at once."""
        for line in self.lines.feed(data):
            message = decode_reply(line)
            if isinstance(message, Grant):
                if message.operation != self.operation:
                    continue
                if self.asked:
                    LATENCIES.append((self.asked, time.perf_counter() - self.asked))
                    COUNTS["begun"] += message.rate > 0.0
                    self.asked = 0.0
                    if not self.ready.done():
                        self.ready.set_result(None)
                if message.rate < self.rate:
                    self.say(Yielded(self.next(), message.number))
                    COUNTS["yielded"] += 1
                self.rate = message.rate
            elif isinstance(message, Registered) and not self.ready.done():
                self.ready.set_result(None)

    def next(self) -> int:
        """The number of the next message."""
        self.seq += 1
        return self.seq

    def say(self, message: Request) -> None:
        """Send it."""
        self.transport.write(encode(message))

    def inform(self) -> asyncio.Future[None]:
        """Post an operation; done when it is answered."""
        self.operation += 1
        self.rate = 0.0
        self.ready = asyncio.get_running_loop().create_future()
        self.asked = time.perf_counter()
        self.say(Inform(self.next(), self.operation, VOLUME, 16))
        return self.ready

    def release(self) -> None:
        """The operation is over, without a byte: who reports more than it was granted is sent away."""
        self.say(Release(self.next(), self.operation, 0.0))


LATENCIES: list[tuple[float, float]] = []
"""When something was asked, and how long the answer took."""
COUNTS = {"yielded": 0, "begun": 0}
"""Lower grants that were answered, and first grants that were no pause."""
DONE: list[bool] = []
BEAT_SECONDS = 10.0 / 3.0
LOOK_SECONDS = 0.1


def processor_seconds(pid: int) -> float:
    """What the process has used so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def stolen_seconds() -> float:
    """Processor time that the machine's host has given to others, so far."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / os.sysconf("SC_CLK_TCK")


async def watch(begun: float, stolen: list[float]) -> None:
    """Note after every `LOOK_SECONDS` what was stolen by then."""
    while True:
        stolen.append(stolen_seconds())
        await asyncio.sleep(begun + LOOK_SECONDS * len(stolen) - time.perf_counter())


async def rest(members: list[Member], pid: int, seconds: float) -> None:
    """Everybody works and only gives signs of life."""
    begun, used = time.perf_counter(), processor_seconds(pid)
    for turn in range(int(seconds / BEAT_SECONDS * len(members))):
        members[turn % len(members)].say(Beat(members[turn % len(members)].next()))
        due = begun + (turn + 1) * BEAT_SECONDS / len(members)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
    used, elapsed = processor_seconds(pid) - used, time.perf_counter() - begun
    DONE.append(True)
    print(json.dumps({"processor_share": used / elapsed}))


async def main(path: str, pid: int, registered: int, active: int, per_second: float, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    members = []
    for number in range(registered):
        _, member = await loop.create_unix_connection(Member, path)
        member.say(Register(member.next(), 1, f"job{number}", nodes=1 + number % 64, bandwidth=1e9 * (1 + number % 7)))
        members.append(member)
    await asyncio.gather(*(member.ready for member in members))
    if active == 0:
        await rest(members, pid, seconds)
        return
    rng = random.Random(1)
    rng.shuffle(members)
    busy, idle = members[:active], members[active:]
    await asyncio.gather(*(member.inform() for member in busy))
    LATENCIES.clear()
    COUNTS.update(yielded=0, begun=0)
    used = processor_seconds(pid)
    begun = time.perf_counter()
    stolen: list[float] = []
    watching = asyncio.create_task(watch(begun, stolen))
    steps = 0

    def step() -> asyncio.Future:
        nonlocal steps
        steps += 1
        place = rng.randrange(len(busy))
        for _ in busy:
            if busy[place].ready.done():
                break
            place = (place + 1) % len(busy)
        leaving, coming = busy[place], idle.pop(rng.randrange(len(idle)))
        leaving.release()
        busy[place] = coming
        idle.append(leaving)
        return coming.inform()

    async def as_fast_as_it_goes() -> None:
        while time.perf_counter() - begun < seconds:
            await step()

    if per_second == 0.0:
        await asyncio.gather(*(as_fast_as_it_goes() for _ in range(WINDOW)))
    else:
        while (now := time.perf_counter() - begun) < seconds:
            due = int(now * per_second / 2.0)
            while steps < due:
                step()
            await asyncio.sleep(0.0005)
    elapsed = time.perf_counter() - begun
    used = processor_seconds(pid) - used
    await asyncio.sleep(0.1)
    DONE.append(True)
    watching.cancel()
    undisturbed = {look for look in range(1, len(stolen) - 1) if stolen[look + 1] == stolen[look - 1]}  # and the one before
    latencies = [latency for _, latency in LATENCIES]
    quiet = [latency for asked, latency in LATENCIES if int((asked - begun) / LOOK_SECONDS) in undisturbed]
    print(
        json.dumps(
            {
                "events_per_s": 2 * steps / elapsed,
                "answers_per_s": COUNTS["yielded"] / elapsed,
                "begun_share": COUNTS["begun"] / len(LATENCIES),
                "processor_share": used / elapsed,
                "p50_ms": quantile_ms(latencies, 0.5),
                "p99_ms": quantile_ms(latencies, 0.99),
                "p99_ms_undisturbed": quantile_ms(quiet, 0.99) if quiet else None,
                "undisturbed_seconds": LOOK_SECONDS * len(undisturbed),
                "stolen_share": (stolen[-1] - stolen[0]) / elapsed,
            }
        )
    )


def quantile_ms(seconds: list[float], part: float) -> float:
    """The value that so much of them does not pass, in ms."""
    return 1e3 * sorted(seconds)[int(part * len(seconds))]


if __name__ == "__main__":
    path, pid, registered, active, per_second, seconds = sys.argv[1:]
    asyncio.run(main(path, int(pid), int(registered), int(active), float(per_second), float(seconds)))
