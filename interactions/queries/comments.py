"""Threads of comments.

A list of comments is read in two steps: places of the thread from the index alone, then the rows
of those that the reader may see; on past what is hidden until the page is full. In one step MariaDB
joins every comment above the cursor before it drops it (in the middle of 50,000 comments: 80 ms
against 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from django.db.models import Count, Q, QuerySet

from accounts import queries as accounts
from feeds import queries as feeds
from interactions.models import Comment, Subject, SubjectType
from interactions.queries.likes import LikedComments, like_count
from interactions.visibility import by_shown_authors, visible_to
from socialsite.core.errors import NotFound
from socialsite.core.json import iso
from socialsite.core.pagination import Page, Position, before, cut
from socialsite.core.redis import Batch

if TYPE_CHECKING:
    from accounts.models import User
    from feeds.models import Post

Sort = Literal["new", "hot"]

# Each time a page is not full yet, this many times more comments are looked at, up to the maximum.
REFILL_GROWTH, REFILL_MAX = 4, 1000


class CommentCard(TypedDict):
    """A comment as a reader sees it; of a tombstone `author` is None and `content` empty.

    `reply_count` is the reader's own: replies in the thread of a root, direct answers of a reply.
    """

    id: str
    root_id: str | None
    parent_id: str | None
    author: dict[str, Any] | None
    content: str
    created_at: str
    like_count: int
    reply_count: int
    liked: bool
    pinned: bool
    author_liked: bool
    author_replied: bool
    deleted: bool
    mine: bool


_COLUMNS = (
    "id",
    "root_id",
    "parent_id",
    "author_id",
    "position",
    "likes",
    "reply_count",
    "deleted",
    "attrs",
    "content_row__content",
)
_Row = dict[str, Any]


def _values(comments: "QuerySet[Comment]") -> "QuerySet[Comment, _Row]":
    return comments.annotate(likes=like_count(SubjectType.COMMENT, "id")).values(*_COLUMNS)


def _id(viewer: Any) -> int | None:
    """Return the reader's id; None for a guest."""
    return None if viewer is None else viewer.pk


def comments(
    viewer: "User | None",
    post_id: int,
    cursor: Position | None = None,
    size: int = 20,
    sort: Sort = "new",
) -> Page[CommentCard]:
    """Return a page of the comments on a post itself.

    `new` is newest first; `hot` has the most liked first, its cursor is Position(like_count, id).
    Raises NotFound when the reader may not see the post.
    """
    feeds.visible_post(viewer, post_id)
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    subject_id = subjects.values_list("pk", flat=True).first()
    if subject_id is None:
        return Page([], None)
    return _page(viewer, _Thread(subject_id, None, sort), cursor, size)


def replies(
    viewer: "User | None", comment_id: int, cursor: Position | None = None, size: int = 20
) -> Page[CommentCard]:
    """Return a page of replies, oldest first: of a root its whole thread, of a reply its answers.

    Raises NotFound when the reader may not see the comment or its post.
    """
    comment, _post = visible_comment(viewer, comment_id)
    if comment.root_id is None:
        thread = _Thread(comment.subject_id, comment.pk, "old")
    else:
        thread = _Thread(comment.subject_id, comment.root_id, "old", answers_to=comment.pk)
    return _page(viewer, thread, cursor, size)


def comment(viewer: "User | None", comment_id: int) -> CommentCard:
    """Return one comment; NotFound when the reader may not see it."""
    found, _post = visible_comment(viewer, comment_id)
    rows = list(_values(visible_to(_id(viewer)).filter(pk=comment_id)))
    if not rows:
        raise NotFound
    return _cards(viewer, found.subject_id, rows)[0]


def visible_comment(viewer: "User | None", comment_id: int) -> "tuple[Comment, Post]":
    """Return the rows of a comment, or tombstone, that the reader may see, and of its post.

    The author of its thread's root must be visible to the reader too. Raises NotFound.
    """
    found = visible_to(_id(viewer)).select_related("subject").filter(pk=comment_id).first()
    if found is None:
        raise NotFound
    root_id, shown = found.root_id, by_shown_authors(_id(viewer))
    if root_id is not None and not shown.filter(pk=root_id).exists():
        raise NotFound
    return found, feeds.visible_post(viewer, found.subject.subj_id)


def thread_of(comment_id: int) -> int | None:
    """Return the id of the subject below which a comment stands, None for no such comment."""
    return Comment.objects.filter(pk=comment_id).values_list("subject_id", flat=True).first()


# --- threads ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Thread:
    """The comments on a subject itself (`root_id` None), or the replies below a root, in an order.

    `new` and `old` are by (position, id), `hot` is by (like_count, id). With `answers_to` only the
    replies that answer that reply are shown.
    """

    subject_id: int
    root_id: int | None
    order: Literal["new", "hot", "old"]
    answers_to: int | None = None

    def places(self, after: Position | None, limit: int) -> list[Position]:
        """Return the next places in order, of hidden comments too, from the index alone."""
        key = "like_count" if self.order == "hot" else "position"
        rows = Comment.objects.filter(subject_id=self.subject_id, root_id=self.root_id)
        sign = "" if self.order == "old" else "-"
        rows = rows.filter(self._beyond(after)).order_by(f"{sign}{key}", f"{sign}id")
        return [Position(*row) for row in rows.values_list(key, "id")[:limit]]

    def _beyond(self, place: Position | None) -> Q:
        if place is None:
            return Q()
        if self.order == "new":
            return before(place)
        if self.order == "old":
            newer = Q(position__gt=place.ts_ms) | Q(id__gt=place.id)
            return Q(position__gte=place.ts_ms) & newer
        # Two ranges of the index and not one as in `before`: thousands of comments have the same
        # number of likes, most of them none.
        return Q(like_count__lt=place.ts_ms) | Q(like_count=place.ts_ms, id__lt=place.id)

    def rows(self, viewer_id: int | None, places: Sequence[Position]) -> dict[int, _Row]:
        """Return the rows at these places that the reader may see, by id."""
        found = visible_to(viewer_id).filter(pk__in=[place.id for place in places])
        if self.answers_to is not None:
            found = found.filter(parent_id=self.answers_to)
        return {row["id"]: row for row in _values(found)}


def _page(
    viewer: "User | None", thread: _Thread, cursor: Position | None, size: int
) -> Page[CommentCard]:
    found: list[tuple[Position, _Row]] = []
    limit = size + 1
    while len(found) <= size:
        places = thread.places(cursor, limit)
        if not places:
            break
        rows = thread.rows(_id(viewer), places)
        found += [(place, rows[place.id]) for place in places if place.id in rows]
        if len(places) < limit:
            break
        cursor, limit = places[-1], min(limit * REFILL_GROWTH, REFILL_MAX)
    page = cut(found, size, lambda item: item[0])
    return page.with_items(_cards(viewer, thread.subject_id, [row for _, row in page.items]))


def _cards(viewer: "User | None", subject_id: int, rows: Sequence[_Row]) -> list[CommentCard]:
    """Hydrate rows of one subject: one round trip, and queries for what is not cached."""
    if not rows:
        return []
    me, batch = _id(viewer), Batch()
    authors = accounts.ask_cards(batch, {row["author_id"] for row in rows if not row["deleted"]})
    likes = LikedComments(me, subject_id, [row["id"] for row in rows])
    likes.ask(batch)
    batch.run()
    people, liked = authors.cards(), likes.found()
    counts = _reply_counts(viewer, subject_id, rows)
    return [_card(row, people, row["id"] in liked, counts.get(row["id"], 0), me) for row in rows]


def _card(
    row: _Row, people: dict[int, Any], liked: bool, reply_count: int, viewer_id: int | None
) -> CommentCard:
    attrs, author = row["attrs"], people.get(row["author_id"])
    # An account closed since the rows were read counts as gone too.
    gone = row["deleted"] or author is None
    return CommentCard(
        id=str(row["id"]),
        root_id=None if row["root_id"] is None else str(row["root_id"]),
        parent_id=None if row["parent_id"] is None else str(row["parent_id"]),
        author=None if gone else author,
        content="" if gone else row["content_row__content"],
        created_at=iso(row["position"]),
        like_count=0 if gone else row["likes"],
        reply_count=reply_count,
        liked=liked and not gone,
        pinned=bool(attrs & Comment.Attr.PINNED),
        author_liked=bool(attrs & Comment.Attr.AUTHOR_LIKED),
        author_replied=bool(attrs & Comment.Attr.AUTHOR_REPLIED),
        deleted=gone,
        mine=not gone and row["author_id"] == viewer_id,
    )


def _reply_counts(viewer: "User | None", subject_id: int, rows: Sequence[_Row]) -> dict[int, int]:
    """Return comment → number of live replies that this reader sees; rows without are missing.

    The stored count is everybody's; people whom the reader does not see must not count (design 4).
    """
    answered = [row for row in rows if row["reply_count"]]
    if not answered:
        return {}
    ids = [row["id"] for row in answered]
    live = by_shown_authors(_id(viewer)).filter(subject_id=subject_id, deleted=False).order_by()
    # A page holds either roots or the replies of one root.
    if answered[0]["root_id"] is None:
        rows_of, field = live.filter(root_id__in=ids), "root_id"
    else:
        rows_of = live.filter(root_id=answered[0]["root_id"], parent_id__in=ids)
        field = "parent_id"
    return dict(rows_of.values_list(field).annotate(count=Count("pk")))
