"""Read tags and the posts that have them.

Lists have the posts that the reader may see. Counts and suggestions use public posts only, so they
are the same for everybody.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery

from feeds import queries
from feeds.cards.card import Card
from feeds.models import PostTag, Tag, TagFollow, TrendingTag, Visibility
from feeds.readers import id_of
from socialsite.core import db
from socialsite.core.db import replicas
from socialsite.core.db.compiled import compiled
from socialsite.core.db.replicas import Freshness
from socialsite.core.db.routing import read_connection
from socialsite.core.errors import NotFound
from socialsite.core.positions import NEWEST, Page, Position, before
from socialsite.core.text import tags
from socialsite.core.text.spans import tag_of

if TYPE_CHECKING:
    from accounts.models import User
    from accounts.request_auth.requests import Viewer

DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)
WEEK_DAYS = 7
# Tags with the same beginning that are compared; those with the most posts are shown.
CONSIDERED = 50


class TagItem(TypedDict):
    """A tag as a reader sees it; the counts are those of public posts.

    `days` are the posts of each of the last seven times 24 hours, the oldest first.
    """

    name: str
    count_day: int
    count_week: int
    days: list[int]
    following: bool


def named(name: str) -> Tag:
    """Return a tag by its name, in any form and with or without `#`.

    A tag that nobody has used yet has the key 0. Raises NotFound for a hidden tag or an invalid
    name.
    """
    known = tag_of(name)
    if known is None:
        raise NotFound
    known_tags = Tag.objects.select_related("busy")
    found = known_tags.filter(name=known).first() or Tag(pk=0, name=known)
    if found.is_hidden:
        raise NotFound
    return found


def one(viewer: "Viewer", tag: Tag) -> TagItem:
    """Return a tag with its counts."""
    return _items(viewer, [tag])[0]


def matching(viewer: "Viewer", text: str, most: int) -> list[TagItem]:
    """Return tags of public posts whose name begins with a text, those in use first."""
    name = tags.beginning_of(text.strip().strip(tags.SIGNS))
    if name is None:
        return []
    found = replicas.read(Freshness.NOW, _named_so, name, most)
    items = _items(viewer, found)
    return sorted(items, key=lambda item: (-item["count_week"], item["name"]))[:most]


def _named_so(name: str, most: int) -> list[Tag]:
    end = name + chr(0x10FFFF)
    return [*dict.fromkeys([*_in_use(name, end, most=most), *_first_named(name, end)])]


@compiled
def _in_use(first: str, last: str, *, most: int) -> "QuerySet[Tag]":
    ranked = _known(first, last).filter(rank__isnull=False)
    return ranked.order_by("-rank__score", "name")[:most]


@compiled
def _first_named(first: str, last: str) -> "QuerySet[Tag]":
    return _known(first, last).order_by("name")[:CONSIDERED]


def _known(first: str, last: str) -> "QuerySet[Tag]":
    """Return the tags with names of a range that everybody may know: those of public posts.

    The subquery selects a value instead of using EXISTS, for which MariaDB would read all posts.
    """
    shown = Tag.objects.select_related("busy").filter(is_hidden=False)
    first_post = public().filter(tag_id=OuterRef("pk")).values("post_id")[:1]
    return shown.alias(first_post=Subquery(first_post)).filter(
        name__gte=first, name__lt=last, first_post__isnull=False
    )


def trending(viewer: "Viewer", most: int) -> list[TagItem]:
    """Return the tags that are in use now, by the last ranking."""
    found = [row.tag for row in _ranked(most=most)]
    return [item for item in _items(viewer, found) if item["count_week"]]


@compiled
def _ranked(*, most: int) -> "QuerySet[TrendingTag]":
    shown = TrendingTag.objects.filter(tag__is_hidden=False).select_related("tag__busy")
    return shown.order_by("-score", "tag_id")[:most]


def followed(user: "User") -> list[str]:
    """Return the names of the tags that a person follows, in their order."""
    return [name for _, name in _followed(user.pk)]


@compiled
def _followed(user_id: int) -> "QuerySet[TagFollow, tuple[int, str]]":
    rows = TagFollow.objects.filter(user_id=user_id, tag__is_hidden=False)
    return rows.order_by("tag__name").values_list("tag_id", "tag__name")


def posts(viewer: "Viewer", tag: Tag, cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts with a tag, newest first."""
    freshness = replicas.for_reader(id_of(viewer))
    run = replicas.routed(freshness, partial(_places, tag.pk))
    return queries.page_of(
        viewer,
        run,
        cursor,
        size,
        listed_only=True,
        belongs=lambda card: tag.name in card["tags"] and card["visibility"] != Visibility.QUIET,
    )


def _places(tag_id: int, cursor: Position | None, count: int) -> list[Position]:
    return [Position(*row) for row in _rows(tag_id, cursor, count=count)]


@compiled
def _rows(
    tag_id: int, cursor: Position | None, *, count: int
) -> "QuerySet[PostTag, tuple[int, int]]":
    rows = PostTag.objects.filter(before(cursor, "position", "post_id"), tag_id=tag_id)
    return rows.order_by("-position", "-post_id").values_list("position", "post_id")[:count]


def posts_of_followed(user: "User", cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts with a tag that the person follows, newest first."""
    mine = [ident for ident, _ in _followed(user.pk)]
    run = replicas.routed(Freshness.NOW, partial(_newest_of, mine))
    return queries.page_of(user, run, cursor, size, listed_only=True)


def _newest_of(tag_ids: Sequence[int], cursor: Position | None, count: int) -> list[Position]:
    """Return the places of the next posts with any of these tags, each post once.

    Only the tags are read that have one: the newest posts of as many other tags are newer than
    theirs. The cursor's own post is one of the newest, so it takes one more.
    """
    newest = dict(_newest(tag_ids, (cursor or NEWEST).ts_ms))
    least = min(sorted(set(newest.values()), reverse=True)[: count + 1], default=0)
    read = [ident for ident, position in newest.items() if position >= least]
    found = _places_of(read, cursor, count)
    complete = len(found) == count and found[-1].ts_ms >= least
    if complete or len(read) == len(newest):
        return found
    return _places_of(list(newest), cursor, count)  # some were deleted since


@compiled
def _newest(tag_ids: Collection[int], ts_ms: int) -> "QuerySet[PostTag, tuple[int, int]]":
    rows = PostTag.objects.filter(tag_id__in=tag_ids, position__lte=ts_ms)
    return rows.values_list("tag_id").annotate(newest=Max("position"))


def _places_of(tag_ids: Sequence[int], cursor: Position | None, count: int) -> list[Position]:
    if not tag_ids:
        return []
    ts_ms, post_id = cursor or NEWEST
    select = (
        "SELECT position, post_id FROM feeds_posttag WHERE tag_id = %s AND position <= %s"
        " AND (position < %s OR post_id < %s) ORDER BY position DESC, post_id DESC LIMIT %s"
    )
    values = [value for tag in tag_ids for value in (tag, ts_ms, ts_ms, post_id, count)]
    with read_connection().cursor() as rows:
        rows.execute(db.united([select] * len(tag_ids)), values)
        places = {Position(*row) for row in rows.fetchall()}
    return sorted(places, reverse=True)[:count]


def _items(viewer: "Viewer", found: Sequence[Tag]) -> list[TagItem]:
    days = _posts_by_day(found)
    mine: set[int] = set()
    if viewer is not None and viewer.is_authenticated:
        follows = TagFollow.objects.filter(user_id=viewer.pk, tag_id__in=list(days))
        mine = set(follows.values_list("tag_id", flat=True))
    return [
        TagItem(
            name=tag.name,
            count_day=days[tag.pk][-1],
            count_week=sum(days[tag.pk]),
            days=days[tag.pk],
            following=tag.pk in mine,
        )
        for tag in found
    ]


def _posts_by_day(found: Sequence[Tag]) -> dict[int, list[int]]:
    """Return the public posts of tags in each of the last days, the oldest first, by id.

    Those of busy tags are as the ranking counted them, all others are exact.
    """
    busy = [tag for tag in found if tag.pk and hasattr(tag, "busy")]
    days: dict[int, list[int]] = {tag.pk: tag.busy.days for tag in busy}
    rest = [tag.pk for tag in found if tag.pk not in days]
    if not rest:
        return days
    return {**days, **replicas.read(Freshness.NOW, counted, rest, db.now_ms())}


def counted(tag_ids: Collection[int], now: int) -> dict[int, list[int]]:
    """Count the public posts of tags in each of the last days before `now`, the oldest first.

    Reads each of these posts."""
    found = {ident: [0] * WEEK_DAYS for ident in tag_ids}
    starts = [now - (WEEK_DAYS - day) * DAY_MS for day in range(WEEK_DAYS)]
    for ident, *since in _posts_since(found, starts):
        found[ident] = [a - b for a, b in zip(since, [*since[1:], 0], strict=True)]
    return found


@compiled
def _posts_since(tag_ids: Collection[int], starts: Sequence[int]) -> "QuerySet[PostTag, Any]":
    """Return the tags, and how many public posts they have since each of these times."""
    rows = public().filter(tag_id__in=tag_ids, position__gt=starts[0]).values_list("tag_id")
    counts = [Count("post_id", filter=Q(position__gt=start)) for start in starts]
    return rows.annotate(**{f"since{number}": count for number, count in enumerate(counts)})


def public() -> "QuerySet[PostTag]":
    """Return the tags of public posts of people who are listed."""
    open_accounts = {"author__banned_at__isnull": True, "author__deleted_at__isnull": True}
    return PostTag.objects.filter(is_public=True, author__limited_at=None, **open_accounts)


def recent_public(now: int) -> "QuerySet[PostTag]":
    """Return the tags of public posts of the last week."""
    return public().filter(position__gt=now - WEEK_DAYS * DAY_MS)
