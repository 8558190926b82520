"""Reads of interactions: counts and likes for post cards, threads of comments.

Every list is one keyset query that leaves out, in the database, what the reader may not see: pages
are full, and cost the same number of queries whatever their size.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from django.db.models import Count, Q, QuerySet

from accounts import queries as accounts
from feeds import queries as feeds
from interactions.models import Comment, Like, Subject, SubjectType
from interactions.visibility import by_shown_authors, visible_to
from socialsite.core.errors import NotFound
from socialsite.core.json import iso
from socialsite.core.pagination import Page, Position, before, cut

if TYPE_CHECKING:
    from accounts.models import User
    from feeds.cards import Card
    from feeds.models import Post

Sort = Literal["new", "hot"]


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
    "like_count",
    "reply_count",
    "deleted",
    "attrs",
    "content_row__content",
)
_Row = dict[str, Any]


def _id(viewer: Any) -> int | None:
    """Return the reader's id; None for a guest."""
    return None if viewer is None else viewer.pk


# --- posts --------------------------------------------------------------------------------------
def decorate(viewer: "User | None", cards: "list[Card]") -> "list[Card]":
    """Fill in `like_count`, `comment_count` and `liked` of post cards, in two queries at most."""
    every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
    if not every:
        return cards
    ids = {int(card["id"]) for card in every}
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=ids)
    columns = ("subj_id", "like_count", "comment_count")
    counts = {row[0]: row[1:] for row in subjects.values_list(*columns)}
    liked = liked_ids(viewer, SubjectType.POST, ids)
    for card in every:
        ident = int(card["id"])
        card["like_count"], card["comment_count"] = counts.get(ident, (0, 0))
        card["liked"] = ident in liked
    return cards


def liked_ids(viewer: "User | None", subj_type: SubjectType, ids: Iterable[int]) -> set[int]:
    """Return which of these the reader likes; guests like nothing."""
    me = _id(viewer)
    if me is None:
        return set()
    rows = Like.objects.filter(user_id=me, subj_type=subj_type, subj_id__in=list(ids))
    return set(rows.values_list("subj_id", flat=True))


# --- comments -----------------------------------------------------------------------------------
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
    key = "like_count" if sort == "hot" else "position"
    rows = (
        visible_to(_id(viewer))
        .filter(before(cursor, key), subject_id=subject_id, root__isnull=True)
        .order_by(f"-{key}", "-id")
    )
    return _page(viewer, subject_id, rows, size, key)


def replies(
    viewer: "User | None", comment_id: int, cursor: Position | None = None, size: int = 20
) -> Page[CommentCard]:
    """Return a page of replies, oldest first: of a root its whole thread, of a reply its answers.

    Raises NotFound when the reader may not see the comment or its post.
    """
    comment, _post = visible_comment(viewer, comment_id)
    rows = visible_to(_id(viewer)).filter(
        _after(cursor), subject_id=comment.subject_id, root_id=comment.root_id or comment.pk
    )
    if comment.root_id is not None:
        rows = rows.filter(parent_id=comment.pk)
    return _page(viewer, comment.subject_id, rows.order_by("position", "id"), size, "position")


def comment(viewer: "User | None", comment_id: int) -> CommentCard:
    """Return one comment; NotFound when the reader may not see it."""
    found, _post = visible_comment(viewer, comment_id)
    rows = list(visible_to(_id(viewer)).filter(pk=comment_id).values(*_COLUMNS))
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


def _after(position: Position | None) -> Q:
    """Return the filter for rows strictly newer than a position."""
    if position is None:
        return Q()
    newer = Q(position__gt=position.ts_ms) | Q(id__gt=position.id)
    return Q(position__gte=position.ts_ms) & newer


def _page(
    viewer: "User | None", subject_id: int, rows: "QuerySet[Comment]", size: int, key: str
) -> Page[CommentCard]:
    found = list(rows.values(*_COLUMNS)[: size + 1])
    page = cut(found, size, lambda row: Position(row[key], row["id"]))
    return page.with_items(_cards(viewer, subject_id, page.items))


def _cards(viewer: "User | None", subject_id: int, rows: Sequence[_Row]) -> list[CommentCard]:
    """Hydrate rows of one subject, in three queries at most."""
    if not rows:
        return []
    people = accounts.cards({row["author_id"] for row in rows if not row["deleted"]})
    liked = liked_ids(viewer, SubjectType.COMMENT, [row["id"] for row in rows])
    counts = _reply_counts(viewer, subject_id, rows)
    me = _id(viewer)
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
        like_count=0 if gone else row["like_count"],
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
    # A page holds either roots or the replies of one root.
    field = "root_id" if rows[0]["root_id"] is None else "parent_id"
    threads = {row["root_id"] or row["id"] for row in answered}
    shown = by_shown_authors(_id(viewer)).filter(
        subject_id=subject_id,
        root_id__in=threads,
        deleted=False,
        **{f"{field}__in": [row["id"] for row in answered]},
    )
    return dict(shown.order_by().values_list(field).annotate(count=Count("pk")))
