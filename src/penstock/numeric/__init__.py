"""The lowest layer: compiled code, array types, and the one table of tolerances."""
