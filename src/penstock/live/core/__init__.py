"""The deciding core: events in, instructions out. It has no clock, no socket and no file."""
