"""Paper 004: sizing and partitioning burst buffers."""
