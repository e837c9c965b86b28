"""Where workloads come from: generators."""

from penstock.workloads.demo import demo
from penstock.workloads.synthetic import Synthetic, synthetic

__all__ = ["Synthetic", "demo", "synthetic"]
