"""Read tags and the posts that have them.

Lists have the posts that the reader may see. Counts and suggestions use public posts only, so they
are the same for everybody.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from feeds import queries
from feeds.cards.card import Card
from feeds.models import PostTag, Tag, TagFollow, TrendingTag
from socialsite.core import db
from socialsite.core.db import page_filling
from socialsite.core.errors import NotFound
from socialsite.core.positions import NEWEST, Page, Position
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
    shown = Tag.objects.select_related("busy").filter(is_hidden=False)
    shown = shown.filter(name__gte=name, name__lt=name + chr(0x10FFFF))
    # A tag of other posts only is known to their readers.
    shown = shown.filter(Exists(public().filter(tag_id=OuterRef("pk"))))
    in_use = shown.filter(rank__isnull=False).order_by("-rank__score", "name")
    found = dict.fromkeys([*in_use[:most], *shown.order_by("name")[:CONSIDERED]])
    items = _items(viewer, list(found))
    return sorted(items, key=lambda item: (-item["count_week"], item["name"]))[:most]


def trending(viewer: "Viewer", most: int) -> list[TagItem]:
    """Return the tags that are in use now, by the last ranking."""
    ranked = TrendingTag.objects.filter(tag__is_hidden=False).select_related("tag__busy")
    rows = ranked.order_by("-score", "tag_id")[:most]
    return [item for item in _items(viewer, [row.tag for row in rows]) if item["count_week"]]


def followed(user: "User") -> list[str]:
    """Return the names of the tags that a person follows, in their order."""
    found = Tag.objects.filter(pk__in=_followed_ids(user.pk), is_hidden=False)
    return list(found.order_by("name").values_list("name", flat=True))


def posts(viewer: "Viewer", tag: Tag, cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts with a tag, newest first."""
    rows = PostTag.objects.filter(tag_id=tag.pk)
    return queries.page_of(viewer, partial(page_filling.newest, rows, "post_id"), cursor, size)


def posts_of_followed(user: "User", cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts with a tag that the person follows, newest first."""
    ids = list(Tag.objects.filter(pk__in=_followed_ids(user.pk), is_hidden=False).values_list("pk"))
    return queries.page_of(user, partial(_newest_of, [pk for (pk,) in ids]), cursor, size)


def _newest_of(tag_ids: Sequence[int], cursor: Position | None, count: int) -> list[Position]:
    """Return the places of the next posts with any of these tags, each post once."""
    if not tag_ids:
        return []
    ts_ms, post_id = cursor or NEWEST
    select = (
        "SELECT position, post_id FROM feeds_posttag WHERE tag_id = %s AND position <= %s"
        " AND (position < %s OR post_id < %s) ORDER BY position DESC, post_id DESC LIMIT %s"
    )
    values = [value for tag in tag_ids for value in (tag, ts_ms, ts_ms, post_id, count)]
    with connection.cursor() as rows:
        rows.execute(db.united([select] * len(tag_ids)), values)
        places = {Position(*row) for row in rows.fetchall()}
    return sorted(places, reverse=True)[:count]


def _followed_ids(user_id: int) -> "QuerySet[TagFollow, Any]":
    return TagFollow.objects.filter(user_id=user_id).values("tag_id")


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
    return {**days, **counted(rest, db.now_ms())} if rest else days


def counted(tag_ids: Collection[int], now: int) -> dict[int, list[int]]:
    """Count the public posts of tags in each of the last days before `now`, the oldest first.

    Reads each of these posts."""
    found = {ident: [0] * WEEK_DAYS for ident in tag_ids}
    if not found:
        return found
    counts = {
        f"day{day}": Count("post_id", filter=Q(position__gt=now - (WEEK_DAYS - day) * DAY_MS))
        for day in range(WEEK_DAYS)
    }
    rows = recent_public(now).filter(tag_id__in=found).values_list("tag_id").annotate(**counts)
    for ident, *since in rows:
        found[ident] = [a - b for a, b in zip(since, [*since[1:], 0], strict=True)]
    return found


def public() -> "QuerySet[PostTag]":
    """Return the tags of public posts whose authors' accounts are open."""
    open_accounts = {"author__banned_at__isnull": True, "author__deleted_at__isnull": True}
    return PostTag.objects.filter(is_public=True, **open_accounts)


def recent_public(now: int) -> "QuerySet[PostTag]":
    """Return the tags of public posts of the last week."""
    return public().filter(position__gt=now - WEEK_DAYS * DAY_MS)
