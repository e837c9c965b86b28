"""How many I/O resources for each application, and which (002)."""
