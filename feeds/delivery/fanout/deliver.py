"""The delivery of a chunk: its inbox rows, the cached inboxes, the checkpoint.

A chunk is one `INSERT IGNORE … SELECT` in the transaction that takes its lease. It locks the post
(not deleted) and the followers' rows in share mode; running it again changes nothing. Messages are
only hints: `feeds.delivery.fanout.sweep` finds the work of lost ones.
"""

import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Value

from feeds import cache, tiers
from feeds.delivery.fanout import new_post_hints
from feeds.delivery.inbox import trim
from feeds.models import NAMED, FanOut, FanOutChunk, InboxEntry, InboxState, Mode, Post
from socialsite.core import db
from socialsite.core.db.compiled import compiled, compiled_update
from socialsite.core.events import enqueue
from socialsite.core.positions import Position
from socialsite.core.redis import RedisDown
from socialsite.core.runtime.failpoints import failpoint
from socialsite.core.telemetry.instruments import FANOUTS

_Update = tuple[QuerySet[FanOutChunk], dict[str, int]]

logger = logging.getLogger(__name__)

LEASE_MS = 8_000


def run_chunks(chunks: Iterable[tuple[int, int]]) -> int:
    """Run chunks, each given with its post; return how many were delivered.

    A failed chunk is left to the next sweep. After a lock timeout the other chunks of the same post
    are left as well, because they would wait for the same lock.
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
            logger.warning("chunk %s failed; retried by a sweep", chunk_id, exc_info=not known)
            if known:
                stuck.add(post_id)
    return count


def run_chunk(chunk_id: int) -> bool:
    """Deliver one chunk; return False if it is done or leased. Safe to repeat, also concurrently.

    The order is: the rows, then the cached inboxes of everyone in the chunk (an earlier run may
    have died in between), then the checkpoint. Readers pull the post until the last checkpoint.
    """
    lease = secrets.randbits(62)
    delivery = _deliver(chunk_id, lease, _watching(chunk_id))
    if delivery is None:
        return False
    failpoint("chunk-delivered")
    new_post_hints.publish(delivery.watching, delivery.place.ts_ms)
    if delivery.followers:
        try:
            cache.deliver(delivery.followers, delivery.place)
        except RedisDown as error:
            logger.warning("chunk %s: invalidating stale cached inboxes: %s", chunk_id, error)
            if not _invalidate_cached(chunk_id, lease, delivery.followers):
                return False
    failpoint("chunk-cached")
    if _checkpoint(chunk_id, lease, delivery.inserted):
        failpoint("chunk-done")
        if not _open(delivery.place.id):
            finish(FanOut.objects.filter(pk=delivery.place.id))
        if trim.is_small():
            trim.trim_sampled(delivery.followers, delivery.place.id)
        elif trim.is_turn(delivery.followers, delivery.place.id):
            # Trimming takes about as long as delivering, so waiting followers come first.
            enqueue.send_last("feeds.trim_chunk", chunk_id)
    return True


def trim_chunk(chunk_id: int) -> int:
    """Trim the sampled inboxes of a delivered chunk; return how many rows were removed.

    The nightly sweep trims the rest.
    """
    chunk = FanOutChunk.objects.select_related("fanout__post").filter(pk=chunk_id).first()
    if chunk is None:
        return 0
    return trim.trim_sampled(list(_recipients(chunk)), chunk.fanout_id)


def _watching(chunk_id: int) -> set[int]:
    """Return recipients in a chunk who may have a page open; one Redis call if nobody has."""
    if not new_post_hints.anybody():
        return set()
    chunk = (
        FanOutChunk.objects.select_related("fanout__author", "fanout__post")
        .filter(pk=chunk_id)
        .first()
    )
    if chunk is None or not chunk.fanout.author.is_active:
        return set()  # posts of a banned author are delivered without live hints
    return new_post_hints.watching(_recipients(chunk))


def _recipients(chunk: FanOutChunk) -> "QuerySet[Any, int]":
    """Return the ids of the recipients in a chunk; its fan-out and post must be loaded."""
    fanout = chunk.fanout
    named = fanout.post_id if fanout.post.visibility in NAMED else None
    return tiers.recipients(fanout.author_id, chunk.lower, chunk.upper, fanout.mode, named)


@db.atomic
def _invalidate_cached(chunk_id: int, lease: int, followers: Sequence[int]) -> bool:
    """Invalidate cached inboxes that missed an update; return True once that was long enough ago.

    Readers who still reach Redis may use the old generation until it expires there.
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
    """The result of a chunk: number of new rows, all recipients, the post's position.

    `watching` are recipients with a new row (T29) who have a page open, or may have.
    """

    inserted: int
    followers: Sequence[int]
    place: Position
    watching: frozenset[int] = frozenset()


@db.atomic
def _deliver(chunk_id: int, lease: int, watching: set[int]) -> _Delivery | None:
    """Take the lease of a chunk and insert its rows; return None if it is done or leased."""
    now = db.now_ms()
    free = _free.first(chunk_id, now)
    if free is None:
        return None
    _take(chunk_id, lease, now + LEASE_MS)
    failpoint("chunk-leased")
    post_id, lower, upper = free
    found = db.rows_locked_in_share(_alive.statement(post_id))
    if not found:
        return _Delivery(0, [], Position(0, post_id))
    author_id, position, mode, visibility = found[0]
    to_all = not tiers.is_pulled(mode) and visibility not in NAMED
    named = post_id if visibility in NAMED else None
    there: set[int] = set()
    if watching:
        rows_there = InboxEntry.objects.filter(publish_time=position, post_id=post_id)
        there.update(rows_there.filter(user_id__in=watching).values_list("user_id", flat=True))
    rows: db.Statement | QuerySet[Any, Any]
    if to_all:
        rows = _rows_for_all.statement(author_id, lower, upper, position, post_id)
    else:
        people = tiers.recipients(author_id, lower, upper, mode, named)
        rows = _rows(people, position, post_id, author_id)
    inserted = db.insert_from_select(
        InboxEntry, ["user", "publish_time", "post", "author"], rows, lock_source=True
    )
    failpoint("chunk-inserted")
    ids: Sequence[int]
    if to_all:
        ids = _all_followers(author_id, lower, upper)
    else:
        ids = list(tiers.recipients(author_id, lower, upper, mode, named))
    return _Delivery(
        inserted, ids, Position(position, post_id), frozenset(watching.intersection(ids) - there)
    )


@compiled
def _free(chunk_id: int, now: int) -> "QuerySet[FanOutChunk, Any]":
    # Skip locked rows: never wait for a worker that delivers the chunk, as it may hang.
    chunks = FanOutChunk.objects.select_for_update(skip_locked=True)
    free = chunks.filter(pk=chunk_id, done=False, leased_until__lte=now)
    return free.values_list("fanout_id", "lower", "upper")


@compiled_update
def _take(chunk_id: int, lease: int, until: int) -> _Update:
    return FanOutChunk.objects.filter(pk=chunk_id), {"lease": lease, "leased_until": until}


@compiled_update
def _checkpoint(chunk_id: int, lease: int, inserted: int) -> _Update:
    held = FanOutChunk.objects.filter(pk=chunk_id, lease=lease, done=False)
    return held, {"done": True, "delivered": inserted}


@compiled
def _open(post_id: int) -> "QuerySet[FanOutChunk, Any]":
    return FanOutChunk.objects.filter(fanout_id=post_id, done=False).values_list("pk")[:1]


@compiled
def _alive(post_id: int) -> "QuerySet[Post, Any]":
    posts = Post.objects.filter(pk=post_id, is_deleted=False)
    return posts.values_list("author_id", "position", "mode", "visibility")


@compiled
def _all_followers(author_id: int, lower: int, upper: int) -> "QuerySet[Any, int]":
    return tiers.recipients(author_id, lower, upper, Mode.ALL)


@compiled
def _rows_for_all(
    author_id: int, lower: int, upper: int, position: int, post_id: int
) -> "QuerySet[Any, Any]":
    return _rows(tiers.recipients(author_id, lower, upper, Mode.ALL), position, post_id, author_id)


def _rows(
    followers: "QuerySet[Any, int]", position: int, post_id: int, author_id: int
) -> "QuerySet[Any, Any]":
    values = (Value(position), Value(post_id), Value(author_id))
    return followers.order_by().values_list("to_user_id", *values)


def finish(fanouts: QuerySet[FanOut]) -> int:
    """Mark those of the fan-outs DONE that have no open chunk left; return how many."""
    open_chunk = FanOutChunk.objects.filter(fanout=OuterRef("pk"), done=False)
    ready = fanouts.filter(~Exists(open_chunk), state=FanOut.State.RUNNING)
    places = list(ready.values_list("pk", "author_id", "position"))
    ids = [place[0] for place in places]
    now = db.now_ms() if ids else 0
    done = FanOut.objects.filter(pk__in=ids).update(state=FanOut.State.DONE, done_at=now or None)
    if done:
        failpoint("fanout-done")
        for _post_id, _author_id, position in places:
            FANOUTS.observe(max(0, now - position) / 1000)
    for post_id, author_id, position in places:
        cache.delivered(author_id, Position(position, post_id))
    return done
