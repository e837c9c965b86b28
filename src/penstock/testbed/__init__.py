"""A test bed on one machine: a store of a given bandwidth that processes really contend for, and live runs on it."""
