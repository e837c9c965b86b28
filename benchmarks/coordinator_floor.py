"""A server that only answers: what latency would be without a coordinator's work, on this machine at this moment.

Runs as a process of its own: ``python -m benchmarks.coordinator_floor SOCKET``. It speaks the same protocol over the same
kind of socket and event loop, grants whatever is announced at once, and writes nothing down.
"""

from __future__ import annotations

import asyncio
import sys

from penstock.live.protocol import Grant, Inform, Lines, Register, Registered, decode_request, encode


class Peer(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connects."""
        self.transport, self.lines, self.grants = transport, Lines(), 0

    def data_received(self, data: bytes) -> None:
        """Answer what wants an answer."""
        for line in self.lines.feed(data):
            message = decode_request(line)
            if isinstance(message, Inform):
                self.grants += 1
                self.transport.write(encode(Grant(message.operation, self.grants, 1e9)))
            elif isinstance(message, Register):
                self.transport.write(encode(Registered(message.seq, 1, "", 10.0, "none")))


async def main(path: str) -> None:
    server = await asyncio.get_running_loop().create_unix_server(Peer, path, backlog=1024)
    sys.stderr.write("sharing nothing\n")
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
