"""Keep an inbox consistent with one follow: backfill and purge, by state.

`sync_inbox` reads the relation under its lock and adjusts the inbox, so late, repeated and
reordered events are harmless: the last one to run sees the last state.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value

from accounts.models import User
from feeds import cache, tiers
from feeds.models import (
    NAMED,
    FanOut,
    InboxEdge,
    InboxEntry,
    InboxState,
    Post,
    PostQuerySet,
    named_to,
)
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.db.compiled import compiled, compiled_delete, compiled_update

COMPLETE = 0


@db.atomic
def sync_inbox(viewer_id: int, author_id: int) -> None:
    """Backfill the viewer's inbox if they follow the author now, purge it if they do not."""
    follows = relations_queries.locked_follow(viewer_id, author_id)
    # Lock the state before the rows, in the same order as all other writers.
    if not _raise_generation(viewer_id):
        db.ensure(InboxState(viewer_id=viewer_id))
        _raise_generation(viewer_id)
    if follows:
        _backfill(viewer_id, author_id)
    else:
        mark_missing(viewer_id, author_id)
        InboxEntry.objects.filter(user_id=viewer_id, author_id=author_id).delete()
    transaction.on_commit(partial(cache.changed_inbox, viewer_id), robust=True)


@compiled_delete
def mark_missing(viewer_id: int, author_id: int) -> "QuerySet[InboxEdge]":
    """Record that the inbox lacks the author: until a backfill, all posts are pulled."""
    return InboxEdge.objects.filter(viewer_id=viewer_id, author_id=author_id)


def _backfill(viewer_id: int, author_id: int) -> None:
    """Insert the newest BACKFILL_MAX pushed posts; the next one and all older ones stay pulled.

    Posts that are not pushed to all are always pulled, so they need no row. The posts are locked in
    share mode: a deletion and its cleanup come before the insert or after it.
    """
    left_out = _first_left_out.first(viewer_id, author_id, limit=settings.BACKFILL_MAX)
    boundary = COMPLETE if left_out is None else left_out
    db.insert_from_select(
        InboxEntry,
        ["user", "publish_time", "post", "author"],
        _newer.statement(viewer_id, author_id, boundary),
        lock_source=True,
    )
    db.upsert(
        InboxEdge,
        [InboxEdge(viewer_id=viewer_id, author_id=author_id, backfilled_from=boundary)],
        unique_fields=["viewer", "author"],
        update_fields=["backfilled_from"],
    )


def _pushed(viewer_id: int, author_id: int) -> PostQuerySet:
    # Posts for people of whom the viewer is not one, need no row: nobody is ever added to them.
    mine = ~Q(visibility__in=NAMED) | named_to(viewer_id)
    return Post.objects.filter(tiers.PUSHED_TO_ALL, mine, author_id=author_id, is_deleted=False)


@compiled
def _first_left_out(viewer_id: int, author_id: int, *, limit: int) -> "QuerySet[Post, int]":
    positions = _pushed(viewer_id, author_id).newest_first().values_list("position", flat=True)
    return positions[limit : limit + 1]


@compiled
def _newer(viewer_id: int, author_id: int, boundary: int) -> "QuerySet[Post, Any]":
    posts = _pushed(viewer_id, author_id).filter(position__gt=boundary)
    return posts.values_list(Value(viewer_id), "position", "id", "author_id")


@compiled_update
def _raise_generation(viewer_id: int) -> "tuple[QuerySet[InboxState], dict[str, Any]]":
    return InboxState.objects.filter(viewer_id=viewer_id), {"generation": F("generation") + 1}


def missing(viewer_id: int, limit: int) -> list[int]:
    """Return the newest posts that an inbox should have but lacks, by id.

    Correct in a snapshot only. Readers may still see these posts if they pull the author.
    """
    follows = relations_queries.following_ids(viewer_id).filter(to_user__in=User.objects.active())
    floors = InboxState.objects.filter(viewer_id=viewer_id).values_list("inbox_floor", flat=True)
    edges = InboxEdge.objects.filter(viewer_id=viewer_id, author_id=OuterRef("author_id"))
    rows = InboxEntry.objects.filter(
        user_id=viewer_id,
        publish_time=OuterRef("position"),
        post_id=OuterRef("pk"),
        author_id=OuterRef("author_id"),
    )
    posts = Post.objects.filter(
        tiers.PUSHED_TO_ALL,
        ~Q(visibility__in=NAMED) | named_to(viewer_id),
        Exists(edges.filter(backfilled_from__lt=OuterRef("position"))),
        ~Exists(rows),
        author_id__in=list(follows),
        is_deleted=False,
        position__gt=floors.first() or 0,
    )
    # There are few or none, so the rest is filtered here: MariaDB would scan all posts by time to
    # find the newest, and a week's deliveries to find the open ones.
    found = sorted(posts.values_list("position", "pk"), reverse=True)
    ids = [post for _position, post in found]
    deliveries = FanOut.objects.filter(pk__in=ids, state__lt=FanOut.State.DONE)
    undelivered = set(deliveries.values_list("pk", flat=True))
    return [post for post in ids if post not in undelivered][:limit]
