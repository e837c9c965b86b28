"""Paper 003, CALCioM: mitigating I/O interference through cross-application coordination; its simulated side."""
