"""Small traces in the Standard Workload Format."""

from pathlib import Path

HEADER = "; Version: 2.2\n; UnixStartTime: 1000000000\n; MaxNodes: 100\n; MaxProcs: 400\n"


def line(
    number: float = 1,
    submit: float = 0,
    wait: float = 10,
    run: float = 100,
    allocated: float = 8,
    requested: float = 8,
    status: int = 1,
) -> str:
    """A line of 18 columns."""
    return f"{number} {submit} {wait} {run} {allocated} -1 -1 {requested} 3600 -1 {status} 4 2 -1 1 -1 -1 -1"


def write(path: Path, *lines: str, header: str = HEADER) -> str:
    """A trace of those lines."""
    path.write_text(header + "\n".join(lines) + "\n", encoding="latin-1")
    return str(path)
