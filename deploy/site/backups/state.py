"""What this machine knows about its back-ups, in a folder that only their owner reads."""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from deploy.site.machine import InstallError

MEDIA = "media.txt"
STATE = "state.json"


@dataclass
class State:
    """The copied part of the binary log, and the copied uploads.

    `lineage` names the binary log of this server: a restored one begins a new log under the same
    names of files.
    """

    folder: Path
    target: str = ""
    lineage: str = field(default_factory=lambda: secrets.token_hex(4))
    written: str = ""  # the last GTID in the copied part
    logs: list[str] = field(default_factory=list)
    media: set[str] = field(default_factory=set)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Read the state, let nobody else change it, and store it at the end.

        For another target than the last time it begins empty. A machine that dies meanwhile keeps
        the old state.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._read()
            yield
            self._write()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Make this the only full back-up of the machine. Raises InstallError if one runs."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / "full.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InstallError("Another full back-up runs on this machine") from None
            yield

    def _read(self) -> None:
        if not (self.folder / STATE).exists():
            return
        known = json.loads((self.folder / STATE).read_text())
        self.lineage = known["lineage"]
        if known["target"] == self.target:
            self.written, self.logs = known["written"], known["logs"]
            self.media = set((self.folder / MEDIA).read_text().splitlines())

    def _write(self) -> None:
        self._replace(MEDIA, "".join(f"{name}\n" for name in sorted(self.media)))
        known = {
            "target": self.target,
            "lineage": self.lineage,
            "written": self.written,
            "logs": self.logs,
        }
        self._replace(STATE, json.dumps(known))

    def _replace(self, name: str, text: str) -> None:
        part = self.folder / f".{name}.part"
        part.write_text(text)
        part.chmod(0o600)
        os.replace(part, self.folder / name)


def uploads(media: Path) -> Iterable[str]:
    """Return the names of all uploads below a folder, without the links in `public/`."""
    for parent, directories, names in os.walk(media):
        if Path(parent) == media and "public" in directories:
            directories.remove("public")
        for name in names:
            if not name.startswith("."):
                yield str(Path(parent, name).relative_to(media))


def open_upload(media: Path, name: str) -> BinaryIO:
    """Open an upload. Raises FileNotFoundError if it is none.

    The account of the site owns these folders: root follows no link there, and waits for no pipe.
    """
    *folders, last = Path(name).parts
    directory = os.open(media, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
            os.close(directory)
            directory = inner
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            raise FileNotFoundError(f"{name} is no upload") from None
        raise
    finally:
        os.close(directory)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(f"{name} is no upload")
    return os.fdopen(file, "rb")
