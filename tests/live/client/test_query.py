"""Orders to the coordinator."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from penstock.live.client.errors import CoordinatorError
from penstock.live.client.link import ask_coordinator as ask


def test_a_coordinator_that_dies_while_it_answers_is_none(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen()

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b'{"type":"answer","se')

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(CoordinatorError, match=r"^no coordinator answers at .* \(it hung up\)"):
            ask(place, "state")
        thread.join()
