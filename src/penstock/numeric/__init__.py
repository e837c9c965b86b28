"""Below everything: compiled code, arrays, and the one table of tolerances."""
