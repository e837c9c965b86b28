"""The deciding core of the coordinator: events in, instructions out. It has no clock, no socket and no file."""
