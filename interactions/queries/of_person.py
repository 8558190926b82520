"""Reads for the profile of a person: their comments among their posts, and the posts they like."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import QuerySet

from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions.models import Comment, Like, SubjectType
from interactions.queries.decoration import Decoration
from interactions.visibility import shown_to, visible_to
from socialsite.core import ids as core_ids
from socialsite.core.db import page_filling
from socialsite.core.db.compiled import compiled
from socialsite.core.positions import Page, Position, before
from socialsite.core.times import iso

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer
    from feeds.cards.card import Card

# Characters of the post that a comment belongs to.
PREVIEW = 80


class Written(TypedDict):
    """A comment on the profile of its author, with the post that it belongs to."""

    id: str
    content: str
    created_at: str
    post: dict[str, Any]


class Entry(TypedDict):
    """One entry of "posts and replies": a post or a comment, the other is None."""

    post: "Card | None"
    comment: Written | None


def _id(viewer: "Viewer") -> int | None:
    return None if viewer is None else viewer.pk


def liked_posts(
    viewer: "Viewer", person_id: int, cursor: Position | None, size: int
) -> "Page[Card]":
    """Return a page of the posts that a person likes, the newest post first.

    Whether the person shows their likes is not asked.
    """
    # The likes of posts are those of no thread, and `ix_like_user` has them by the id of the post.
    likes = Like.objects.filter(user_id=person_id, thread=0, subj_type=SubjectType.POST)

    def run(after: Position | None, count: int) -> list[Position]:
        rows = likes if after is None else likes.filter(subj_id__lt=after.id)
        found = rows.order_by("-subj_id").values_list("subj_id", flat=True)[:count]
        return [Position(core_ids.ms_of(ident), ident) for ident in found]

    return feeds_queries.page_of(viewer, run, cursor, size, Decoration(_id(viewer)))


def posts_and_replies(
    viewer: "Viewer", person_id: int, cursor: Position | None, size: int
) -> Page[Entry]:
    """Return a page of a person's posts and comments that the reader may see, newest first."""
    written: set[int] = set()
    comments = Comment.objects.filter(author_id=person_id, deleted=False)

    def run(after: Position | None, count: int) -> list[Position]:
        rows = comments.filter(before(after)).order_by("-position", "-id")
        replies = [Position(*row) for row in rows.values_list("position", "id")[:count]]
        written.update(place.id for place in replies)
        both = feeds_queries.places_of(person_id, after, count) + replies
        return sorted(both, reverse=True)[:count]

    def fetch(found: list[int], most: int) -> dict[int, Entry]:
        posts = [ident for ident in found if ident not in written]
        cards = feeds_queries.visible_cards(viewer, posts)
        entries = {ident: Entry(post=card, comment=None) for ident, card in cards.items()}
        shown = _written(viewer, [ident for ident in found if ident in written])
        return entries | {ident: Entry(post=None, comment=one) for ident, one in shown.items()}

    page = page_filling.fill(fetch, page_filling.walk(run, cursor, size + 1), size)
    Decoration(_id(viewer)).apply([one["post"] for one in page.items if one["post"] is not None])
    return page


def _written(viewer: "Viewer", ids: Collection[int]) -> dict[int, Written]:
    """Return those of these comments whose post, thread and text the reader may see, by id."""
    rows = _rows(_id(viewer), ids)
    roots = set(_shown_roots(_id(viewer), {root for _, root, *_ in rows if root is not None}))
    posts = feeds_queries.visible_texts(_id(viewer), {row[4] for row in rows})
    authors = accounts_queries.cards(text.author_id for text in posts.values())
    found = {}
    for ident, root, position, content, post_id in rows:
        text = posts.get(post_id)
        if (
            text is None
            or text.author_id not in authors
            or (root is not None and root not in roots)
        ):
            continue
        author = authors[text.author_id]
        found[ident] = Written(
            id=str(ident),
            content=content,
            created_at=iso(position),
            post={
                "id": str(post_id),
                "author": {name: author[name] for name in ("id", "username", "nickname", "avatar")},
                "preview": text.preview[:PREVIEW],
            },
        )
    return found


@compiled
def _rows(viewer_id: int | None, ids: Collection[int]) -> "QuerySet[Comment, Any]":
    shown = visible_to(viewer_id).filter(pk__in=ids, deleted=False)
    shown = shown.filter(subject__subj_type=SubjectType.POST)
    return shown.values_list(
        "pk", "root_id", "position", "content_row__content", "subject__subj_id"
    )


@compiled
def _shown_roots(viewer_id: int | None, ids: Collection[int]) -> "QuerySet[Comment, int]":
    return shown_to(viewer_id).filter(pk__in=ids).values_list("pk", flat=True)
