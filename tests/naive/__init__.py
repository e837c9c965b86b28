"""Slow, obvious twins of the compiled code, written from the paper and the design, not from the sources they check."""
