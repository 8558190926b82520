"""Read uploaded ZIP files that may be hostile: nothing is unpacked to a path, all is bounded.

- Members are found by their exact names. Links and paths mean nothing here.
- What a header claims bounds what is read, and the claim itself is checked first.
- Methods other than "stored" and "deflated" are refused, since their decoders give as much as there
  is at once; so is encryption.
"""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from socialsite.core.imports.kinds import UNREADABLE, Unreadable

# Bytes that the module `zipfile` reads at once at most: those of the list of members. An entry has
# about 110, and takes up to 700 in memory.
LIST_MAX = 4 * 1024 * 1024
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
# What the module raises for files that are broken.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    UnicodeError,
    ValueError,
)


class _Bounded(io.BufferedReader):
    """A file that refuses to read very much at once while its list of members is read."""

    is_open = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_open:
            return super().read(size)
        whole = size is None or size < 0
        data = super().read(LIST_MAX + 1 if whole or size is None else min(size, LIST_MAX + 1))
        if len(data) > LIST_MAX:
            raise zipfile.BadZipFile("this reads too much at once")
        return data


class Zip:
    """An open ZIP file."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file

    def size_of(self, name: str) -> int | None:
        """Return the size of a member that can be read, None if there is none."""
        info = self._info(name)
        return None if info is None else info.file_size

    def _info(self, name: str) -> zipfile.ZipInfo | None:
        try:
            info = self._file.getinfo(name)
        except KeyError:
            return None
        readable = info.compress_type in METHODS and not info.flag_bits & _ENCRYPTED
        return info if readable and not info.is_dir() else None

    @contextmanager
    def member(self, name: str, most: int) -> Iterator[IO[bytes]]:
        """Open a member of at most so many bytes. Raises Unreadable, also within the block."""
        info = self._info(name)
        if info is None or info.file_size > most:
            raise Unreadable(UNREADABLE)
        with _broken(), self._file.open(info) as file:
            yield file

    def bytes_of(self, name: str, most: int) -> bytes:
        """Return the bytes of a member. Raises Unreadable."""
        with self.member(name, most) as file:
            return file.read(most)


@contextmanager
def opened(path: Path) -> Iterator[Zip]:
    """Open a ZIP file. Raises Unreadable."""
    with _Bounded(io.FileIO(path)) as raw:
        with _broken():
            file = zipfile.ZipFile(raw)
        raw.is_open = True
        with file:
            yield Zip(file)


@contextmanager
def _broken() -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise Unreadable(UNREADABLE) from error


def read_all(file: IO[bytes], alive: Callable[[], None], step: int) -> Iterator[bytes]:
    """Yield the bytes of a file in steps, calling `alive` before each."""
    while True:
        alive()
        block = file.read(step)
        if not block:
            return
        yield block
