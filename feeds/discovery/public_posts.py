"""The newest public posts: Discover, and what search engines are told of."""

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from feeds import queries
from feeds.cards.card import Card
from feeds.models import Post, RecommendedAuthor, Visibility
from feeds.readers import id_of
from feeds.visibility import visible_to
from socialsite.core.db import replicas
from socialsite.core.db.compiled import compiled
from socialsite.core.db.replicas import Freshness
from socialsite.core.positions import Page, Position, before

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer

Ids = Collection[int]


def recommended(viewer: "Viewer", cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of public posts by the authors staff picked; of everybody if there are none."""
    # Places first, from an index; the gate after: joined in one query, MariaDB reads every post.
    picked = tuple(_picked()) or None
    run = replicas.routed(replicas.for_reader(id_of(viewer)), partial(_public_places, picked))
    return queries.page_of(viewer, run, cursor, size, listed_only=True, belongs=_is_public)


def _is_public(card: Card) -> bool:
    # It may have become quiet since.
    return card["visibility"] == Visibility.PUBLIC


@compiled
def _picked() -> "QuerySet[RecommendedAuthor, int]":
    return RecommendedAuthor.objects.values_list("author_id", flat=True)


def _public_places(ids: Ids | None, cursor: Position | None, count: int) -> list[Position]:
    return [Position(*row) for row in _public_rows(ids, cursor, count=count)]


@compiled
def _public_rows(
    author_ids: Ids | None, cursor: Position | None, *, count: int
) -> "QuerySet[Post, tuple[int, int]]":
    posts = Post.objects.filter(before(cursor), visibility=Visibility.PUBLIC, is_deleted=False)
    if author_ids is not None:
        posts = posts.filter(author_id__in=author_ids)
    return posts.newest_first().values_list("position", "id")[:count]


def newest_public(most: int) -> list[tuple[int, str]]:
    """Return the newest posts that guests may see: their ids and the usernames of their authors."""
    places = replicas.read(Freshness.RECENT, _public_places, None, None, most)
    ids = [place.id for place in places]
    rows = visible_to(None).filter(pk__in=ids, author__limited_at=None).newest_first()
    rows = rows.filter(visibility=Visibility.PUBLIC)
    rows = rows.exclude(ref_post__author__limited_at__isnull=False)
    return list(rows.values_list("pk", "author__username"))
