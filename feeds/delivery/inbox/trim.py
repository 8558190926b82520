"""Inboxes keep the newest INBOX_MAX posts; older posts are pulled.

- An inbox is complete above its floor. The floor rises in the transaction that removes rows, and
  readers read it with the last rows of the inbox or after them (docs/decisions/0001).
- The floor includes its whole ms: readers pull all posts at or below the floor. So rows that a slow
  chunk or a backfill inserts there later are never missed, and removing them again loses nothing.
"""

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

from django.conf import settings
from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Value, When

from accounts.models import User
from feeds.models import InboxEntry, InboxState
from socialsite.core import db

# Rows removed in one transaction; more only if they share the same ms.
BATCH = 1000
# Inboxes trimmed in one transaction.
TOGETHER = 16
# Below this INBOX_MAX every delivery trims the inbox; otherwise one of INBOX_MAX / 4 does.
SMALL = 100
# One of this many chunks trims the sampled inboxes of all of them.
CHUNKS = 8
# People whose inboxes are counted in one step of the walk.
STEP = 200
_MIX, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def trim(viewer_id: int) -> int:
    """Remove the rows of an inbox beyond INBOX_MAX and raise its floor; return how many."""
    if _first_beyond(viewer_id) is None:
        return 0
    gone, more = _trim_batch(viewer_id)
    while more:
        taken, more = _trim_batch(viewer_id)
        gone += taken
    return gone


def trim_all(viewer_ids: Sequence[int]) -> int:
    """Trim several inboxes, a few in each transaction; return how many rows were removed."""
    gone = 0
    for start in range(0, len(viewer_ids), TOGETHER):
        beyond = _beyond(viewer_ids[start : start + TOGETHER])
        if beyond:
            taken, longer = _trim_together(beyond)
            gone += taken + sum(map(trim, longer))
    return gone


def _newest_first(viewer: "int | OuterRef") -> "QuerySet[InboxEntry, int]":
    """Return the positions (ms) of an inbox, newest first."""
    rows = InboxEntry.objects.filter(user_id=viewer).order_by("-publish_time", "-post_id")
    return rows.values_list("publish_time", flat=True)


def _first_beyond(viewer_id: int) -> int | None:
    """Return the position (ms) of the newest surplus row."""
    limit = settings.INBOX_MAX
    return _newest_first(viewer_id)[limit : limit + 1].first()


def _beyond(viewer_ids: Sequence[int]) -> dict[int, int]:
    """Return the same for several inboxes, only for those that are too long."""
    limit = settings.INBOX_MAX
    first = Subquery(_newest_first(OuterRef("pk"))[limit : limit + 1])
    people = User.objects.filter(pk__in=viewer_ids).order_by().annotate(beyond=first)
    found = people.values_list("pk", "beyond")
    return {viewer: position for viewer, position in found if position is not None}


@db.atomic
def _trim_together(beyond: Mapping[int, int]) -> tuple[int, list[int]]:
    """Raise floors to positions and remove the rows below; return how many, and the rest.

    The rest are people with more than BATCH surplus rows: these rows stay, below the new floors. A
    position read before the lock is as good as one read under it, as only rows below the floor go.
    """
    # Lock the states before the rows, in the same order as all other writers.
    db.ensure(*(InboxState(viewer_id=viewer) for viewer in sorted(beyond)))
    states = InboxState.objects.filter(pk__in=beyond)
    floors = {
        viewer: max(floor, beyond[viewer])
        for viewer, floor in states.select_for_update().values_list("pk", "inbox_floor")
    }
    raised = Case(*(When(pk=viewer, then=Value(floor)) for viewer, floor in floors.items()))
    states.update(inbox_floor=raised, generation=F("generation") + 1)
    below = InboxEntry.objects.filter(
        user_id=OuterRef("pk"), publish_time__lte=OuterRef("inbox_floor")
    )
    last = Subquery(below.order_by("publish_time", "post_id").values("post_id")[BATCH : BATCH + 1])
    longer = list(
        states.annotate(last=last).filter(last__isnull=False).values_list("pk", flat=True)
    )
    short = {viewer: floor for viewer, floor in floors.items() if viewer not in longer}
    return (_below(short).delete()[0] if short else 0), longer


def _below(floors: Mapping[int, int]) -> "QuerySet[InboxEntry]":
    """Return the rows of inboxes at or below their floors."""
    ranges = (
        Q(user_id=viewer, publish_time__lte=floor) for viewer, floor in sorted(floors.items())
    )
    return InboxEntry.objects.filter(reduce(operator.or_, ranges))


@db.atomic
def _trim_batch(viewer_id: int) -> tuple[int, bool]:
    """Raise the floor and remove the BATCH oldest rows; return how many, and if more are left."""
    # Lock the state before the rows, in the same order as all other writers.
    db.ensure(InboxState(viewer_id=viewer_id))
    state = InboxState.objects.select_for_update().get(pk=viewer_id)
    beyond = _first_beyond(viewer_id)
    if beyond is None:
        return 0, False
    floor = max(state.inbox_floor, beyond)
    InboxState.objects.filter(pk=viewer_id).update(
        inbox_floor=floor, generation=F("generation") + 1
    )
    below = InboxEntry.objects.filter(user_id=viewer_id, publish_time__lte=floor)
    oldest_first = below.order_by("publish_time", "post_id").values_list("publish_time", flat=True)
    last = oldest_first[BATCH - 1 : BATCH].first()
    some = below if last is None else below.filter(publish_time__lte=last)
    return some.delete()[0], last is not None


def is_small() -> bool:
    """Return True if inboxes are so small that every delivery trims them at once."""
    return settings.INBOX_MAX < SMALL


def is_turn(viewer_ids: Sequence[int], post_id: int) -> bool:
    """Return True if the receivers of this chunk may be sampled; true for one of CHUNKS chunks."""
    return bool(viewer_ids) and (is_small() or _turn(viewer_ids, post_id) % CHUNKS == 0)


def sampled(viewer_ids: Sequence[int], post_id: int) -> list[int]:
    """Return the sampled receivers of a chunk, always the same ones.

    One of INBOX_MAX / 4 posts samples a reader, so inboxes are a quarter too long on average when
    they are trimmed. One of CHUNKS chunks samples CHUNKS times as many readers, because trimming a
    few inboxes together costs little more than trimming one.
    """
    if is_small():
        return list(viewer_ids)
    if not is_turn(viewer_ids, post_id):
        return []
    every = settings.INBOX_MAX // 4 // CHUNKS
    turn = _turn(viewer_ids, post_id) // CHUNKS
    return [viewer for viewer in viewer_ids if (_mix(viewer) + turn) % every == 0]


def _turn(viewer_ids: Sequence[int], post_id: int) -> int:
    return _mix(post_id ^ viewer_ids[0])


def _mix(number: int) -> int:
    """Hash to 32 bits that differ between neighbouring numbers."""
    return ((number * _MIX) & _MASK) >> 32


def trim_sampled(viewer_ids: Sequence[int], post_id: int) -> int:
    """Trim the sampled receivers of a post; return how many rows were removed."""
    return trim_all(sampled(viewer_ids, post_id))


def walk(after: int, step: int) -> tuple[int | None, int]:
    """Trim the inboxes of the next `step` people by id.

    Returns the last id (None at the end) and how many rows were removed.
    """
    people = InboxEntry.objects.filter(user_id__gt=after).order_by("user_id")
    counts = people.values("user_id").annotate(rows=Count("*")).values_list("user_id", "rows")
    found = list(counts[:step])
    gone = trim_all([viewer for viewer, rows in found if rows > settings.INBOX_MAX])
    return (found[-1][0] if len(found) == step else None), gone
