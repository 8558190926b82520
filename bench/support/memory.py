"""Memory of processes, read from /proc: resident (RSS) and proportional (PSS), in MB."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

KB_PER_MB = 1024


@dataclass(frozen=True)
class Size:
    """RSS counts a shared page in each process; PSS divides it among them."""

    rss: float
    pss: float

    def __add__(self, other: "Size") -> "Size":
        return Size(self.rss + other.rss, self.pss + other.pss)


def size_of(pids: Iterable[int]) -> Size:
    """Return the total of these processes; one that has ended counts nothing."""
    total = Size(0, 0)
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
            found = {line.split(":")[0]: int(line.split()[1]) / KB_PER_MB for line in lines}
            total += Size(found["Rss"], found["Pss"])
    return total


def family(pid: int) -> list[int]:
    """Return a process and all processes below it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found
