"""Import files: a person uploads one, a worker checks it, the person starts it and may undo it.

- A claim is a lease in the database, as of archives. Each row of a file is made in one transaction
  with the number of rows that are done, under the lock of the import: a worker that dies at any
  point loses nothing and repeats nothing.
- A worker makes rows for a limited time in one turn, and waits while events are behind: an import
  does not delay the work of other people.
- What takes long, such as encoding pictures, comes before the transaction of its row
  (`Kind.staged`) and is removed if it fails. After a kill the sweep of unused media removes it.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import IO, Any

from django.db.models import F, QuerySet

from socialsite.core import db
from socialsite.core.db import leases
from socialsite.core.errors import NotFound, QuotaExceeded, StaleVersion, Unavailable
from socialsite.core.events import enqueue, relay
from socialsite.core.imports import files
from socialsite.core.imports.kinds import Kind, Made, Refused, Row, Unreadable
from socialsite.core.models import Import, ImportItem
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

TASK = "site.run_imports"
# A message that no worker took is void then; another one follows.
MESSAGE_SECONDS = 5
LEASE_MS, RENEW_SECONDS = 60_000, 2
TRIES_MAX = 3
WAIT_MS = 60_000
# Rows made in one turn and how long it lasts, and the lag of events at which an import waits.
TURN, TURN_SECONDS = 500, 20
LAG_MS, LAG_PAUSE_MS = 10_000, 5_000
# How long an import can be undone, and how many a person has.
DAYS = 30
DAY_MS = 24 * 60 * 60 * 1000
IMPORTS_MAX = 20
# How long a file waits for its start.
WAIT_DAYS = 7
# Rows that a preview shows, and failed rows that are listed.
SHOWN, FAILED_MAX = 5, 1000
State = Import.State
BUSY = (State.CHECKING, State.RUNNING, State.UNDOING)


class Lost(Exception):
    """Another worker has the import now, or the person undid or deleted it."""


class TurnOver(Exception):
    """The turn has ended; the import goes on after this many ms."""


# --- people -------------------------------------------------------------------------------------
def request(owner_id: int, kind: str, upload: IO[bytes], size: int) -> Import:
    """Store an upload to import; an earlier one that was not started is dropped.

    A person has one file at a time. Raises QuotaExceeded, PayloadTooLarge, Unavailable.
    """
    _check_room(owner_id)
    name, now = files.store(upload, size, kind), db.now_ms()
    try:
        row = Import.objects.create(
            owner_id=owner_id, kind=kind, name=name, due_at=now, created_at=now
        )
    except BaseException:
        files.remove(name)
        raise
    # Of two at once none is kept.
    others = Import.objects.filter(owner_id=owner_id).exclude(name="").exclude(pk=row.pk)
    if others.exists():
        _drop(row.pk)
        raise QuotaExceeded
    return row


def _check_room(owner_id: int) -> None:
    for row in Import.objects.filter(owner_id=owner_id, made=0, failed=0):
        _drop(row.pk, (State.CHECKING, State.PREVIEWED, State.FAILED))
    mine = Import.objects.filter(owner_id=owner_id)
    if mine.count() >= IMPORTS_MAX or mine.exclude(name="").exists():
        raise QuotaExceeded


def own(owner_id: int, ident: int) -> Import:
    """Return an import of a person. Raises NotFound."""
    row = Import.objects.filter(pk=ident, owner_id=owner_id).first()
    if row is None:
        raise NotFound
    return row


def newest(owner_id: int) -> Import | None:
    """Return the newest import of a person, whatever its state."""
    return Import.objects.filter(owner_id=owner_id).order_by("-created_at", "-pk").first()


def begin(owner_id: int, ident: int) -> None:
    """Start an import that was previewed; a repeat changes nothing. Raises StaleVersion."""
    _turn(owner_id, ident, State.RUNNING, (State.PREVIEWED,), (State.RUNNING, State.DONE))


def undo(owner_id: int, ident: int) -> None:
    """Undo an import, also one that still runs. Raises StaleVersion for one not started."""
    started = (State.RUNNING, State.DONE, State.FAILED)
    _turn(owner_id, ident, State.UNDOING, started, (State.UNDOING, State.UNDONE))


@db.atomic
def _turn(
    owner_id: int, ident: int, to: State, before: tuple[State, ...], same: tuple[State, ...]
) -> None:
    row = Import.objects.select_for_update().filter(pk=ident, owner_id=owner_id).first()
    if row is None:
        raise NotFound
    if row.state in same:
        return
    if row.state not in before or (row.state == State.FAILED and not row.position):
        raise StaleVersion
    row.state, row.progress, row.due_at, row.tries = to, 0, db.now_ms(), 0
    row.lease += 1  # a worker that makes rows stops
    row.save()


def failures(row: Import) -> list[dict[str, Any]]:
    """Return the first rows that failed, or were not made wholly."""
    rows = ImportItem.objects.filter(import_id=row.pk).exclude(error="").order_by("row")
    names = rows.values("row", "source", "error", "target_id")[:FAILED_MAX]
    return [
        {
            "row": one["row"],
            "name": one["source"],
            "error": one["error"],
            "made": one["target_id"] is not None,
        }
        for one in names
    ]


# --- workers ------------------------------------------------------------------------------------
def start() -> None:
    """Send a message to the queue of long work if an import is due."""
    if _due(db.now_ms()).exists():
        enqueue.send_before(TASK, MESSAGE_SECONDS)


def _due(now: int) -> "QuerySet[Import]":
    return Import.objects.filter(state__in=BUSY, due_at__lte=now)


def work_off(kinds: Mapping[str, Kind]) -> bool:
    """Do one turn of the next import that is due; return whether there was one."""
    row = _claim()
    if row is None:
        return False
    kind = kinds[row.kind]
    try:
        if row.tries > TRIES_MAX:
            logger.error("import %s: given up after %d tries", row.pk, TRIES_MAX)
            _finish(row, State.FAILED)
        elif row.state == State.CHECKING:
            _check(row, kind)
        elif row.state == State.RUNNING:
            _run(row, kind)
        else:
            _undo(row, kind)
    except Lost:
        logger.info("import %s was undone or deleted, or has another worker", row.pk)
    except TurnOver as pause:
        _later(row, pause.args[0], tries=row.tries - 1)
    except Unreadable as error:
        _finish(row, State.FAILED, row.preview | {"error": str(error)})
    except Unavailable as error:
        logger.warning("import %s waits: %s", row.pk, error)
        _later(row, WAIT_MS, tries=row.tries - 1)
    except Exception:  # one import must not stop the others
        logger.exception("import %s: a turn failed", row.pk)
        _later(row, WAIT_MS)
    return True


def _claim() -> Import | None:
    return leases.claim(_due(db.now_ms()), LEASE_MS)


def _held(row: Import) -> "QuerySet[Import]":
    return Import.objects.filter(pk=row.pk, lease=row.lease, state=row.state)


def _renewer(row: Import) -> Callable[[], None]:
    """Return a function that renews the lease now and then; it raises Lost."""

    def renew() -> None:
        if not _held(row).update(due_at=db.now_ms() + LEASE_MS):
            raise Lost

    return leases.now_and_then(RENEW_SECONDS, renew)


def _check(row: Import, kind: Kind) -> None:
    """Count the rows for the preview; nothing else changes."""
    counts, partly = Counter[str](), Counter[str]()
    there, first = 0, list[dict[str, str]]()
    alive = _renewer(row)
    path = files.local(row.name, alive)
    kind.prepare(path, alive)
    for one in kind.rows(row.owner_id, path, 0):
        counts[one.error] += 1
        there += one.is_there
        if one.warning and not (one.error or one.is_there):
            partly[one.warning] += 1
        if len(first) < SHOWN:
            first.append({"name": one.source, "error": one.error})
        alive()
    found = counts.pop("", 0)
    preview = {
        "rows": found + sum(counts.values()),
        "found": found,
        "there_already": there,
        "problems": dict(counts),
        "partly": dict(partly),
        "first": first,
    }
    _finish(row, State.PREVIEWED, preview)


def _run(row: Import, kind: Kind) -> None:
    total = max(1, row.preview["rows"])
    alive = _renewer(row)
    path = files.local(row.name, alive)
    kind.prepare(path, alive)
    began = time.monotonic()
    for number, one in enumerate(kind.rows(row.owner_id, path, row.position)):
        _check_turn(number, began)
        alive()
        progress = min(99, 100 * one.number // total)
        try:
            with kind.staged(row.owner_id, path, one) as staged:
                failpoint("import-row-staged")
                _make(row, kind, staged, progress)
        except Refused as refused:
            _make(row, kind, replace(one, error=str(refused)), progress)
        failpoint("import-row-made")
    _finish(row, State.DONE)


def _check_turn(number: int, began: float) -> None:
    """Raise TurnOver after enough rows or time, and while events are behind."""
    if number >= TURN or (number and time.monotonic() - began > TURN_SECONDS):
        raise TurnOver(0)
    if number % 50 == 0 and relay.lag_ms() > LAG_MS:
        raise TurnOver(LAG_PAUSE_MS)


@db.atomic
def _make(row: Import, kind: Kind, one: Row, progress: int) -> None:
    """Make a row, and note that, in one transaction. Raises Lost."""
    if not _held(row).select_for_update().exists():
        raise Lost
    made: Made | None = None
    error = one.error
    if not error:
        try:
            made = kind.make(row.owner_id, one)
        except Refused as refused:
            error = str(refused)
    if error or made:
        ImportItem.objects.create(
            import_id=row.pk,
            row=one.number,
            source=one.source[: ImportItem.SOURCE_MAX],
            target_id=made.target_id if made else None,
            at=made.at if made else None,
            error=made.warning if made else error,
        )
    _held(row).update(
        position=one.number,
        made=F("made") + (made is not None),
        failed=F("failed") + bool(error),
        progress=progress,
        due_at=db.now_ms() + LEASE_MS,
        tries=1,
    )


def _undo(row: Import, kind: Kind) -> None:
    """End what the import made and what still stands, the newest first."""
    items = ImportItem.objects.filter(import_id=row.pk).exclude(target_id=None)
    began = time.monotonic()
    for number, item in enumerate(items.order_by("-row")[: TURN + 1]):
        _check_turn(number, began)
        _undo_one(row, kind, item)
        failpoint("import-row-undone")
    _finish(row, State.UNDONE)


@db.atomic
def _undo_one(row: Import, kind: Kind, item: ImportItem) -> None:
    if not _held(row).select_for_update().exists():
        raise Lost
    if item.target_id is not None and item.at is not None:
        kind.undo(row.owner_id, item.target_id, item.at)
    item.delete()
    undone = 100 * (row.position - item.row) // max(1, row.position)
    _held(row).update(
        made=F("made") - 1, progress=min(99, undone), due_at=db.now_ms() + LEASE_MS, tries=1
    )


def _finish(row: Import, state: State, preview: dict[str, Any] | None = None) -> None:
    """Store the state that follows; then the file goes, unless that state needs it. Raises Lost."""
    _store(row, state, preview)
    if state != State.PREVIEWED:
        files.remove(row.name)


@db.atomic
def _store(row: Import, state: State, preview: dict[str, Any] | None) -> None:
    current = _held(row).select_for_update().first()
    if current is None:
        raise Lost
    current.state = state
    if preview is not None:
        current.preview = preview
    if state != State.FAILED:
        current.progress = 100
    if state != State.PREVIEWED:
        current.name = ""
    current.finished_at = db.now_ms()
    current.save()


def _later(row: Import, pause_ms: int, tries: int | None = None) -> None:
    values = {} if tries is None else {"tries": max(0, tries)}
    _held(row).update(due_at=db.now_ms() + pause_ms, **values)


# --- the end ------------------------------------------------------------------------------------
def purge() -> int:
    """Delete imports that are too old, and files without a row; return how many."""
    now = db.now_ms()
    idle = Import.objects.exclude(state__in=BUSY).order_by("pk")
    old = idle.filter(created_at__lt=now - DAYS * DAY_MS)
    removed = sum(_drop(row.pk) for row in old[:100])
    waiting = idle.filter(state=State.PREVIEWED, created_at__lt=now - WAIT_DAYS * DAY_MS)
    removed += sum(_drop(row.pk, (State.PREVIEWED,)) for row in waiting[:100])
    for name in files.old_names(db.now_ms() - DAY_MS):
        if not Import.objects.filter(name=name).exists():
            files.remove(name)
            removed += 1
    return removed


def delete_all(owner_id: int, limit: int) -> int:
    """Delete imports of a person, whatever their state; return how many."""
    rows = Import.objects.filter(owner_id=owner_id).order_by("pk")[:limit]
    return sum(_drop(row.pk) for row in rows)


@db.atomic
def _drop(ident: int, states: tuple[State, ...] = tuple(State)) -> int:
    rows = Import.objects.select_for_update().filter(pk=ident, state__in=states)
    row = rows.first()
    if row is None:
        return 0
    files.remove(row.name)  # first: a row without a file is deleted again
    ImportItem.objects.filter(import_id=row.pk).delete()
    row.delete()
    return 1
