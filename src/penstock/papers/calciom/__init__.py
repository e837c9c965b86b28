"""Paper 003, CALCioM: mitigating I/O interference through cross-application coordination, simulated and live."""
