"""Inboxes keep the newest INBOX_MAX posts; what is older is pulled (race matrix, inbox trimmed).

- An inbox lacks nothing above its floor. The floor rises in the transaction that takes rows away,
  and readers read it after the inbox (docs/decisions/0001).
- A ms is taken whole: readers pull all that is at or below the floor, so rows that a slow chunk or
  a backfill puts there later are never missed, nor is anything below it that is taken again.
"""

from collections.abc import Iterable, Sequence

from django.conf import settings
from django.db.models import Count, F

from feeds.models import InboxEntry, InboxState
from socialsite.core import db

# Rows taken away in one transaction, but for more in the same ms.
BATCH = 1000
# Below this size of an inbox every delivery looks at it, above it one in a quarter of the size.
SMALL = 100
# People whose inboxes are counted in one step of the walk.
STEP = 200
_MIX, _MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def trim(viewer_id: int) -> int:
    """Take what is beyond INBOX_MAX out of an inbox and raise its floor; returns how many rows."""
    if _first_beyond(viewer_id) is None:
        return 0
    gone, more = _trim_some(viewer_id)
    while more:
        taken, more = _trim_some(viewer_id)
        gone += taken
    return gone


def _first_beyond(viewer_id: int) -> int | None:
    """Return the position (ms) of the newest row that is one too many."""
    rows = InboxEntry.objects.filter(user_id=viewer_id).order_by("-publish_time", "-post_id")
    limit = settings.INBOX_MAX
    return rows.values_list("publish_time", flat=True)[limit : limit + 1].first()


@db.atomic
def _trim_some(viewer_id: int) -> tuple[int, bool]:
    """Raise the floor and take BATCH rows away, the oldest; returns how many and if more are."""
    # The state before the rows, as everybody who changes both.
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


def sampled(viewer_ids: Iterable[int], post_id: int) -> list[int]:
    """Return those of the receivers of a post whose inboxes it is the turn of, always the same.

    Of a quarter of INBOX_MAX posts one picks a reader, so inboxes are a quarter too long on average
    when they are trimmed.
    """
    every = 1 if settings.INBOX_MAX < SMALL else settings.INBOX_MAX // 4
    return [
        viewer
        for viewer in viewer_ids
        if ((((viewer ^ (post_id * _MIX)) * _MIX) & _MASK) >> 32) % every == 0
    ]


def trim_sampled(viewer_ids: Iterable[int], post_id: int) -> int:
    """Trim the sampled ones of those a post was delivered to; returns how many rows are gone."""
    found = sampled(viewer_ids, post_id)
    return sum(trim(viewer) for viewer in _too_long(found)) if found else 0


def _too_long(viewer_ids: Sequence[int]) -> list[int]:
    counts = InboxEntry.objects.filter(user_id__in=viewer_ids).order_by("user_id")
    counted = counts.values("user_id").annotate(rows=Count("*"))
    too_long = counted.filter(rows__gt=settings.INBOX_MAX)
    return list(too_long.values_list("user_id", flat=True))


def walk(after: int, step: int) -> tuple[int | None, int]:
    """Trim the inboxes of the next `step` people by id.

    Returns the last id, None at the end, and how many rows are gone.
    """
    people = InboxEntry.objects.filter(user_id__gt=after).order_by("user_id")
    counts = people.values("user_id").annotate(rows=Count("*")).values_list("user_id", "rows")
    found = list(counts[:step])
    gone = sum(trim(viewer) for viewer, rows in found if rows > settings.INBOX_MAX)
    return (found[-1][0] if len(found) == step else None), gone
