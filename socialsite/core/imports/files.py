"""Uploaded files that wait for their import, below MEDIA_ROOT; no address leads to them.

A kind of import may write files beside one, with its name and a suffix; they go with it. If there
is a bucket, the file is there, and a worker keeps a copy of it while it works on the import.
"""

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

from socialsite.core.errors import PayloadTooLarge
from socialsite.core.media import disk_space
from socialsite.core.media.buckets import files as buckets
from socialsite.core.models import Import
from socialsite.core.runtime import data_dir

FOLDER = "imports"
MEGA = 1024 * 1024
# Bytes of a table.
TABLE_MAX = 4 * MEGA
COPY_BYTES = MEGA
ARCHIVES = (Import.Kind.POSTS, Import.Kind.MASTODON)


def folder() -> Path:
    """Return the directory of the files; creates it."""
    path = Path(settings.MEDIA_ROOT) / FOLDER
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Return the path of a file; in the bucket it may be instead."""
    return folder() / name


def local(name: str, alive: Callable[[], None] | None = None) -> Path:
    """Return the path of a file, copied from the bucket if need be; `alive` is called meanwhile.

    Raises FileNotFoundError.
    """
    path = path_of(name)
    if buckets.is_used() and not path.exists():
        draft = path_of(f"{name}.{secrets.token_hex(4)}")
        try:
            with open(draft, "xb", opener=own_file) as file:
                buckets.copy(stored_name(name), file, alive)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return path


def stored_name(name: str) -> str:
    """Return the name of a file in the bucket."""
    return f"{FOLDER}/{name}"


def most(kind: str) -> int:
    """Return how many bytes a file of a kind of import may have."""
    return settings.IMPORT_MB * MEGA if kind in ARCHIVES else TABLE_MAX


def store(upload: IO[bytes], size: int, kind: str) -> str:
    """Store an upload and return its random name. Raises PayloadTooLarge, Unavailable."""
    if size > most(kind):
        raise PayloadTooLarge
    disk_space.check_free(size)
    name = secrets.token_hex(16)
    upload.seek(0)
    if buckets.is_used():
        buckets.write(stored_name(name), upload)
        return name
    path = path_of(name)
    try:
        with disk_space.room(), open(path, "xb", opener=own_file) as file:
            shutil.copyfileobj(upload, file, COPY_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return name


def own_file(path: str, flags: int) -> int:
    """Open a file that only the site reads."""
    return os.open(path, flags, data_dir.OWN_FILE)


def remove(name: str) -> None:
    """Remove a file and those beside it; "" has none."""
    if name:
        remove_own(name)
        if buckets.is_used():
            buckets.remove(stored_name(name))


def remove_own(name: str) -> None:
    """Remove what this machine has of a file."""
    for path in folder().glob(f"{name}*"):
        path.unlink(missing_ok=True)


def own_names() -> set[str]:
    """Return the names of the files that this machine has."""
    return {path.name.partition(".")[0] for path in folder().iterdir()}


def old_names(before: int) -> Iterator[str]:
    """Yield the names of the files that are older than a time in Unix ms."""
    for path in folder().iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime * 1000 < before:
                yield path.name.partition(".")[0]
    if buckets.is_used():
        for one in buckets.listed(f"{FOLDER}/"):
            if one.written.timestamp() * 1000 < before:
                yield Path(one.name).name
