"""Room on the disks of a back-up: what does not fit is refused before it is begun."""

import os
from pathlib import Path

from deploy.site import guard
from deploy.site.machine import InstallError

MEGABYTE = 2**20


def require(path: Path, needed: int, what: str) -> None:
    """Raise InstallError unless a disk has room for so many bytes.

    There must be more than the guard of the database wants: below that it refuses all writes.
    """
    found = os.statvfs(path)
    free, size = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    wanted = needed + guard.needed(size)
    if free < wanted:
        raise InstallError(
            f"{what} needs {wanted // MEGABYTE} MB on the disk of {path}, which has"
            f" {free // MEGABYTE} MB free: {needed // MEGABYTE} MB, and the rest stays free for the"
            " database"
        )
