"""The durable fan-out: a plan written once, chunks under a lease, a sweeper (T28, T29, T31).

The plan is a set of id ranges that cover all ids, so a follower is in exactly one chunk whatever
happens to the follower list later. A chunk is one `INSERT IGNORE … SELECT` in a transaction that
holds the post (not deleted), the lease, and the followers' rows in share mode; running it again
changes nothing. Messages only hurry: whatever they lose, `sweep` finds.
"""

import logging
import secrets
from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.utils import timezone

from feeds.models import FanOut, FanOutChunk, InboxEntry, Mode, Post
from relations import queries as relations
from socialsite.core import db
from socialsite.core.failpoints import failpoint
from socialsite.core.ids import MAX_ID

logger = logging.getLogger(__name__)

LEASE_MS = 8_000
SWEEP_LIMIT = 200
KEEP_MS = 7 * 86_400_000
PURGE_LIMIT = 1000


@db.atomic
def plan(post_id: int) -> None:
    """Write the chunks of a post once; a plan that exists is left as it is (T28)."""
    fanout = FanOut.objects.select_for_update().filter(pk=post_id).first()
    if fanout is None or fanout.state != FanOut.State.NEW:
        return
    followers = relations.follower_ids(fanout.author_id)
    bounds = list(followers)[settings.FANOUT_CHUNK :: settings.FANOUT_CHUNK]
    total = len(bounds) + 1 if followers.exists() else 0
    edges = [0, *(bound - 1 for bound in bounds), MAX_ID]
    FanOutChunk.objects.bulk_create(
        FanOutChunk(fanout=fanout, number=number, lower=edges[number], upper=edges[number + 1])
        for number in range(total)
    )
    fanout.total = total
    fanout.state = FanOut.State.RUNNING if total else FanOut.State.DONE
    fanout.save(update_fields=["total", "state"])


def open_chunks(post_id: int) -> list[int]:
    """Return the ids of the chunks of a post that are not done."""
    chunks = FanOutChunk.objects.filter(fanout_id=post_id, done=False)
    return list(chunks.order_by("number").values_list("pk", flat=True))


def run_chunk(chunk_id: int) -> bool:
    """Deliver one chunk; False when it is done or in other hands. Safe to run twice, or at once."""
    now = db.now_ms()
    lease = secrets.randbits(62)
    free = FanOutChunk.objects.filter(pk=chunk_id, done=False, leased_until__lte=now)
    if not free.update(lease=lease, leased_until=now + LEASE_MS):
        return False
    failpoint("chunk-leased")
    delivered = _deliver(chunk_id, lease)
    if delivered is None:
        return False
    failpoint("chunk-delivered")
    held = FanOutChunk.objects.filter(pk=chunk_id, lease=lease, done=False)
    if held.update(done=True, delivered=delivered):
        failpoint("chunk-done")
        _finish(
            FanOut.objects.filter(pk__in=FanOutChunk.objects.filter(pk=chunk_id).values("fanout"))
        )
    return True


@db.atomic
def _deliver(chunk_id: int, lease: int) -> int | None:
    """Insert the rows of a chunk; None when the lease is lost, else how many were inserted."""
    chunk = FanOutChunk.objects.select_for_update().filter(pk=chunk_id, lease=lease).first()
    if chunk is None:
        return None
    alive = Post.objects.filter(pk=chunk.fanout_id, is_deleted=False)
    found = db.rows_locked_in_share(alive.values_list("id", "author_id", "position", "mode"))
    if not found:
        return 0
    post_id, author_id, position, mode = found[0]
    followers = relations.follower_ids(author_id).filter(
        to_user_id__gt=chunk.lower, to_user_id__lte=chunk.upper
    )
    if mode == Mode.ACTIVE:
        since = timezone.now() - timedelta(days=settings.ACTIVE_DAYS)
        followers = followers.filter(to_user__last_seen__gte=since)
    rows = followers.order_by().values_list(
        "to_user_id", Value(position), Value(post_id), Value(author_id)
    )
    inserted = db.insert_from_select(
        InboxEntry, ["user", "publish_time", "post", "author"], rows, lock_source=True
    )
    failpoint("chunk-inserted")
    return inserted


def _finish(fanouts: QuerySet[FanOut]) -> int:
    """Mark those of the fan-outs DONE that have no open chunk left; returns how many."""
    open_chunk = FanOutChunk.objects.filter(fanout=OuterRef("pk"), done=False)
    ready = fanouts.filter(~Exists(open_chunk), state=FanOut.State.RUNNING)
    ids = list(ready.values_list("pk", flat=True))
    return FanOut.objects.filter(pk__in=ids).update(state=FanOut.State.DONE)


def purge(limit: int = PURGE_LIMIT) -> int:
    """Forget finished deliveries of more than a week ago; returns how many."""
    limit_ms = db.now_ms() - KEEP_MS
    old = FanOut.objects.filter(state=FanOut.State.DONE, position__lt=limit_ms)
    ids = list(old.values_list("pk", flat=True)[:limit])
    FanOutChunk.objects.filter(fanout_id__in=ids).delete()
    FanOut.objects.filter(pk__in=ids).delete()
    return len(ids)


def sweep(limit: int = SWEEP_LIMIT) -> int:
    """Run chunks that nobody holds and close what is complete; returns how much was done (T31)."""
    now = db.now_ms()
    due = FanOutChunk.objects.filter(done=False, leased_until__lte=now).order_by("pk")
    done = sum(run_chunk(pk) for pk in list(due.values_list("pk", flat=True)[:limit]))
    return done + _finish(FanOut.objects.all())
