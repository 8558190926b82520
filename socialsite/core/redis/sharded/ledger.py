"""The rows that say which servers of the cache are trusted, and with which slots.

Times are those of the database. A slot is in one row at most: who claims a slot takes it from all
other rows. Each function raises `django.db.Error` if the database does not answer.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, transaction

from socialsite.core import db
from socialsite.core.redis.sharded.slots import NONE, WHOLE, Slots, slots_of, text_of

# A server that missed deletions is left alone for so long: it may be away from one writer only.
REST_MS = 5_000
# After this time another process may empty what one claimed.
CLAIM_MS = 15_000
# Rows of servers that are no masters any more are kept for a day.
KEPT_MS = 86_400_000


class Row(NamedTuple):
    """One server, by its replication id."""

    replid: str
    # Those that may be used there.
    slots: Slots
    # Those that a process empties there, to trust them then.
    claimed: Slots
    # The stamp of its last loss of slots, in milliseconds; 0 if it never lost any. Each loss of a
    # row has another one. Clocks of databases differ: see `losses` for how long it is ago.
    lost_ms: int

    @property
    def is_trusted(self) -> bool:
        """Return whether any slot may be used there."""
        return bool(self.slots)


def _model() -> Any:
    return apps.get_model("core", "CacheServer")  # the models depend on this package


def _rows() -> Any:
    """Return all rows of the primary, never those of a replica."""
    return _model().objects.using(DEFAULT_DB_ALIAS)


def read() -> list[Row]:
    """Return all rows."""
    return [_row(one) for one in _rows().all()]


def _row(one: Any) -> Row:
    state = _model().State
    return Row(
        one.replid,
        slots_of(one.slots) if one.state == state.TRUSTED else NONE,
        slots_of(one.claimed) if one.token else NONE,
        # A version that knew no slots notes only when it changed a state.
        one.changed_ms if one.state == state.DISTRUSTED else one.lost_ms,
    )


@contextmanager
def _locked() -> Iterator[dict[str, Any]]:
    """Yield all rows by their ids; nobody else changes them in the block."""
    with transaction.atomic(using=DEFAULT_DB_ALIAS):
        yield {one.replid: one for one in _rows().select_for_update().order_by("replid")}


# --- to trust -----------------------------------------------------------------------------------
class Claimed(NamedTuple):
    """What the holder of a token may empty, and then trust."""

    slots: Slots
    # True if the row had none of the server's slots: nobody uses the server.
    is_whole: bool
    # All rows as they are now: some may have lost these slots.
    rows: list[Row]


def claim(replid: str, token: str, owned: Slots) -> Claimed | None:
    """Let the holder of a token empty the slots of a server that are not in its row.

    All other rows lose them. None if another process empties the server, if it must rest, or if
    its row has all slots that it owns.
    """
    model, now = _model(), db.now_ms()
    rested = {"state": model.State.DISTRUSTED, "changed_ms": now - KEPT_MS // 2}
    own, _is_new = _rows().get_or_create(replid=replid, defaults=rested)
    if not _is_free(own, now):
        return None
    with _locked() as rows:
        own = rows.pop(replid, None)
        if own is None or not _is_free(own, now):
            return None
        used = _row(own).slots
        slots = owned - used
        if not slots:
            return None
        for one in rows.values():
            _lose(one, slots | {WHOLE}, now)
        if own.state == model.State.DISTRUSTED:
            own.state = model.State.CLAIMED
        own.token, own.claimed, own.changed_ms = token, text_of(slots), now
        own.save()
        return Claimed(slots, used.isdisjoint(owned), [*map(_row, [own, *rows.values()])])


def _is_free(one: Any, now: int) -> bool:
    rest_ms = CLAIM_MS if one.token else REST_MS
    is_trusted = one.state == _model().State.TRUSTED and not one.token
    return is_trusted or bool(one.changed_ms <= now - rest_ms)


def trust(replid: str, token: str, slots: Slots) -> bool:
    """Trust slots that the holder of a token has emptied, and end its claim.

    False if none of them is claimed any more.
    """
    with _locked() as rows:
        own, state = rows.get(replid), _model().State
        if own is None or own.token != token:
            return False
        row = _row(own)
        new = slots & row.claimed
        own.slots, own.claimed, own.token = text_of(row.slots | new), "", ""
        own.state = state.TRUSTED if row.slots | new else state.DISTRUSTED
        own.changed_ms = db.now_ms()
        own.save()
        return bool(new)


# --- to distrust --------------------------------------------------------------------------------
def settle(done: Mapping[int, Collection[str]], keep: Mapping[str, Slots]) -> list[Row]:
    """Let no row name a slot whose keys a writer could not delete, or deleted elsewhere only.

    `done` has the ids of the servers where all keys of a slot were deleted, none if one failed.
    If a row must change, all rows lose what is not in `keep`. Return the rows, as they are then, of
    the servers on which somebody may have read these keys before.
    """
    rows = read()
    if any(not ids or _is_elsewhere(slot, ids, rows) for slot, ids in done.items()):
        distrust(keep)
        rows = read()
    # While a server that deleted a slot's keys has the slot, nobody uses the slot elsewhere.
    open_ids = [
        ids
        for slot, ids in done.items()
        if not any(one.replid in ids and slot in one.slots for one in rows)
    ]
    return [one for one in rows if any(one.replid not in ids for ids in open_ids)]


def _is_elsewhere(slot: int, ids: Collection[str], rows: Iterable[Row]) -> bool:
    """Return whether a server that is not among some has a slot, or gets it."""
    others = (one for one in rows if one.replid not in ids)
    return any(not {slot, WHOLE}.isdisjoint(one.slots | one.claimed) for one in others)


def distrust(keep: Mapping[str, Slots]) -> None:
    """Let all rows lose what is not in `keep`; it has slots by ids of servers."""
    _take(lambda row: (row.slots | row.claimed) - keep.get(row.replid, NONE))


def shrink(owned: Mapping[str, Slots]) -> None:
    """Let the rows of some servers lose the slots that these do not own."""
    _take(lambda row: row.slots - owned.get(row.replid, row.slots) - {WHOLE})


def _take(lost: Callable[[Row], Slots]) -> None:
    """Take slots from rows. It reads first: while nothing changes, nothing is locked."""
    if any(map(lost, read())):
        with _locked() as rows:
            now = db.now_ms()
            for one in rows.values():
                _lose(one, lost(_row(one)), now)


def _lose(one: Any, lost: Slots, now: int) -> None:
    """Let one row lose slots; without any it is distrusted."""
    row, state = _row(one), _model().State
    if lost.isdisjoint(row.slots | row.claimed):
        return
    slots, claimed = row.slots - lost, row.claimed - lost
    if slots != row.slots:
        one.lost_ms = max(now, one.lost_ms + 1)
    if not claimed or (row.slots and not slots):
        one.token, claimed = "", NONE
    if not slots and not claimed:
        one.state, one.changed_ms = state.DISTRUSTED, max(now, one.lost_ms)
    one.slots, one.claimed = text_of(slots), text_of(claimed)
    one.save()


def forget() -> None:
    """Delete the rows of servers that were distrusted long ago."""
    model = _model()
    old = _rows().filter(changed_ms__lt=db.now_ms() - KEPT_MS)
    old.exclude(state=model.State.TRUSTED).delete()
