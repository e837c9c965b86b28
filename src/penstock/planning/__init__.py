"""Planning a batch of jobs (packs, lists, backfilling: 001 §III, §IV) and their placement on I/O resources (002)."""
