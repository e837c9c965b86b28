"""Paper 000, Revisiting I/O bandwidth-sharing strategies: its campaigns, Table 2, figures 2 to 10 and claims R1 to R12."""
