"""Keeps the database alive when its disk fills up: the unit `socialsite-guard`.

MariaDB ends when it cannot write its log. So before the disk is full the guard makes the database
read-only: writes of the site are answered with 503 and reads go on. When there is room again it
allows writes. It ends neither sessions nor processes.
"""

import os
import sys
import time
from pathlib import Path

from deploy.site import layout
from deploy.site.machine import InstallError, run

SECONDS = 2
MEGABYTE = 2**20
LEAST_FREE = 128 * MEGABYTE
MOST_FREE = 2048 * MEGABYTE
PERCENT = 5
# There must be more room again than there was at first, or the guard would switch all the time.
MARGIN = 1.25
# While it waits for a lock, all writes wait for it.
SHORT = "SET SESSION lock_wait_timeout=1"


def needed(size: int) -> int:
    """Return the bytes that must be free on a disk of this size: 5 %, from 128 MB to 2 GB."""
    return min(max(size * PERCENT // 100, LEAST_FREE), MOST_FREE)


class Guard:
    """What the guard has done: it allows writes only where it forbade them itself."""

    def __init__(self, directory: Path, mark: Path) -> None:
        self.directory = directory
        # Survives a restart of the guard, and goes with the machine, as the variable does.
        self.mark = mark

    def look(self, free: int, size: int) -> bool | None:
        """Return whether writes must be forbidden (True), allowed (False), or left (None)."""
        limit = needed(size)
        if free < limit:
            return True
        if self.mark.exists() and free >= limit * MARGIN:
            return False
        return True if self.mark.exists() else None

    def step(self) -> None:
        """Look at the disk once, and change the database if needed."""
        found = os.statvfs(self.directory)
        free, size = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
        wanted = self.look(free, size)
        if wanted is None:
            return
        if wanted:
            if not self.mark.exists():
                self.mark.touch()
                _say(f"{self.directory} has {free // MEGABYTE} MB free: writes are refused now")
            # A database that started again meanwhile allows writes.
            run("mariadb", "-e", f"{SHORT}; SET GLOBAL read_only=1")
        else:
            run("mariadb", "-e", "SET GLOBAL read_only=0")
            self.mark.unlink()
            _say(f"{self.directory} has {free // MEGABYTE} MB free: writes are allowed again")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Look every two seconds until the unit is stopped."""
    guard = Guard(Path("/var/lib/mysql"), layout.GUARD_MARK)
    failed = ""
    while True:
        try:
            guard.step()
            failed = ""
        except (InstallError, OSError) as error:  # the database starts, or is stopped
            if str(error) != failed:
                _say(failed := str(error))
        time.sleep(SECONDS)


if __name__ == "__main__":
    main()
