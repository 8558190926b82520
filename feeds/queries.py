"""Reads of feeds."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from feeds import timeline
from feeds.cards import Card, cards
from feeds.models import AuthorHead, InboxState, Post, PostQuerySet, RecommendedAuthor, Visibility
from feeds.visibility import visible_to
from relations import queries as relations
from socialsite.core.errors import NotFound
from socialsite.core.pagination import Page, Position, before, cut

if TYPE_CHECKING:
    from accounts.models import User

NEW_COUNT_MAX = 99


def _id(viewer: "User | None") -> int | None:
    return viewer.pk if viewer is not None and viewer.is_authenticated else None


def home_feed(viewer: "User", cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the home feed: exact, at once, whatever was pushed (promise 1)."""
    return timeline.page(viewer.pk, cursor, size)


def oracle_feed(viewer: "User", cursor: Position | None, size: int) -> Page[Card]:
    """Return the same page by the one slow, obvious query that defines the feed (A21, spec I)."""
    posts = visible_to(viewer.pk)
    authors = {viewer.pk, *relations.following_ids(viewer.pk)}
    return _page(viewer, posts.filter(author_id__in=authors), cursor, size)


def profile_posts(
    viewer: "User | None", author_id: int, cursor: Position | None, size: int
) -> Page[Card]:
    """Return a page of one author's posts of all kinds (C1)."""
    return _page(viewer, visible_to(_id(viewer)).filter(author_id=author_id), cursor, size)


def recommended(viewer: "User | None", cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of public posts by the authors staff picked (C4, T51).

    While nobody is picked, of everybody.
    """
    # Places first, from an index; the gate after: joined in one query, MariaDB reads every post.
    posts = Post.objects.filter(visibility=Visibility.PUBLIC, is_deleted=False)
    picked = list(RecommendedAuthor.objects.values_list("author_id", flat=True))
    if picked:
        posts = posts.filter(author_id__in=picked)
    runs = timeline.walk(partial(timeline.newest, posts, "id"), cursor, size + 1)
    return timeline.fill(_id(viewer), runs, size)


def _page(
    viewer: "User | None", posts: PostQuerySet, cursor: Position | None, size: int
) -> Page[Card]:
    rows = posts.filter(before(cursor)).newest_first().values_list("position", "id")[: size + 1]
    found = cut([Position(*row) for row in rows], size, lambda position: position)
    return found.with_items(cards(_id(viewer), [position.id for position in found.items]))


def post(viewer: "User | None", post_id: int) -> Card:
    """Return one post; NotFound when it does not exist or the reader may not see it."""
    found = cards(_id(viewer), [post_id])
    if not found:
        raise NotFound
    return found[0]


def visible_post(viewer: "User | None", post_id: int) -> Post:
    """Return the row of a post the reader may see; NotFound otherwise."""
    found = visible_to(_id(viewer)).filter(pk=post_id).first()
    if found is None:
        raise NotFound
    return found


def new_count(viewer: "User") -> tuple[int, bool]:
    """Return how many posts are newer than the read mark, up to 99, and if there are more."""
    state = InboxState.objects.filter(viewer_id=viewer.pk).first()
    mark = Position(0, 0) if state is None else Position(state.read_ts, state.read_id)
    count = timeline.count_newer(viewer.pk, mark, NEW_COUNT_MAX + 1)
    return min(count, NEW_COUNT_MAX), count > NEW_COUNT_MAX


def post_counts(author_ids: Iterable[int]) -> dict[int, int]:
    """Return author → number of posts that are not deleted; authors without posts are missing."""
    heads = AuthorHead.objects.filter(author_id__in=list(author_ids))
    return dict(heads.values_list("author_id", "post_count"))
