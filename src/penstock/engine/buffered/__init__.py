"""Runs beside a burst buffer (004 §3 and §7)."""

from penstock.engine.buffered.fill import Fill
from penstock.engine.buffered.run import Replay, replay

__all__ = ["Fill", "Replay", "replay"]
