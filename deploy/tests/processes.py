"""Processes as the system lists them."""

from pathlib import Path


def alive(pid: int) -> bool:
    """Return whether a process with this id runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
