"""What runs when, where and beside whom: packs, list scheduling and backfilling (001 §III, §IV); burst buffers (004)."""
