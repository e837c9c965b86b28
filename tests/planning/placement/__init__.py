"""Tests of the placement of applications on I/O resources."""
