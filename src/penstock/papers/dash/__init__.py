"""Paper 001: data-aware scheduling at higher scale."""
