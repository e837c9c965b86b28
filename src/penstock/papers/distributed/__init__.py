"""Paper 002: scheduling distributed I/O resources."""
