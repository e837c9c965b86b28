"""The live page in a real browser, with a real coordinator and real clients."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from penstock.live.client import Job
from tests.live.server.running import Raw, running

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page(browser):
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("requestfailed", lambda request: faults.append(request.url))
    page.set_default_timeout(20_000)
    page.faults = faults
    yield page
    page.close()


@pytest.fixture
def address():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


@contextlib.contextmanager
def writers(folder, where, *names):
    """Real clients that write the same megabyte over and over while the block runs."""
    stop = threading.Event()

    def write(name):
        with Job(name, address=where) as job, (folder / name).open("wb") as file, job.io(10**9, rounds=1000) as io:
            while not stop.is_set():
                file.seek(0)
                io.write(file, bytes(1_000_000))

    threads = [threading.Thread(target=write, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(30.0)
            assert not thread.is_alive()


def test_who_does_io_is_seen(tmp_path, page, address):
    with running(tmp_path, http=address, bandwidth=4e6) as it, Raw(it.settings.socket) as third:
        third.register(HOSTILE)
        with writers(tmp_path, it.settings.socket, "climate", "genomics"):
            page.goto(f"http://{address}/")
            page.wait_for_selector("tr.transferring >> nth=1")
            assert page.inner_text("#policy") == "fair-share"
            assert page.inner_text("#share") == "4 MB/s of 4 MB/s"
            assert page.inner_text("#counts") == "2 transferring, 0 waiting, 0 away, 1 working"
            rates = [row.split("\t")[2] for row in page.locator("tr.transferring").all_inner_texts()]
            assert rates == ["2 MB/s", "2 MB/s"]
            assert page.inner_text("tr.working td:first-child") == HOSTILE  # and nothing of it has run
            page.wait_for_selector("#rates polygon >> nth=1", state="attached")
            page.wait_for_selector("#decisions >> text=climate")
            it.ask("policy", "fcfs")
            page.wait_for_selector("tr.waiting")
            assert page.inner_text("#policy") == "fcfs"
            page.wait_for_selector("#decisions >> text=pauses")
            it.ask("policy", "fair-share")
        page.wait_for_selector("tr.transferring", state="detached")
        assert page.faults == []


def test_a_coordinator_that_is_gone_is_said_and_comes_back(tmp_path, page, address):
    with running(tmp_path, http=address):
        page.goto(f"http://{address}/")
        page.wait_for_selector("#share:not(:empty)")
        assert page.is_hidden("#trouble")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "The coordinator does not answer" in page.inner_text("#trouble")
    with running(tmp_path, http=address):
        page.wait_for_selector("#trouble[hidden]", state="attached")


def left_edges(page):
    """Where the drawn rates begin, as parts of the width."""
    points = page.locator("#rates polygon").evaluate_all("all => all.map((one) => one.getAttribute('points'))")
    return [min(float(point.split(",")[0]) for point in one.split()) / 960.0 for one in points]


def test_nothing_is_drawn_of_the_time_before_the_page_was_opened(tmp_path, page, address):
    """The coordinator remembers grants of a minute ago; what happened between them and since then, it does not."""
    with running(tmp_path, http=address) as it, Raw(it.settings.socket) as one, Raw(it.settings.socket) as two:
        for peer in (one, two):
            peer.register("twin")
        one.send("inform", operation=1, volume=1e12)
        one.until("grant")

        def a_minute_ago():
            server = it.server
            server._recent[0] = server._recent[0]._replace(now=server._recent[0].now - 60.0)

        it.call(a_minute_ago)
        page.goto(f"http://{address}/")
        page.wait_for_selector("#rates polygon", state="attached")
        assert min(left_edges(page)) > 0.75
        assert sorted(page.locator("#applications td:first-child").all_inner_texts()) == ["twin (1)", "twin (2)"]
        assert page.faults == []
