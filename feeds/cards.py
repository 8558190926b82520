"""Hydration: from the ids of an index to what a reader sees (A24, C11, E9)."""

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

from accounts import queries as accounts
from feeds.models import Kind
from feeds.visibility import visible_to
from socialsite.core import media
from socialsite.core.json import iso

AUTHOR_FIELDS = ("id", "username", "nickname", "avatar")


class Image(TypedDict):
    """One picture of a post; `width` and `height` are those of the full picture in pixels."""

    id: str
    url: str
    thumb: str
    width: int
    height: int
    alt: str


class Card(TypedDict):
    """A post as a reader sees it. Counts and `liked` are filled in by interactions."""

    id: str
    kind: str
    author: dict[str, Any]
    title: str
    content: str
    images: list[Image]
    video_url: str
    created_at: str
    visibility: str
    like_count: int
    comment_count: int
    liked: bool
    mine: bool
    ref: "Card | None"
    ref_gone: bool


_COLUMNS = (
    "id",
    "author_id",
    "kind",
    "visibility",
    "position",
    "ref_post_id",
    "content_row__title",
    "content_row__content",
    "content_row__images",
    "content_row__video_url",
)


def cards(viewer_id: int | None, ids: Sequence[int]) -> list[Card]:
    """Return the cards of those posts that the reader may see, in the order of `ids`.

    Two queries, two more when there are reposts among them.
    """
    rows = _rows(viewer_id, ids)
    sources = _rows(viewer_id, [r["ref_post_id"] for r in rows.values() if r["ref_post_id"]])
    people = accounts.cards({row["author_id"] for row in (*rows.values(), *sources.values())})
    made = []
    for ident in ids:
        row = rows.get(ident)
        if row is None or row["author_id"] not in people:
            continue
        card = _card(row, people, viewer_id)
        if row["kind"] == Kind.REPOST:
            source = sources.get(row["ref_post_id"])
            if source is not None and source["author_id"] not in people:
                source = None
            card["ref"] = None if source is None else _card(source, people, viewer_id)
            card["ref_gone"] = source is None
        made.append(card)
    return made


def _rows(viewer_id: int | None, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    wanted = list(ids)
    if not wanted:
        return {}
    found = visible_to(viewer_id).filter(pk__in=wanted).values(*_COLUMNS)
    return {row["id"]: row for row in found}


def _card(row: dict[str, Any], people: dict[int, Any], viewer_id: int | None) -> Card:
    return Card(
        id=str(row["id"]),
        kind=row["kind"],
        author={name: people[row["author_id"]][name] for name in AUTHOR_FIELDS},
        title=row["content_row__title"],
        content=row["content_row__content"],
        images=[
            Image(
                id=image["id"],
                url=media.url_of(image["name"]),
                thumb=media.url_of(image["thumb"]),
                width=image["width"],
                height=image["height"],
                alt=image["alt"],
            )
            for image in row["content_row__images"]
        ],
        video_url=row["content_row__video_url"],
        created_at=iso(row["position"]),
        visibility=row["visibility"],
        like_count=0,
        comment_count=0,
        liked=False,
        mine=row["author_id"] == viewer_id,
        ref=None,
        ref_gone=False,
    )
