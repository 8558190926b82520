"""Reads of feeds."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

from django.db.models import Q, QuerySet

from feeds import tiers
from feeds.cards import hydration
from feeds.cards.card import Card
from feeds.cards.hydration import Companion, Hydration
from feeds.content.plain_text import plain, signs
from feeds.content.polls.definition import Definition
from feeds.home.page import HomeReading, count_new
from feeds.models import (
    OPEN,
    AuthorHead,
    Kind,
    Post,
    PostAudience,
    PostQuerySet,
    PostVersion,
    Visibility,
)
from feeds.readers import id_of, reader_of
from feeds.visibility import visible_to
from relations import queries as relations_queries
from socialsite.core.db import page_filling, replicas
from socialsite.core.db.compiled import compiled
from socialsite.core.db.replicas import Freshness
from socialsite.core.errors import Forbidden, NotFound
from socialsite.core.positions import Page, Position, before, cut
from socialsite.core.times import iso

if TYPE_CHECKING:
    from accounts.models import User
    from accounts.request_auth.requests import Viewer

NEW_COUNT_MAX = 99
Ids = Collection[int]
# Versions of a page: those of an article are long.
VERSIONS_MAX = 20
# People on the page of an audience.
NAMED_MAX = 100


def home_feed(
    viewer: "User", cursor: Position | None, size: int, companion: Companion | None = None
) -> Page[Card]:
    """Return a page of the home feed: exact, at once, whatever was pushed."""
    return HomeReading(viewer.pk, cursor, size, companion).page()


def oracle_feed(
    viewer: "User", cursor: Position | None, size: int
) -> Page[dict[Literal["id"], str]]:
    """Return the ids of that page by the one slow, obvious query that defines the feed (spec I)."""
    posts = visible_to(viewer.pk)
    authors = {viewer.pk, *relations_queries.following_ids(viewer.pk)}
    found = _places(posts.filter(author_id__in=authors), cursor, size)
    return found.with_items([{"id": str(position.id)} for position in found.items])


def profile_posts(
    viewer: "Viewer", author_id: int, cursor: Position | None, size: int
) -> Page[Card]:
    """Return a page of one author's posts of all kinds."""
    viewer_id = id_of(viewer)
    read = partial(_profile_places, viewer_id, author_id, cursor, limit=size + 1)
    rows = read() if viewer_id else replicas.read(Freshness.RECENT, read)
    found = cut([Position(*row) for row in rows], size, lambda position: position)
    return found.with_items(_cards(viewer, [position.id for position in found.items]))


def media_posts(viewer: "Viewer", author_id: int, cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of one author's posts with pictures or a video; not of reposts.

    The author's posts are read in order, so a page costs a bounded number of queries; between
    hundreds of posts without media it may be short.
    """
    cards = Hydration(reader_of(id_of(viewer))).cards

    def fetch(ids: list[int], most: int) -> dict[int, Card]:
        having = _with_media(ids)
        return cards([ident for ident in ids if ident in having], most)

    runs = page_filling.walk(partial(places_of, author_id), cursor, size + 1)
    return page_filling.fill(fetch, runs, size)


def places_of(author_id: int, cursor: Position | None, count: int) -> list[Position]:
    """Return the places of an author's next posts; whether a reader may see them is not asked."""
    posts = Post.objects.filter(author_id=author_id, is_deleted=False)
    return page_filling.newest(posts, "id", cursor, count)


def _with_media(ids: Collection[int]) -> set[int]:
    has_media = Q(kind=Kind.VIDEO) | ~Q(content_row__images=[])
    return set(Post.objects.filter(has_media, pk__in=ids).values_list("pk", flat=True))


def visible_cards(viewer: "Viewer", ids: Sequence[int]) -> dict[int, Card]:
    """Return those of these posts that the reader may see, by id."""
    return Hydration(reader_of(id_of(viewer))).cards(ids) if ids else {}


@compiled
def _profile_places(
    viewer_id: int | None, author_id: int, cursor: Position | None, *, limit: int
) -> "QuerySet[Post, tuple[int, int]]":
    posts = visible_to(viewer_id).filter(before(cursor), author_id=author_id)
    return posts.newest_first().values_list("position", "id")[:limit]


def public_originals(ids: Collection[int]) -> "QuerySet[Post, tuple[int, int, int]]":
    """Return those of these posts that may be recommended to guests and that are no reposts.

    As (id, author, position).
    """
    posts = visible_to(None).filter(pk__in=ids, visibility=Visibility.PUBLIC)
    posts = posts.filter(author__limited_at=None).exclude(kind=Kind.REPOST)
    return posts.values_list("pk", "author_id", "position")


def page_of(
    viewer: "Viewer",
    run: Callable[[Position | None, int], list[Position]],
    cursor: Position | None,
    size: int,
    companion: Companion | None = None,
    *,
    listed_only: bool = False,
    belongs: Callable[[Card], bool] | None = None,
) -> Page[Card]:
    """Return a page of posts out of a list that another app keeps, full whatever the gate hides.

    `run(cursor, size)` gives the next places of the list after the cursor; the id of a place is a
    post's. `listed_only` is for lists in which people discover posts (`Hydration`). A list that may
    be out of date says which of its posts still belong to it.
    """
    cards = Hydration(reader_of(id_of(viewer)), companion, listed_only=listed_only).cards

    def belonging(ids: Sequence[int], most: int) -> dict[int, Card]:
        if belongs is None:
            return cards(ids, most)
        return {ident: card for ident, card in cards(ids).items() if belongs(card)}

    return page_filling.fill(belonging, page_filling.walk(run, cursor, size + 1), size)


def _places(posts: PostQuerySet, cursor: Position | None, size: int) -> Page[Position]:
    rows = posts.filter(before(cursor)).newest_first().values_list("position", "id")[: size + 1]
    return cut([Position(*row) for row in rows], size, lambda position: position)


def _cards(viewer: "Viewer", ids: Sequence[int]) -> list[Card]:
    found = Hydration(reader_of(id_of(viewer))).cards(ids)
    return [found[ident] for ident in ids if ident in found]


def post(viewer: "Viewer", post_id: int) -> Card:
    """Return one post; NotFound when it does not exist or the reader may not see it."""
    found = _cards(viewer, [post_id])
    if not found:
        raise NotFound
    return found[0]


def written(post: Post) -> Card:
    """Return a new post as its author sees it; its rows are not read again (NotFound)."""
    return hydration.written(post)


class Version(TypedDict):
    """The words of a post in one of its versions; `edited_at` is None for the first."""

    version: int
    title: str
    note: str
    content: str
    edited_at: str | None


def history(viewer: "Viewer", post_id: int, cursor: Position | None, size: int) -> Page[Version]:
    """Return a page of a post's versions, the present one first.

    The cursor is Position(version, id of the post). Raises NotFound when the reader may not see the
    post.
    """
    words = ("version", "title", "note", "content", "edited_at")
    seen = visible_to(id_of(viewer)).filter(pk=post_id)
    # Read together with the check: later words may be for fewer people.
    size = min(size, VERSIONS_MAX)
    present = seen.values_list(*(f"content_row__{name}" for name in words)).first()
    if present is None:
        raise NotFound
    below = present[0] if cursor is None else min(cursor.ts_ms, present[0])
    former = PostVersion.objects.filter(post_id=post_id, version__lt=below).order_by("-version")
    rows = [] if cursor is not None and cursor.ts_ms <= present[0] else [present]
    rows += former.values_list(*words)[: size + 1 - len(rows)]
    page = cut(rows, size, lambda row: Position(row[0], post_id))
    return page.with_items([version_of(*row) for row in page.items])


def version_of(version: int, title: str, note: str, content: str, edited: int | None) -> Version:
    """Return a version from its columns; `edited` is Unix ms."""
    when = None if edited is None else iso(edited)
    return Version(version=version, title=title, note=note, content=content, edited_at=when)


def former_words(post_id: int, version: int) -> str:
    """Return the title and the text of a former version; empty if there is none."""
    found = PostVersion.objects.filter(post_id=post_id, version=version)
    return "\n".join(found.values_list("title", "content").first() or ())


def visible_post(viewer: "Viewer", post_id: int) -> Post:
    """Return the row of a post the reader may see; NotFound otherwise."""
    found: Post | None = _visible_row.first(id_of(viewer), post_id)
    if found is None:
        raise NotFound
    return found


@compiled
def _visible_row(viewer_id: int | None, post_id: int) -> PostQuerySet:
    return visible_to(viewer_id).filter(pk=post_id)


def by_author(author_id: int) -> PostQuerySet:
    """Return all posts of a person, deleted ones too, for composition."""
    return Post.objects.filter(author_id=author_id)


def reposts() -> PostQuerySet:
    """Return reposts that are there, for counting them by what they show (`ref_post`)."""
    return Post.objects.filter(ref_post__isnull=False, is_deleted=False, is_removed=False)


def reposts_without_words(user_id: int) -> PostQuerySet:
    """Return a person's reposts without words: one at most of each post (`ref_post`)."""
    return reposts().filter(author_id=user_id, kind=Kind.REPOST, content_row__content="")


def new_count(viewer: "User") -> tuple[int, bool]:
    """Return how many posts were not shown yet, up to 99, and if there are more."""
    count = count_new(viewer.pk, NEW_COUNT_MAX + 1)
    return min(count, NEW_COUNT_MAX), count > NEW_COUNT_MAX


def post_counts(author_ids: Iterable[int]) -> dict[int, int]:
    """Return author → number of posts that are not deleted; authors without posts are missing.

    Posts for named people, and those for the author alone, do not count.
    """
    return {author: posts - named for author, posts, named in _post_counts(author_ids)}


@compiled
def _post_counts(author_ids: Iterable[int]) -> "QuerySet[AuthorHead, tuple[int, int, int]]":
    rows = AuthorHead.objects.filter(author_id__in=author_ids)
    return rows.values_list("author_id", "post_count", "named_count")


class PostText(NamedTuple):
    """A post: its author, words, kind and tier, if it is there, and whose post it reposts."""

    author_id: int
    title: str
    note: str
    content: str
    is_deleted: bool
    is_removed: bool
    ref_author_id: int | None
    poll: Definition | None
    kind: str
    mode: int

    @property
    def is_imported(self) -> bool:
        """Whether it came from elsewhere: nobody is notified of it."""
        return tiers.is_imported(self.mode)

    @property
    def plain(self) -> str:
        """Its text without signs of Markdown."""
        return plain(self.kind, self.content)

    @property
    def signs(self) -> str:
        """A text with its names and tags."""
        return signs(self.kind, self.content)

    @property
    def options(self) -> str:
        """The options of its poll, as one text."""
        return " / ".join(self.poll["options"]) if self.poll else ""

    @property
    def preview(self) -> str:
        """The words of the post in a list: its note, so that it stays folded, or its text."""
        return self.note or self.title or self.plain or self.options


def texts(post_ids: Collection[int]) -> dict[int, PostText]:
    """Return these posts, deleted ones too, by id; whether a reader may see them is not asked."""
    return _texts(Post.objects.filter(pk__in=post_ids))


def is_there(post_id: int) -> bool:
    """Whether a post exists and is not deleted."""
    return Post.objects.filter(pk=post_id, is_deleted=False).exists()


def deleted_among(post_ids: Collection[int]) -> set[int]:
    """Return the ids of those of these posts that are deleted."""
    if not post_ids:
        return set()
    return set(Post.objects.filter(pk__in=post_ids, is_deleted=True).values_list("pk", flat=True))


def visible_texts(viewer_id: int | None, post_ids: Collection[int]) -> dict[int, PostText]:
    """Return those of these posts that the reader may see, by id, in one query."""
    return _texts(visible_to(viewer_id).filter(pk__in=post_ids)) if post_ids else {}


def _texts(posts: PostQuerySet) -> dict[int, PostText]:
    words = ("content_row__title", "content_row__note", "content_row__content")
    rest = ("is_deleted", "is_removed", "ref_post__author_id", "content_row__poll", "kind", "mode")
    columns = ("pk", "author_id", *words, *rest)
    return {ident: PostText(*row) for ident, *row in posts.values_list(*columns)}


class Audience(TypedDict):
    """The readers of a post; `people` is their number besides the author, None for everybody."""

    visibility: str
    people: int | None


def audience_of(author: "User", post_id: int) -> Audience:
    """Return who can see one's post; raises NotFound, or Forbidden for somebody else's post."""
    post = visible_post(author, post_id)
    if post.author_id != author.pk:
        raise Forbidden
    people: int | None = 0
    if post.visibility in OPEN:
        people = None
    elif post.visibility == Visibility.FOLLOWERS:
        people = relations_queries.follower_count(author.pk)
    elif post.visibility == Visibility.MENTIONED:
        people = _named(author.pk, post_id).count()
    return Audience(visibility=post.visibility, people=people)


def named_people(author: "User", post_id: int) -> list[relations_queries.Person]:
    """Return the first NAMED_MAX people who may see one's post for named people."""
    ids = _named(author.pk, post_id).order_by("user_id").values_list("user_id", flat=True)
    return list(relations_queries.shown_people(author.pk, ids[:NAMED_MAX]).values())


def _named(author_id: int, post_id: int) -> "QuerySet[PostAudience]":
    is_open = {"user__banned_at__isnull": True, "user__deleted_at__isnull": True}
    named = PostAudience.objects.filter(post_id=post_id, **is_open)
    return named.exclude(user_id__in=relations_queries.blocked_ids(author_id))
