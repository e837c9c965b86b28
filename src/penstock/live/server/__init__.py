"""The shells around the core: sockets, the journal, HTTP, and what an operator may ask."""
