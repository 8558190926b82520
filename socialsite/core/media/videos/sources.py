"""Uploaded files that wait for their conversion; no address leads to them.

Below MEDIA_ROOT a source is one file with a random name. In a bucket it is one file for each part
that arrived, whose names end with the place of the part, since the parts may arrive at different
machines; a worker copies them into one file of its own.

The files that a conversion writes begin with the name of the source and end with the number of its
lease, so that two workers never write the same file.
"""

import contextlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

from socialsite.core.media.buckets import files as buckets
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
    """Return the path of a source, which is not there if the source is in the bucket."""
    return folder() / name


@contextlib.contextmanager
def local(name: str, alive: Callable[[], None] | None = None) -> Iterator[Path]:
    """Give the path of a source on this machine, for a block; `alive` is called while it comes.

    Raises FileNotFoundError.
    """
    path = path_of(name)
    if path.exists():
        yield path
        return
    if not buckets.is_used():
        raise FileNotFoundError(name)
    with draft(name, secrets.randbits(62), "copy") as copied:
        with open(copied, "xb", opener=_own_file) as file:
            for part in _parts(name):
                if int(part.rpartition(".")[2]) != file.tell():
                    raise FileNotFoundError(part)
                buckets.copy(part, file, alive)
        yield copied


def head(name: str, number: int) -> bytes:
    """Return the first bytes of a source. Raises FileNotFoundError."""
    path = path_of(name)
    if buckets.is_used() and not path.exists():
        return buckets.head(_part(name, 0), number)
    with path.open("rb") as file:
        return file.read(number)


def _part(name: str, offset: int) -> str:
    """Return the name of a part in the bucket; names are in the order of the parts."""
    return f"{FOLDER}/{name}.{offset:012}"


def _parts(name: str) -> list[str]:
    """Return the names of the parts in the bucket. Raises FileNotFoundError if there are none."""
    found = buckets.names(f"{FOLDER}/{name}.")
    if not found:
        raise FileNotFoundError(name)
    return found


def new_name() -> str:
    """Return a random name of a source."""
    return secrets.token_hex(16)


def write(upload: IO[bytes]) -> str:
    """Store an upload as a source and return its name."""
    name = new_name()
    upload.seek(0)
    if buckets.is_used():
        buckets.write(_part(name, 0), upload)
        return name
    path = path_of(name)
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
    if buckets.is_used() and not path_of(name).exists():
        buckets.write(_part(name, offset), data)
        return
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
    if not name:
        return
    remove_own(name)
    if buckets.is_used():
        for part in buckets.names(f"{FOLDER}/{name}."):
            buckets.remove(part)


def remove_own(name: str) -> None:
    """Remove what this machine has of a source, and what its conversions left."""
    for path in folder().glob(f"{name}*"):
        path.unlink(missing_ok=True)


def own_names() -> set[str]:
    """Return the names of the sources of which this machine has a file."""
    found = (_NAME.fullmatch(path.name) for path in folder().iterdir())
    return {match[1] for match in found if match}


@contextlib.contextmanager
def draft(name: str, lease: int, suffix: str) -> Iterator[Path]:
    """Give the path of a file to write beside a source; it is removed unless it was moved."""
    path = path_of(f"{name}.{lease}.{suffix}")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def old_names() -> set[str]:
    """Return the names of the sources that have files older than a day."""
    limit = time.time() - ORPHAN_SECONDS
    found: set[str] = set()
    for path in folder().iterdir():
        match = _NAME.fullmatch(path.name)
        with contextlib.suppress(FileNotFoundError):
            if match and path.stat().st_mtime < limit:
                found.add(match[1])
    if buckets.is_used():
        for part in buckets.listed(f"{FOLDER}/"):
            match = _NAME.fullmatch(part.name.removeprefix(f"{FOLDER}/"))
            if match and part.written.timestamp() < limit:
                found.add(match[1])
    return found
