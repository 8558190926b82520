"""Reads of interactions: counts and likes for post cards, threads of comments.

A list of comments is read in two steps: places of the thread from the index alone, then the rows
of those that the reader may see; on past what is hidden until the page is full. In one step MariaDB
joins every comment above the cursor before it drops it (in the middle of 50,000 comments: 80 ms
against 2).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value

from accounts import queries as accounts
from feeds import queries as feeds
from interactions import cache
from interactions.models import Comment, Like, Subject, SubjectType
from interactions.visibility import by_shown_authors, visible_to
from socialsite.core.errors import NotFound
from socialsite.core.json import iso
from socialsite.core.leased import Asked
from socialsite.core.pagination import Page, Position, before, cut
from socialsite.core.prepared import prepared
from socialsite.core.redis import Batch

if TYPE_CHECKING:
    from accounts.models import User
    from feeds.cards import Card
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
class Decoration:
    """Puts counts and the reader's likes on post cards, from reads in batches of several apps.

    `ask` as soon as ids of posts are known, again for further ones, and `apply` when those batches
    have run. Cached values cost no query; what is lacking, also of posts that were never asked for,
    is read in two queries at most.
    """

    def __init__(self, viewer_id: int | None) -> None:
        self._me = viewer_id
        self._counts: list[Asked] = []
        self._liked: list[cache.AskedLiked] = []

    def ask(self, batch: Batch, ids: Collection[int]) -> None:
        """Add the reads for some posts to a batch: two commands, one for a guest."""
        posts = list(ids)
        if not posts:
            return
        self._counts.append(cache.COUNTS.ask(batch, posts))
        if self._me is not None:
            self._liked.append(cache.ask_liked(batch, self._me, posts))

    def apply(self, cards: "Sequence[Card]") -> None:
        """Fill in `like_count`, `comment_count` and `liked` of cards and of the posts in them."""
        every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
        ids = {int(card["id"]) for card in every}
        liked = self._known_likes(ids)
        packed = {ident: value for asked in self._counts for ident, value in asked.found.items()}
        lacking = {ident for ident in ids if ident not in packed or ident not in liked}
        packed.update(cache.COUNTS.load(lacking, lambda missing: self._read(missing, liked)))
        for card in every:
            ident = int(card["id"])
            card["like_count"], card["comment_count"] = map(int, packed[ident].split())
            card["liked"] = liked[ident]

    def _known_likes(self, ids: Collection[int]) -> dict[int, bool]:
        """Return which posts are liked as far as that is, or can be, cached."""
        if self._me is None:
            return dict.fromkeys(ids, False)
        found = [asked.found for asked in self._liked]
        liked = {ident: likes for some in found if some for ident, likes in some.items()}
        unknown = [ident for ident in ids if ident not in liked]
        if unknown and None in found:
            newest = partial(_newest_likes, self._me)
            liked |= cache.load_liked(self._me, unknown, lambda limit: newest(limit=limit))
        return liked

    def _read(self, ids: Collection[int], liked: dict[int, bool]) -> dict[int, bytes]:
        """Read counts as they are cached, and note in `liked` which of the posts are liked."""
        # What has no subject was never liked nor talked about.
        found = dict.fromkeys(ids, b"0 0")
        liked.update(dict.fromkeys(ids, False))
        rows = _counts(ids) if self._me is None else _counts_and_likes(ids, self._me)
        for ident, like_count, comment_count, is_mine in rows:
            found[ident] = b"%d %d" % (like_count, comment_count)
            liked[ident] = is_mine
        return found


@prepared
def _newest_likes(user_id: int, *, limit: int) -> "QuerySet[Like, Any]":
    rows = Like.objects.filter(user_id=user_id, subj_type=SubjectType.POST)
    return rows.order_by("-subj_id").values_list("subj_id", "pk")[:limit]


@prepared
def _counts(ids: Collection[int]) -> "QuerySet[Subject, Any]":
    return _counted(ids, Value(False))


@prepared
def _counts_and_likes(ids: Collection[int], user_id: int) -> "QuerySet[Subject, Any]":
    likes = Like.objects.filter(user_id=user_id, subj_type=SubjectType.POST)
    return _counted(ids, Exists(likes.filter(subj_id=OuterRef("subj_id"))))


def _counted(ids: Collection[int], mine: Exists | Value) -> "QuerySet[Subject, Any]":
    subjects = Subject.objects.filter(subj_type=SubjectType.POST, subj_id__in=ids)
    columns = ("subj_id", "like_count", "comment_count", "mine")
    return subjects.annotate(mine=mine).values_list(*columns)


def decorate(viewer: "User | None", cards: "list[Card]") -> "list[Card]":
    """Fill in `like_count`, `comment_count` and `liked` of post cards, in two queries at most."""
    decoration, batch = Decoration(_id(viewer)), Batch()
    every = [*cards, *(card["ref"] for card in cards if card["ref"] is not None)]
    decoration.ask(batch, {int(card["id"]) for card in every})
    batch.run()
    decoration.apply(cards)
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
        return {row["id"]: row for row in found.values(*_COLUMNS)}


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
    ids = [row["id"] for row in answered]
    live = by_shown_authors(_id(viewer)).filter(subject_id=subject_id, deleted=False).order_by()
    # A page holds either roots or the replies of one root.
    if answered[0]["root_id"] is None:
        rows_of, field = live.filter(root_id__in=ids), "root_id"
    else:
        rows_of = live.filter(root_id=answered[0]["root_id"], parent_id__in=ids)
        field = "parent_id"
    return dict(rows_of.values_list(field).annotate(count=Count("pk")))
