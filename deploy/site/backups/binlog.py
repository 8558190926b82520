"""Times in files of the binary log, read from the headers of their events."""

import datetime
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.site.machine import InstallError

MAGIC = b"\xfebin"
# Unix time, kind, server, bytes of the event, where the next one begins, flags.
HEADER = struct.Struct("<IBIIIH")
FORMAT_DESCRIPTION = 15
TRANSACTION = 162  # MariaDB's GTID, the first event of each transaction
# A statement has the time of its beginning, so slow ones stand after quick ones that began later.
SLACK_SECONDS = 10


@dataclass(frozen=True)
class Event:
    """An event of the log: its Unix time and its kind."""

    second: int
    kind: int


def events(path: Path, start: int = len(MAGIC)) -> Iterator[Event]:
    """Yield the events of a file from a place on. Raises InstallError if it is none of a log."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InstallError(f"{path.name} is no file of a binary log")
        file.seek(max(start, len(MAGIC)))
        while len(head := file.read(HEADER.size)) == HEADER.size:
            second, kind, _, size, _, _ = HEADER.unpack(head)
            if size < HEADER.size:
                raise InstallError(f"{path.name} is damaged")
            file.seek(size - HEADER.size, 1)
            yield Event(second, kind)


def end(path: Path) -> datetime.datetime | None:
    """Return the time of the last transaction of a file; None if it has none."""
    times = [event.second for event in events(path) if event.kind == TRANSACTION]
    return _time(times[-1]) if times else None


def left_out(files: Sequence[Path], start: int, until: datetime.datetime) -> str:
    """Return a warning if a replay up to a time leaves out what was written before it, else "".

    A replay ends with the first event of that time or later. If the clock of the database was set
    back after it, there are transactions behind it that have earlier times.
    """
    limit, highest, stopped = int(until.timestamp()), 0, False
    lost, back = 0, (0, 0)
    for event in _all(files, start):
        if event.kind == FORMAT_DESCRIPTION:
            continue
        stopped = stopped or event.second >= limit
        behind = highest - event.second > SLACK_SECONDS
        if stopped and behind and event.kind == TRANSACTION and event.second < limit:
            back = back if lost else (highest, event.second)
            lost += 1
        highest = max(highest, event.second)
    if not lost:
        return ""
    return (
        f"The clock of the database went back from {_time(back[0]):%F %T} to {_time(back[1]):%F %T}"
        f" UTC. {lost} transactions after that have a time before {until:%F %T} UTC, but stand"
        " behind it in the log, so they are not restored. To have them too, restore without --to,"
        f" or to a moment after {_time(highest):%F %T} UTC"
    )


def _all(files: Iterable[Path], start: int) -> Iterator[Event]:
    for number, path in enumerate(files):
        yield from events(path, start if number == 0 else 0)


def _time(second: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(second, datetime.UTC)
