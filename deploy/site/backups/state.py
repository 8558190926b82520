"""What this machine knows about its back-ups, in a folder that only their owner reads."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from deploy.site.backups.targets import MARK, Target
from deploy.site.machine import InstallError

MEDIA = "media.txt"
STATE = "state.json"
# Videos that arrive or are converted: what is there is half of a file, or soon another one.
LEFT_OUT = ("public", "incoming")


def _new_name() -> str:
    return secrets.token_hex(4)


@dataclass
class State:
    """What was copied to one target: a part of the binary log, and uploads.

    `site` names the site for good, also after it was restored on another machine. `lineage` names
    the binary log of this server: a restored one begins a new log under the same names of files.
    Both are those of the machine, the rest belongs to the target.
    """

    folder: Path
    target: str = ""
    site: str = field(default_factory=_new_name)
    lineage: str = field(default_factory=_new_name)
    mark: str = ""  # the random id that a file in the target has; "" before the first back-up
    written: str = ""  # the last GTID in the copied part
    logs: list[str] = field(default_factory=list)
    media: dict[str, int] = field(default_factory=dict)  # with the bytes of the copy; 0: unknown
    dump: int = 0  # bytes of the last dump
    # When the last full back-up ended and was read back, and up to when the log is copied.
    times: dict[str, str | None] = field(default_factory=dict)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Read the state, let nobody else change it, and store it at the end.

        A machine that dies meanwhile keeps the old state.
        """
        with self._lock():
            self._read()
            yield
            self._write()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

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

    def recognize(self, target: Target, *, new: bool = False) -> None:
        """Make sure that this is the target of the earlier back-ups, such as a mounted disk.

        Raises InstallError if it is another one under the same name, unless `new` accepts it. At
        the first back-up to a name the target gets a random id.
        """
        with self.locked():
            found = target.mark()
            if new and found != self.mark:
                self.mark, self.written, self.logs, self.media, self.times = "", "", [], {}, {}
            if self.mark and found != self.mark:
                raise InstallError(
                    f"{target} is not the place where the earlier back-ups of this site are:"
                    f" its file {MARK} {'has another id' if found else 'is missing'}. Is its disk"
                    " mounted (findmnt), or the name right? If this is a new place that you want,"
                    " run: site backup --new-target"
                )
            self.mark = found or self.mark or target.set_mark(secrets.token_hex(8))

    def begin_again(self, site: str) -> None:
        """Note that the database is a restored one of this site, which begins a new log.

        So every target gets a full back-up of its own; the ids of the targets stay known.
        """
        with self._lock():
            self._read()
            self._replace(self.folder / STATE, json.dumps({"site": site, "lineage": _new_name()}))
            for path in (self.folder / "targets").glob(f"*/{STATE}"):
                known = json.loads(path.read_text())
                kept = {name: known.get(name, "") for name in ("mark", "target")}
                self._replace(path, json.dumps(kept))
                (path.parent / MEDIA).unlink(missing_ok=True)

    def others(self) -> list[str]:
        """Return the other targets that have back-ups of this machine, as far as it knows."""
        known = [_known(path) for path in sorted(self.folder.glob(f"targets/*/{STATE}"))]
        names = [str(one.get("target", "")) for one in known if one.get("mark")]
        return [name for name in names if name not in ("", self.target)]

    @property
    def _own(self) -> Path:
        """The folder with what belongs to the target."""
        return self.folder / "targets" / hashlib.sha256(self.target.encode()).hexdigest()[:16]

    def _read(self) -> None:
        shared = _known(self.folder / STATE)
        self.lineage = shared.get("lineage", self.lineage)
        self.site = shared.get("site", shared.get("lineage", self.site))
        known, media = _known(self._own / STATE), self._own / MEDIA
        # An earlier version had one state for all targets.
        if not known and shared.get("target") == self.target:
            known, media = shared, self.folder / MEDIA
        self.mark = known.get("mark", "")
        self.written, self.logs = known.get("written", ""), known.get("logs", [])
        self.dump, self.times = known.get("dump", 0), known.get("times", {})
        lines = media.read_text().splitlines() if known and media.exists() else []
        self.media = dict(map(_name_and_size, lines))

    def _write(self) -> None:
        self._own.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._replace(self._own / MEDIA, _lines(self.media))
        known = {
            "target": self.target,
            "mark": self.mark,
            "written": self.written,
            "logs": self.logs,
            "dump": self.dump,
            "times": self.times,
        }
        self._replace(self._own / STATE, json.dumps(known))
        shared = json.dumps({"site": self.site, "lineage": self.lineage})
        self._replace(self.folder / STATE, shared)
        (self.folder / MEDIA).unlink(missing_ok=True)

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        part = path.with_name(f".{path.name}.part")
        part.write_text(text)
        part.chmod(0o600)
        os.replace(part, path)


def _name_and_size(line: str) -> tuple[str, int]:
    """Return what a line says; an earlier version wrote no sizes."""
    name, _, size = line.rpartition("\t")
    return (name, int(size)) if name and size.isdecimal() else (line, 0)


def _lines(media: dict[str, int]) -> str:
    return "".join(f"{name}\t{size}\n" for name, size in sorted(media.items()))


def _known(path: Path) -> dict[str, Any]:
    """Return what a file of the state has; nothing if there is no file."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def uploads(media: Path) -> Iterable[str]:
    """Return the names of all uploads below a folder, without links and unfinished videos."""
    if media.is_symlink():  # the account of the site could show root anything
        raise InstallError(f"{media} is a link: back-ups need the folder itself")
    for parent, directories, names in os.walk(media):
        if Path(parent) == media:
            directories[:] = [name for name in directories if name not in LEFT_OUT]
        for name in names:
            if not name.startswith("."):
                yield str(Path(parent, name).relative_to(media))


def open_upload(media: Path, name: str) -> BinaryIO:
    """Open an upload. Raises FileNotFoundError if it is none.

    The account of the site owns these folders: root follows no link there, and waits for no pipe.
    """
    *folders, last = Path(name).parts
    directory = os.open(media, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
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
