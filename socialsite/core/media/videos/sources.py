"""Uploaded files that wait for their conversion, below MEDIA_ROOT; no address leads to them.

A file is named by a random name; the files that a conversion writes begin with that name and end
with the number of its lease, so that two workers never write the same file.
"""

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

from socialsite.core.media import stored_files
from socialsite.core.runtime import data_dir

FOLDER = "incoming"
ORPHAN_SECONDS = 24 * 60 * 60
_NAME = re.compile(r"([0-9a-f]{32})(\.[0-9a-z.]+)?")
COPY_BYTES = 1024 * 1024


def folder() -> Path:
    """Return the directory of the sources; creates it."""
    path = Path(settings.MEDIA_ROOT) / FOLDER
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Return the path of a source."""
    return folder() / name


def new_name() -> str:
    """Return a random name of a source."""
    return secrets.token_hex(16)


def write(upload: IO[bytes]) -> str:
    """Store an upload as a source and return its name."""
    name = new_name()
    path = path_of(name)
    upload.seek(0)
    try:
        with open(path, "xb", opener=_own_file) as file:
            shutil.copyfileobj(upload, file, COPY_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return name


def write_at(name: str, offset: int, data: bytes) -> None:
    """Write a part of a source at its place.

    Raises FileNotFoundError if what stands before it is gone: back-ups leave sources out.
    """
    handle = _own_file(str(path_of(name)), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
    with open(handle, "wb", buffering=0) as file:
        if os.fstat(handle).st_size < offset:
            raise FileNotFoundError(name)
        file.seek(offset)
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fsync(handle)


def _own_file(path: str, flags: int) -> int:
    return os.open(path, flags, data_dir.OWN_FILE)


def remove(name: str) -> None:
    """Remove a source and what its conversions left; "" has none."""
    if name:
        for path in folder().glob(f"{name}*"):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def draft(name: str, lease: int, suffix: str) -> Iterator[Path]:
    """Give the path of a file to write beside a source; it is removed unless it was moved."""
    path = path_of(f"{name}.{lease}.{suffix}")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def move(path: Path, name: str) -> None:
    """Move a finished file to its name below MEDIA_ROOT, readable as all files there."""
    target = stored_files.path_of(name)
    stored_files.make_directory(target.parent)
    with path.open("rb") as file:
        os.fchmod(file.fileno(), data_dir.shared_file(settings.FILES_GROUP))
        os.fsync(file.fileno())
    path.replace(target)


def old_names() -> dict[str, list[Path]]:
    """Return the files that are older than a day, by the name of their source."""
    limit = time.time() - ORPHAN_SECONDS
    found: dict[str, list[Path]] = {}
    for path in folder().iterdir():
        match = _NAME.fullmatch(path.name)
        with contextlib.suppress(FileNotFoundError):
            if match and path.stat().st_mtime < limit:
                found.setdefault(match[1], []).append(path)
    return found
