"""Make archives: a person requests one, a worker claims it and writes it, it expires.

- A claim is a lease in the database, which the work renews. If the worker dies, another one begins
  again when the lease has ended; attempts are counted and bounded.
- A worker whose lease is gone stops, and changes nothing. Each claim writes a file of its own.
- The file is outside of everything that a web server in front serves by itself.
"""

import contextlib
import logging
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db.models import QuerySet

from socialsite.core import db
from socialsite.core.db import leases
from socialsite.core.errors import DISK_FULL, Unavailable
from socialsite.core.events import enqueue
from socialsite.core.media import disk_space
from socialsite.core.media.buckets import files as buckets
from socialsite.core.models import Export
from socialsite.core.runtime import data_dir
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

TASK = "site.build_exports"
# A message that no worker took is void then; another one follows.
MESSAGE_SECONDS = 5
LEASE_MS, RENEW_SECONDS = 60_000, 2
TRIES_MAX = 3
WAIT_MS = 60_000
# How long an archive can be fetched.
DAYS = 7
DAY_MS = 24 * 60 * 60 * 1000
FOLDER = "exports"
State = Export.State
Write = Callable[[int, IO[bytes], Callable[[int], None]], None]


class Lost(Exception):
    """Another worker has the archive now, or it was deleted."""


class NotNow(Exception):
    """The disk is nearly full; this is not counted as a try."""


def folder() -> Path:
    """Return the directory of the archives; creates it."""
    path = Path(settings.MEDIA_ROOT) / FOLDER
    path.mkdir(mode=data_dir.OWN_DIR, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Return the path of an archive, or of a draft; an archive may be in the bucket instead."""
    return folder() / f"{name}.zip"


def stored_name(name: str) -> str:
    """Return the name of an archive below MEDIA_ROOT or in the bucket."""
    return f"{FOLDER}/{name}.zip"


# --- people -------------------------------------------------------------------------------------
@db.atomic
def request(owner_id: int) -> Export:
    """Ask for an archive of a person's data; return the one that is waiting, if there is one."""
    rows = Export.objects.select_for_update().filter(owner_id=owner_id)
    for row in rows.order_by("pk"):
        if row.state == State.WAITING:
            return row
        _delete(row)  # an older one has less
    now = db.now_ms()
    name = secrets.token_hex(16)
    return Export.objects.create(owner_id=owner_id, name=name, due_at=now, created_at=now)


def newest(owner_id: int) -> Export | None:
    """Return a person's archive, whatever its state."""
    return Export.objects.filter(owner_id=owner_id).order_by("-pk").first()


def expires_at(row: Export) -> int:
    """Return when a finished archive is deleted, in Unix ms."""
    return (row.finished_at or row.created_at) + DAYS * DAY_MS


# --- workers ------------------------------------------------------------------------------------
def start() -> None:
    """Send a message to the queue of long work if an archive is due."""
    if _due(db.now_ms()).exists():
        enqueue.send_before(TASK, MESSAGE_SECONDS)


def _due(now: int) -> "QuerySet[Export]":
    return Export.objects.filter(state=State.WAITING, due_at__lte=now)


def work_off(write: Write) -> bool:
    """Make the next archive that is due; return whether there was one.

    `write` writes the archive of a person into a file, and calls its third argument often.
    """
    row = _claim()
    if row is None:
        return False
    name = f"{row.name}.{row.lease}"
    draft = path_of(name)
    try:
        if row.tries > TRIES_MAX:
            logger.error("archive %s: given up after %d tries", row.pk, TRIES_MAX)
            _finish(row, State.FAILED)
            return True
        with draft.open("wb") as file:
            draft.chmod(data_dir.OWN_FILE)
            write(row.owner_id, file, _reporter(row))
        failpoint("export-written")
        if buckets.is_used():
            report = _reporter(row)
            buckets.put_long(draft, stored_name(row.name), lambda: report(99))
        _finish(row, State.READY, draft)
    except Lost:
        logger.info("archive %s was deleted or has another worker", row.pk)
        if buckets.is_used() and not Export.objects.filter(name=row.name).exists():
            buckets.remove(stored_name(row.name))  # it may have arrived after its deletion
    except (NotNow, Unavailable) as reason:
        logger.warning("archive %s waits: %s", row.pk, str(reason) or "the disk is nearly full")
        _later(row, tries=row.tries - 1)
    except OSError as error:
        is_full = error.errno in DISK_FULL
        logger.exception("archive %s was not written", row.pk)
        _later(row, tries=row.tries - is_full)
    except Exception:  # one archive must not stop the others
        logger.exception("archive %s was not written", row.pk)
        _later(row, tries=row.tries)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _claim() -> Export | None:
    return leases.claim(_due(db.now_ms()), LEASE_MS)


def _reporter(row: Export) -> Callable[[int], None]:
    renewed = 0.0

    def report(percent: int) -> None:
        """Renew the lease now and then. Raises Lost, NotNow."""
        nonlocal renewed
        if time.monotonic() - renewed < RENEW_SECONDS:
            return
        renewed = time.monotonic()
        if disk_space.is_disk_full():
            raise NotNow
        rows = Export.objects.filter(pk=row.pk, lease=row.lease, state=State.WAITING)
        if not rows.update(due_at=db.now_ms() + LEASE_MS, progress=percent):
            raise Lost

    return report


@db.atomic
def _finish(row: Export, state: str, draft: Path | None = None) -> None:
    """Store the result, the file under its final name. Raises Lost."""
    rows = Export.objects.select_for_update()
    current = rows.filter(pk=row.pk, lease=row.lease, state=State.WAITING).first()
    if current is None:
        raise Lost
    if draft is not None:
        current.size = draft.stat().st_size
        if not buckets.is_used():
            draft.replace(path_of(current.name))
        current.progress = 100
    current.state, current.finished_at = state, db.now_ms()
    current.save()


def _later(row: Export, tries: int) -> None:
    rows = Export.objects.filter(pk=row.pk, lease=row.lease)
    rows.update(due_at=db.now_ms() + WAIT_MS, tries=tries)


# --- the end ------------------------------------------------------------------------------------
def purge() -> int:
    """Delete the archives that have expired, and files without a row; return how many."""
    before = db.now_ms() - DAYS * DAY_MS
    old = Export.objects.exclude(state=State.WAITING).filter(finished_at__lt=before)
    removed = sum(_drop(row.pk) for row in old.order_by("pk")[:100])
    for name in _names_before(before):
        if not Export.objects.filter(name=name).exists():
            _remove(name)
            removed += 1
    return removed


def _names_before(time_ms: int) -> set[str]:
    """Return the names of the archives and drafts that were written before a time."""
    found = set()
    for path in folder().iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime * 1000 < time_ms:
                found.add(path.name.partition(".")[0])
    if buckets.is_used():
        for one in buckets.listed(f"{FOLDER}/"):
            if one.written.timestamp() * 1000 < time_ms:
                found.add(Path(one.name).stem)
    return found


def _remove(name: str) -> None:
    """Remove an archive and its drafts."""
    remove_own(name)
    if buckets.is_used():
        buckets.remove(stored_name(name))


def remove_own(name: str) -> None:
    """Remove what this machine has of an archive."""
    for path in folder().glob(f"{name}.*"):
        path.unlink(missing_ok=True)


def own_names() -> set[str]:
    """Return the names of the archives of which this machine has a file."""
    return {path.name.partition(".")[0] for path in folder().iterdir()}


def delete_all(owner_id: int, limit: int) -> int:
    """Delete archives of a person, whatever their state; return how many."""
    rows = Export.objects.filter(owner_id=owner_id).order_by("pk")[:limit]
    return sum(_drop(row.pk) for row in rows)


@db.atomic
def _drop(ident: int) -> int:
    row = Export.objects.select_for_update().filter(pk=ident).first()
    if row is None:
        return 0
    _delete(row)
    return 1


def _delete(row: Export) -> None:
    """Delete a locked archive, the file first: a row without a file is deleted again."""
    if row.name:
        _remove(row.name)
    row.delete()
