"""Threads of comments as readers see them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import QuerySet

from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions.models import Comment, Subject, SubjectType
from interactions.queries.likes import LikedComments
from interactions.queries.reply_counts import ReplyCounts
from interactions.queries.threads import Order, Row, Sort, Thread, page_of, visible_rows
from interactions.visibility import own_replies, shown_to, visible_to
from socialsite.core.cache import reads
from socialsite.core.db.compiled import compiled
from socialsite.core.errors import NotFound
from socialsite.core.positions import Page, Position
from socialsite.core.times import iso

if TYPE_CHECKING:
    from accounts.models import User
    from accounts.request_auth.requests import Viewer
    from feeds.models import Post

# Settings that an author may change.
STATUSES = {
    "open": Subject.Status.OPEN,
    "closed": Subject.Status.CLOSED,
    "featured": Subject.Status.FEATURED,
}
_PINNED, _AUTHOR_LIKED, _AUTHOR_REPLIED = (
    int(bit)
    for bit in (Comment.Attr.PINNED, Comment.Attr.AUTHOR_LIKED, Comment.Attr.AUTHOR_REPLIED)
)
_NAMES = {status: name for name, status in STATUSES.items()}


class CommentCard(TypedDict):
    """A comment as a reader sees it; of a tombstone `author` is None and `content` empty.

    `reply_count` is the reader's own: replies in the thread of a root, direct answers of a reply.
    `mine` and `answers`, the username of whoever wrote the reply that this one answers, are for
    pages alone.
    """

    id: str
    root_id: str | None
    parent_id: str | None
    author: dict[str, Any] | None
    content: str
    created_at: str
    version: int
    edited_at: str | None
    like_count: int
    reply_count: int
    liked: bool
    pinned: bool
    author_liked: bool
    author_replied: bool
    deleted: bool
    mine: bool
    answers: str | None


def _id(viewer: Any) -> int | None:
    """Return the reader's id; None for a guest."""
    return None if viewer is None else viewer.pk


def comments(
    viewer: "Viewer",
    post_id: int,
    cursor: Position | None = None,
    size: int = 20,
    sort: Sort = "new",
) -> Page[CommentCard]:
    """Return a page of the comments on a post itself.

    `new` is newest first; `hot` has the most liked first, its cursor is Position(like_count, id).
    The pinned ones are first in both, by the same order. Raises NotFound when the reader may not
    see the post.
    """
    return discussion(viewer, post_id, cursor, size, sort)[0]


def discussion(
    viewer: "Viewer",
    post_id: int,
    cursor: Position | None = None,
    size: int = 20,
    sort: Sort = "new",
) -> tuple[Page[CommentCard], str]:
    """Return a page as `comments` does, and the status as `comment_status` does."""
    author_id = feeds_queries.visible_post(viewer, post_id).author_id
    return discussion_below(viewer, post_id, author_id, cursor, size, sort)


def discussion_below(
    viewer: "Viewer",
    post_id: int,
    author_id: int,
    cursor: Position | None = None,
    size: int = 20,
    sort: Sort = "new",
) -> tuple[Page[CommentCard], str]:
    """Return the same for a post that the reader was just found to see, and its author."""
    subject: Subject | None = _subject.first(post_id)
    if subject is None:
        return Page([], None), _NAMES[Subject.Status.OPEN]
    page = _page(viewer, _thread(viewer, author_id, subject, sort), cursor, size)
    return page, _name(subject.status)


@compiled
def _subject(post_id: int) -> "QuerySet[Subject]":
    return Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)


def _name(status: int) -> str:
    return _NAMES.get(Subject.Status(status), "closed")


def comment_status(viewer: "Viewer", post_id: int) -> str:
    """Return `open`, `closed` or `featured`; NotFound when the reader may not see the post."""
    feeds_queries.visible_post(viewer, post_id)
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id=post_id)
    status = subjects.values_list("status", flat=True).first()
    return _name(status or Subject.Status.OPEN)


def replies(
    viewer: "Viewer", comment_id: int, cursor: Position | None = None, size: int = 20
) -> Page[CommentCard]:
    """Return a page of replies, oldest first: of a root its whole thread, of a reply its answers.

    Raises NotFound when the reader may not see the comment or its post.
    """
    comment, post = visible_comment(viewer, comment_id)
    thread = _thread(viewer, post.author_id, comment.subject, "old")
    if comment.root_id is None:
        thread = replace(thread, root_id=comment.pk)
    else:
        thread = replace(thread, root_id=comment.root_id, answers_to=comment.pk)
    return _page(viewer, thread, cursor, size)


def comment(viewer: "Viewer", comment_id: int) -> CommentCard:
    """Return one comment; NotFound when the reader may not see it."""
    found, post = visible_comment(viewer, comment_id)
    rows = visible_rows(_id(viewer), [comment_id])
    if not rows:
        raise NotFound
    return _cards(viewer, _thread(viewer, post.author_id, found.subject, "old"), rows)[0]


def written(author: "User", made: Comment) -> CommentCard:
    """Return a comment as its author sees it that just wrote it; its row is not read again."""
    row = {
        "id": made.pk,
        "root_id": made.root_id,
        "parent_id": made.parent_id,
        "author_id": made.author_id,
        "position": made.position,
        "likes": 0,
        "reply_count": 0,
        "deleted": False,
        "attrs": made.attrs,
        "content_row__content": made.content_row.content,
        "content_row__version": made.content_row.version,
        "content_row__edited_at": made.content_row.edited_at,
    }
    return _hydrated(author.pk, [row], None, None)[0]


def comment_is_there(comment_id: int) -> bool:
    """Return True unless the comment is deleted."""
    return Comment.objects.filter(pk=comment_id, deleted=False).exists()


def visible_comment(viewer: "Viewer", comment_id: int) -> "tuple[Comment, Post]":
    """Return the rows of a comment, or tombstone, that the reader may see, and of its post.

    The author of its thread's root must be visible to the reader too. Raises NotFound.
    """
    me = _id(viewer)
    found: Comment | None = _visible_comment.first(me, comment_id)
    if found is None or (found.root_id is not None and not _shown(me, [found.root_id])):
        raise NotFound
    return found, feeds_queries.visible_post(viewer, found.subject.subj_id)


@compiled
def _visible_comment(viewer_id: int | None, comment_id: int) -> "QuerySet[Comment]":
    return visible_to(viewer_id).select_related("subject").filter(pk=comment_id)


@compiled
def _shown(viewer_id: int | None, ids: Collection[int]) -> "QuerySet[Comment, Any]":
    return shown_to(viewer_id).filter(pk__in=ids).values_list("pk", "author_id", "deleted")


def above(comment_id: int) -> set[int]:
    """Return the ids of the thread's root and of the reply answered; nothing for a root."""
    rows = Comment.objects.filter(pk=comment_id).values_list("root_id", "parent_id")
    return {ident for pair in rows for ident in pair if ident is not None}


def thread_of(comment_id: int) -> int | None:
    """Return the id of the subject below which a comment stands, None for no such comment."""
    return Comment.objects.filter(pk=comment_id).values_list("subject_id", flat=True).first()


def _thread(viewer: "Viewer", author_id: int, subject: Subject, order: Order) -> Thread:
    """Return the comments on a subject itself, as its status lets this reader see them."""
    me, thread = _id(viewer), Thread(subject.pk, None, order, tuple(subject.pins))
    if subject.status != Subject.Status.FEATURED or me == author_id:
        return thread
    if me is None:
        return replace(thread, writers=(author_id,))
    answered = own_replies(me).filter(subject_id=subject.pk).values_list("root_id", flat=True)
    answered_ids = tuple(ident for ident in answered.distinct() if ident is not None)
    return replace(thread, writers=(author_id, me), answered=answered_ids)


def _page(
    viewer: "Viewer", thread: Thread, cursor: Position | None, size: int
) -> Page[CommentCard]:
    page = page_of(_id(viewer), thread, cursor, size)
    return page.with_items(_cards(viewer, thread, page.items))


# --- cards ---------------------------------------------------------------------------------------
def _cards(viewer: "Viewer", thread: Thread, rows: Sequence[Row]) -> list[CommentCard]:
    """Hydrate rows of one subject: one round trip, and queries for what is not cached."""
    if not rows:
        return []
    me = _id(viewer)
    likes = LikedComments(me, thread.subject_id, [row["id"] for row in rows])
    return _hydrated(me, rows, likes, ReplyCounts(me, thread, rows))


def _hydrated(
    me: int | None, rows: Sequence[Row], likes: LikedComments | None, replies: ReplyCounts | None
) -> list[CommentCard]:
    answered = _answered(me, rows)
    writers = {ident: author for ident, (author, deleted) in answered.items() if not deleted}
    authors = {row["author_id"] for row in rows if not row["deleted"]}
    found = accounts_queries.Cards({*authors, *writers.values()})
    reads.run(found, *(read for read in (likes, replies) if read is not None))
    people = found.value
    liked = set() if likes is None else likes.value
    counts = {} if replies is None else replies.value
    cards = []
    for row in rows:
        card = _card(row, people, row["id"] in liked, counts.get(row["id"], 0), me)
        writer = people.get(writers.get(row["parent_id"], 0))
        card["answers"] = None if writer is None else writer["username"]
        if row["parent_id"] != row["root_id"] and row["parent_id"] not in answered:
            card["parent_id"] = card["root_id"]  # does not reveal the answered person (T42)
        cards.append(card)
    return cards


def _answered(viewer_id: int | None, rows: Sequence[Row]) -> dict[int, tuple[int, bool]]:
    """Return reply → author, and if it is deleted, of those that these answer and the reader sees.

    No roots.
    """
    answered = {row["parent_id"] for row in rows if row["parent_id"] != row["root_id"]}
    if not answered:
        return {}
    shown = _shown(viewer_id, answered)
    return {ident: (author, deleted) for ident, author, deleted in shown}


def _card(
    row: Row, people: dict[int, Any], liked: bool, reply_count: int, viewer_id: int | None
) -> CommentCard:
    attrs, author = row["attrs"], people.get(row["author_id"])
    edited_at = row["content_row__edited_at"]
    # An account closed since the rows were read counts as gone too.
    if row["deleted"]:
        author = None
    gone = author is None
    return CommentCard(
        id=str(row["id"]),
        root_id=None if row["root_id"] is None else str(row["root_id"]),
        parent_id=None if row["parent_id"] is None else str(row["parent_id"]),
        author=None if author is None else dict(accounts_queries.public_card(author)),
        content="" if gone else row["content_row__content"],
        created_at=iso(row["position"]),
        version=row["content_row__version"],
        edited_at=None if gone or edited_at is None else iso(edited_at),
        like_count=0 if gone else row["likes"],
        reply_count=reply_count,
        liked=liked and not gone,
        pinned=bool(attrs & _PINNED) and not gone,
        author_liked=bool(attrs & _AUTHOR_LIKED) and not gone,
        author_replied=bool(attrs & _AUTHOR_REPLIED) and not gone,
        deleted=gone,
        mine=not gone and row["author_id"] == viewer_id,
        answers=None,
    )
