"""Bounds for any schedule, optimal schedules of small instances, and instances on which policies fail (000 §5)."""

from penstock.theory.bounds import Bounds, bounds
from penstock.theory.optimum import Optimum, optimum

__all__ = ["Bounds", "Optimum", "bounds", "optimum"]
