"""A store that is really contended, on one machine: a loop device of a given bandwidth, and live runs on it."""
