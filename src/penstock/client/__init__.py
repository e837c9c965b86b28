"""For applications: announce I/O to the coordinator and be paced, paused and resumed by it (003)."""
