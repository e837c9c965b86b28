"""Unchanged applications: find or build the C libraries, run a program with them, and tell what they saw."""
