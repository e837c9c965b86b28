"""The optional fields of a workload file that a workload has, under the names of the documentation."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.files import APPLICATION_KEYS, PLATFORM_KEYS
from penstock.model.platform import Buffer, Platform, total_bandwidth
from penstock.model.workload import Workload

_DEFAULTS = {"nodes": 1, "release": 0.0, "lead": 0.0}
_PLATFORM = tuple(name for name in PLATFORM_KEYS if name not in ("bandwidth", "buffer"))
_MARKS = ("name", "source")
"""Fields that tell people what they see, and no program what to do."""
_APPLICATION = tuple(name for name in APPLICATION_KEYS if name not in (*_MARKS, *_DEFAULTS))


def fields(workload: Workload) -> list[str]:
    """The names of the fields that carry information.

    A default carries none, nor does a bandwidth that only stands for the sum of the curves.
    """
    return [*_of_platform(workload.platform, workload), *_of_buffer(workload.platform.buffer), *_of_applications(workload)]


def _of_platform(platform: Platform, workload: Workload) -> Iterator[str]:
    curves = [application.curve for application in workload.applications if application.curve is not None]
    if not workload.on_resources or platform.bandwidth != total_bandwidth(curves):
        yield "platform.bandwidth"
    yield from (f"platform.{name}" for name in _PLATFORM if getattr(platform, name) is not None)
    if workload.window is not None:
        yield "window"
        yield "window[1]"


def _of_buffer(buffer: Buffer | None) -> Iterator[str]:
    """A buffer whose size has to be found has one name; others are named by their parts."""
    if buffer is None:
        return
    if buffer.size is None:
        yield "platform.buffer"
        return
    yield from (f"platform.buffer.{name}" for name in buffer.document())


def _of_applications(workload: Workload) -> Iterator[str]:
    members = workload.applications
    for name, default in _DEFAULTS.items():
        if any(getattr(application, name) != default for application in members):
            yield f"applications[].{name}"
    for name in _APPLICATION:
        if any(getattr(application, name) is not None for application in members):
            yield f"applications[].{name}"
