"""The durable fan-out: a plan written once, chunks under a lease, a sweeper.

The plan is a set of id ranges that cover all ids, so a follower is in exactly one chunk whatever
happens to the follower list later. A chunk is one `INSERT IGNORE … SELECT` in the transaction that
takes its lease, and that holds the post (not deleted) and the followers' rows in share mode;
running it again changes nothing. Messages only hurry: whatever they lose, `sweep` finds.
"""

import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Value, Window
from django.db.models.functions import Mod, RowNumber
from django.utils import timezone

from feeds import cache, hints, trim
from feeds.models import FanOut, FanOutChunk, InboxEntry, InboxState, Mode, Post
from relations import queries as relations
from socialsite.core import db, doorbell
from socialsite.core.failpoints import failpoint
from socialsite.core.ids import MAX_ID
from socialsite.core.pagination import Position
from socialsite.core.prepared import prepared, prepared_update
from socialsite.core.redis import RedisDown

_Update = tuple[QuerySet[FanOutChunk], dict[str, int]]

logger = logging.getLogger(__name__)

LEASE_MS = 8_000
# Chunks of one message, which costs a worker up to half of what a chunk does. Fewer of a post that
# has few, so that two workers share it; more workers than that are for other posts.
CHUNKS_A_MESSAGE, MESSAGES_LEAST = 4, 2
SWEEP_LIMIT = 200
KEEP_MS = 7 * 86_400_000
PURGE_LIMIT = 1000


@db.atomic
def plan(post_id: int) -> None:
    """Write the chunks of a post once; a plan that exists is left as it is (T28)."""
    fanout = FanOut.objects.select_for_update().filter(pk=post_id).first()
    if fanout is None or fanout.state != FanOut.State.NEW:
        return
    # Every FANOUT_CHUNK-th of them, counted by the database: a row a chunk, not one a follower.
    number = Window(RowNumber(), order_by="to_user")
    followers = relations.follower_ids(fanout.author_id).annotate(place=number - Value(1))
    firsts = list(followers.annotate(rest=Mod("place", settings.FANOUT_CHUNK)).filter(rest=0))
    bounds, total = firsts[1:], len(firsts)
    edges = [0, *(bound - 1 for bound in bounds), MAX_ID]
    FanOutChunk.objects.bulk_create(
        FanOutChunk(fanout=fanout, number=number, lower=edges[number], upper=edges[number + 1])
        for number in range(total)
    )
    fanout.total = total
    fanout.state = FanOut.State.RUNNING if total else FanOut.State.DONE
    fanout.done_at = None if total else db.now_ms()
    fanout.save(update_fields=["total", "state", "done_at"])
    failpoint("plan-written")
    if not total:
        place = Position(fanout.position, post_id)
        transaction.on_commit(partial(cache.delivered, fanout.author_id, place), robust=True)


def open_chunks(post_id: int) -> list[int]:
    """Return the ids of the chunks of a post that are not done."""
    chunks = FanOutChunk.objects.filter(fanout_id=post_id, done=False)
    return list(chunks.order_by("number").values_list("pk", flat=True))


def call_workers(post_id: int) -> None:
    """Hand the open chunks of a post to the workers, a few by each message."""
    chunks = open_chunks(post_id)
    each = min(CHUNKS_A_MESSAGE, -(-len(chunks) // MESSAGES_LEAST))
    for start in range(0, len(chunks), each or 1):
        doorbell.ring("feeds.run_chunks", post_id, chunks[start : start + each])


def run_chunks(chunks: Iterable[tuple[int, int]]) -> int:
    """Run chunks, each given with its post; returns how many were delivered.

    One that fails is left to the next sweep; so are the others of a post which needs what somebody
    holds for longer than a lock is waited for, as they would wait as long for the same.
    """
    count = 0
    stuck: set[int] = set()
    for chunk_id, post_id in chunks:
        if post_id in stuck:
            continue
        try:
            count += run_chunk(chunk_id)
        except Exception as error:
            known = db.is_retryable(error)
            logger.warning("chunk %s is left to the next sweep", chunk_id, exc_info=not known)
            if known:
                stuck.add(post_id)
    return count


def run_chunk(chunk_id: int) -> bool:
    """Deliver one chunk; False when it is done or in other hands. Safe to run twice, or at once.

    In this order: the rows, then the cached inboxes of everyone in the chunk (a run before may have
    died in between), then the checkpoint. Readers pull the post until the last of them.
    """
    lease = secrets.randbits(62)
    delivery = _deliver(chunk_id, lease, _watching(chunk_id))
    if delivery is None:
        return False
    failpoint("chunk-delivered")
    hints.tell(delivery.watching)
    if delivery.followers:
        try:
            cache.deliver(delivery.followers, delivery.place)
        except RedisDown as error:
            logger.warning("cached inboxes of chunk %s are given up: %s", chunk_id, error)
            if not _give_up_cached(chunk_id, lease, delivery.followers):
                return False
    failpoint("chunk-cached")
    if _checkpoint(chunk_id, lease, delivery.inserted):
        failpoint("chunk-done")
        if not _open(delivery.place.id):
            _finish(FanOut.objects.filter(pk=delivery.place.id))
        if trim.is_small():
            trim.trim_sampled(delivery.followers, delivery.place.id)
        elif trim.is_turn(delivery.followers, delivery.place.id):
            # Trimming takes about as long as delivering: first to the followers who wait.
            doorbell.ring_last("feeds.trim_chunk", chunk_id)
    return True


def trim_chunk(chunk_id: int) -> int:
    """Trim the inboxes that a chunk was delivered to and it is the turn of; returns how many rows.

    Whom nobody asks it for, the nightly walk finds.
    """
    chunk = FanOutChunk.objects.select_related("fanout").filter(pk=chunk_id).first()
    if chunk is None:
        return 0
    followers = _followers(chunk.fanout.author_id, chunk.lower, chunk.upper, chunk.fanout.mode)
    return trim.trim_sampled(list(followers), chunk.fanout_id)


def _followers(author_id: int, lower: int, upper: int, mode: int) -> "QuerySet[Any, int]":
    """Return the ids of those in a chunk who get the post, as the relations are now."""
    found = relations.follower_ids(author_id).filter(to_user_id__gt=lower, to_user_id__lte=upper)
    return found.filter(to_user__last_seen__gte=active_since()) if mode == Mode.ACTIVE else found


def active_since() -> datetime:
    """Return since when somebody must have been here to be pushed to by ACTIVE."""
    return timezone.now() - timedelta(days=settings.ACTIVE_DAYS)


def _watching(chunk_id: int) -> set[int]:
    """Return who in a chunk has a page open, or may; one question to Redis where nobody has."""
    if not hints.anybody():
        return set()
    chunk = FanOutChunk.objects.select_related("fanout__author").filter(pk=chunk_id).first()
    if chunk is None or not chunk.fanout.author.is_active:
        return set()  # of somebody banned nobody is told, although it is delivered
    followers = _followers(chunk.fanout.author_id, chunk.lower, chunk.upper, chunk.fanout.mode)
    return hints.watching(followers)


@db.atomic
def _give_up_cached(chunk_id: int, lease: int, followers: Sequence[int]) -> bool:
    """Make cached inboxes useless that could not be told; True when that is long enough ago.

    Readers who still reach Redis may use the old generation for as long as they are cached.
    """
    held = FanOutChunk.objects.filter(pk=chunk_id, lease=lease, done=False)
    if held.filter(uncached=True).exists():
        return True
    states = InboxState.objects.filter(viewer_id__in=followers)
    states.update(generation=F("generation") + 1)
    held.update(uncached=True, leased_until=db.now_ms() + cache.READER_MAX_MS)
    return False


@dataclass(frozen=True, slots=True)
class _Delivery:
    """What a chunk came to: how many rows are new, everyone in it, the post's place.

    `watching` are those whose row is new (T29) and who have a page open, or may have.
    """

    inserted: int
    followers: Sequence[int]
    place: Position
    watching: frozenset[int] = frozenset()


@db.atomic
def _deliver(chunk_id: int, lease: int, watching: set[int]) -> _Delivery | None:
    """Take the lease of a chunk and insert its rows; None when it is done or in other hands."""
    now = db.now_ms()
    free = _free(chunk_id, now)
    if not free:
        return None
    _take(chunk_id, lease, now + LEASE_MS)
    failpoint("chunk-leased")
    post_id, lower, upper = free[0]
    found = db.rows_locked_in_share(_alive.statement(post_id))
    if not found:
        return _Delivery(0, [], Position(0, post_id))
    author_id, position, mode = found[0]
    there: set[int] = set()
    if watching:
        rows_there = InboxEntry.objects.filter(publish_time=position, post_id=post_id)
        there.update(rows_there.filter(user_id__in=watching).values_list("user_id", flat=True))
    rows: db.Statement | QuerySet[Any, Any]
    if mode == Mode.ALL:
        rows = _rows_for_all.statement(author_id, lower, upper, position, post_id)
    else:
        rows = _rows(_followers(author_id, lower, upper, mode), position, post_id, author_id)
    inserted = db.insert_from_select(
        InboxEntry, ["user", "publish_time", "post", "author"], rows, lock_source=True
    )
    failpoint("chunk-inserted")
    ids: Sequence[int]
    if mode == Mode.ALL:
        ids = _all_followers(author_id, lower, upper)
    else:
        ids = list(_followers(author_id, lower, upper, mode))
    return _Delivery(
        inserted, ids, Position(position, post_id), frozenset(watching.intersection(ids) - there)
    )


@prepared
def _free(chunk_id: int, now: int) -> "QuerySet[FanOutChunk, Any]":
    # Nobody waits for whoever is delivering it, were they to hang.
    chunks = FanOutChunk.objects.select_for_update(skip_locked=True)
    free = chunks.filter(pk=chunk_id, done=False, leased_until__lte=now)
    return free.values_list("fanout_id", "lower", "upper")


@prepared_update
def _take(chunk_id: int, lease: int, until: int) -> _Update:
    return FanOutChunk.objects.filter(pk=chunk_id), {"lease": lease, "leased_until": until}


@prepared_update
def _checkpoint(chunk_id: int, lease: int, inserted: int) -> _Update:
    held = FanOutChunk.objects.filter(pk=chunk_id, lease=lease, done=False)
    return held, {"done": True, "delivered": inserted}


@prepared
def _open(post_id: int) -> "QuerySet[FanOutChunk, Any]":
    return FanOutChunk.objects.filter(fanout_id=post_id, done=False).values_list("pk")[:1]


@prepared
def _alive(post_id: int) -> "QuerySet[Post, Any]":
    posts = Post.objects.filter(pk=post_id, is_deleted=False)
    return posts.values_list("author_id", "position", "mode")


@prepared
def _all_followers(author_id: int, lower: int, upper: int) -> "QuerySet[Any, int]":
    return _followers(author_id, lower, upper, Mode.ALL)


@prepared
def _rows_for_all(
    author_id: int, lower: int, upper: int, position: int, post_id: int
) -> "QuerySet[Any, Any]":
    return _rows(_followers(author_id, lower, upper, Mode.ALL), position, post_id, author_id)


def _rows(
    followers: "QuerySet[Any, int]", position: int, post_id: int, author_id: int
) -> "QuerySet[Any, Any]":
    values = (Value(position), Value(post_id), Value(author_id))
    return followers.order_by().values_list("to_user_id", *values)


def _finish(fanouts: QuerySet[FanOut]) -> int:
    """Mark those of the fan-outs DONE that have no open chunk left; returns how many."""
    open_chunk = FanOutChunk.objects.filter(fanout=OuterRef("pk"), done=False)
    ready = fanouts.filter(~Exists(open_chunk), state=FanOut.State.RUNNING)
    places = list(ready.values_list("pk", "author_id", "position"))
    ids = [place[0] for place in places]
    done = FanOut.objects.filter(pk__in=ids).update(
        state=FanOut.State.DONE, done_at=db.now_ms() if ids else None
    )
    if done:
        failpoint("fanout-done")
    for post_id, author_id, position in places:
        cache.delivered(author_id, Position(position, post_id))
    return done


def purge(limit: int = PURGE_LIMIT) -> int:
    """Forget finished deliveries of more than a week ago; returns how many."""
    limit_ms = db.now_ms() - KEEP_MS
    old = FanOut.objects.filter(state=FanOut.State.DONE, position__lt=limit_ms)
    ids = list(old.values_list("pk", flat=True)[:limit])
    FanOutChunk.objects.filter(fanout_id__in=ids).delete()
    FanOut.objects.filter(pk__in=ids).delete()
    return len(ids)


def sweep(limit: int = SWEEP_LIMIT) -> int:
    """Close what is complete and run chunks that nobody holds; returns how much was done (T31)."""
    count = _finish(FanOut.objects.all())
    due = FanOutChunk.objects.filter(done=False, leased_until__lte=db.now_ms()).order_by("pk")
    return count + run_chunks(list(due.values_list("pk", "fanout_id")[:limit]))
