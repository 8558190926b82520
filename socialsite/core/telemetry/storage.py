"""Where the instruments keep their values: in memory, or in files of this role in METRICS_DIR.

- With METRICS_DIR and METRICS_ROLE each process has its own files, named by its role, in the format
  of prometheus_client. Whoever answers `/metrics` adds up those of all roles. A process that starts
  again goes on with the counters of the one before it.
- A process holds the lock of its role. A second process of that role, which would write to the same
  files, keeps its values in memory instead. Gauges of a role whose lock nobody holds do not count.
- Files that cannot be read, or that were written by other instruments, are deleted at the start.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Metric, disable_created_metrics, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

logger = logging.getLogger(__name__)

MEMORY_ONLY = "metrics are kept in memory only: %s"
# Taken from the disk in advance: if a page of a mapped file had no place, the process would be
# killed.
BYTES = {"histogram": 1 << 22, "counter": 1 << 18, "gauge_livesum": 1 << 16}
LOCK_SECONDS = 2.0
PAUSE_SECONDS = 0.02
# Which instruments wrote the files: another list has other labels and buckets.
INSTRUMENTS = Path(__file__).with_name("instruments.py")

_held: dict[Path, int] = {}


def use(directory: Path | None, role: str) -> bool:
    """Keep the values of instruments that are made from now on in files, if that is possible.

    Returns whether it is; otherwise they are kept in memory. Never raises.
    """
    # Files have none of these series.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    if directory is None or not role:
        return False
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        if not _lock(directory / f"{role}.lock"):
            logger.warning(MEMORY_ONLY, f"another process is {role} in {directory}")
            return False
        _prepare(directory, role)
    except OSError as error:
        logger.warning(MEMORY_ONLY, error)
        return False
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)  # the library knows no other way
    kind = values.MultiProcessValue(process_identifier=lambda: role)  # type: ignore[no-untyped-call]
    values.ValueClass = kind
    return True


def release(directory: Path, role: str) -> None:
    """Give up the lock of a role, as its end does, and keep further values in memory."""
    descriptor = _held.pop(directory / f"{role}.lock", None)
    if descriptor is not None:
        os.close(descriptor)
    os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
    values.ValueClass = values.MutexValue


def _lock(path: Path) -> bool:
    """Take the lock of this role until the process ends; a scrape may hold it for a moment."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    latest = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > latest:
                os.close(descriptor)
                return False
            time.sleep(PAUSE_SECONDS)
        else:
            _held[path] = descriptor
            return True


def _prepare(directory: Path, role: str) -> None:
    """Delete files of this role that cannot be used any more, and make room for the others."""
    version = directory / f"{role}.version"
    digest = hashlib.sha256(INSTRUMENTS.read_bytes()).hexdigest()
    is_same = version.exists() and version.read_text(errors="replace") == digest
    for path in directory.glob(f"*_{role}.db"):
        if not is_same or path.name.startswith("gauge") or not is_sound(path):
            path.unlink()
    for kind, size in BYTES.items():
        descriptor = os.open(directory / f"{kind}_{role}.db", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)
    version.touch(mode=0o600)
    version.write_text(digest)


def is_sound(path: Path) -> bool:
    """Return whether a file can be read; a machine that lost its power may leave another one."""
    try:
        with path.open("rb") as file:
            used = int.from_bytes(file.read(4), sys.byteorder, signed=True)
        if not 0 <= used <= path.stat().st_size:
            return False
        found = MmapedDict.read_all_values_from_file(path)  # type: ignore[no-untyped-call]
        for key, _value, _time, _place in found:
            name, sample, labels, text = json.loads(key)
            if not (name and sample and isinstance(labels, dict) and text):
                return False
    except Exception:  # whatever random bytes lead to
        return False
    return True


class Shared:
    """A collector of the values of all roles, as files of this directory have them."""

    def __init__(self, directory: Path, registry: CollectorRegistry) -> None:
        self._directory = directory
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """Return the sums; files that cannot be read are left out."""
        alive = {path.stem for path in self._directory.glob("*.lock") if _is_held(path)}
        files = [
            path
            for path in sorted(self._directory.glob("*.db"))
            if not path.name.startswith("gauge") or path.stem.rpartition("_")[2] in alive
        ]
        try:
            return list(_merged(files))
        except Exception:
            logger.exception("a file of metrics is not read")
            return list(_merged([path for path in files if is_sound(path)]))


def _merged(files: Iterable[Path]) -> Iterable[Metric]:
    names = [str(path) for path in files]
    merged: Iterable[Metric] = MultiProcessCollector.merge(names)  # type: ignore[no-untyped-call]
    return merged


def _is_held(path: Path) -> bool:
    """Return whether a process holds this lock."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False
