"""Benchmarks, run with ``python -m benchmarks``: ratios of contestants measured side by side in one process on one core."""
