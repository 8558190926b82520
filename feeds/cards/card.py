"""The card of a post, and the facts of it that are cached: what they have, and how they are packed.

A field of a post is named once as a column of `Row`, once in `Card` and once in `pack`.
"""

from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, TypedDict

from feeds.content.plain_text import plain, tags_of
from feeds.content.polls import definition
from feeds.content.polls.definition import Definition, Poll
from feeds.models import Post
from socialsite.core.cache.packing import json_of
from socialsite.core.media import pictures, video_links
from socialsite.core.media.videos.shown import ShownVideo
from socialsite.core.media.videos.shown import shown as shown_video
from socialsite.core.times import iso


class Image(TypedDict):
    """One picture of a post; `width` and `height` are those of the full picture in pixels."""

    id: str
    url: str
    thumb: str
    width: int
    height: int
    alt: str
    placeholder: str


def shown_image(stored: Mapping[str, Any]) -> Image:
    """Return a picture with addresses, from an entry of `PostContent.images`."""
    return Image(
        id=stored["id"],
        url=pictures.url_of(stored["name"]),
        thumb=pictures.url_of(stored["thumb"]),
        width=stored["width"],
        height=stored["height"],
        alt=stored["alt"],
        placeholder=stored.get("placeholder", ""),  # posts from before have none
    )


class Link(TypedDict):
    """The preview of an address; `image` is the address of its picture, "" for none."""

    url: str
    title: str
    text: str
    image: str
    placeholder: str


def _shown_link(stored: Mapping[str, Any] | None) -> Link | None:
    if stored is None:
        return None
    image = stored["image"] and shown_image(stored["image"])
    return Link(
        url=stored["url"],
        title=stored["title"],
        text=stored["text"],
        image=image["url"] if image else "",
        placeholder=image["placeholder"] if image else "",
    )


class Card(TypedDict):
    """A post as a reader sees it. Interactions fill in counts and the reader's actions.

    `position` is the publish time in Unix ms, `created_at` the same time as a text; `edited_at` is
    None until the first edit. `prose` has the plain words of an article, None if they are equal to
    `content`; an article without words has an empty `prose`.
    """

    id: str
    kind: str
    author: dict[str, Any]
    title: str
    note: str
    content: str
    prose: str | None
    sensitive: bool
    tags: list[str]
    images: list[Image]
    video_url: str
    video: ShownVideo | None
    poll: Poll | None
    link: Link | None
    created_at: str
    position: int
    visibility: str
    version: int
    edited_at: str | None
    like_count: int
    comment_count: int
    repost_count: int
    bookmark_count: int
    liked: bool
    bookmarked: bool
    reposted: bool
    mine: bool
    ref: "Card | None"
    ref_gone: bool


class Facts(TypedDict):
    """The cached parts of a post that is not deleted; `ref` is the post it reposts.

    `named` are the people who may see a post for MENTIONED, besides its author.

    `card` is its Card without values that depend on the reader or change; fill in a copy only.
    """

    author: int
    visibility: str
    named: list[int]
    kind: str
    ref: int | None
    ref_author: int | None
    card: Card


class Row(NamedTuple):
    """The stored values of a post; `COLUMNS` names the column of each."""

    id: int
    author_id: int
    kind: str
    position: int
    visibility: str
    ref_post_id: int | None
    ref_author_id: int | None
    title: str
    note: str
    content: str
    sensitive: bool
    images: list[dict[str, Any]]
    video_url: str
    video: Mapping[str, Any] | None
    poll: Definition | None
    link: Mapping[str, Any] | None
    version: int
    edited_at: int | None


_OF_POST = ("id", "author_id", "kind", "position", "visibility", "ref_post_id")
COLUMNS = {name: name if name in _OF_POST else f"content_row__{name}" for name in Row._fields}
COLUMNS["ref_author_id"] = "ref_post__author_id"


def row_of(post: Post) -> Row:
    """Return the values of a post that is no repost, with its words in `content_row`."""
    values = {name: column.replace("__", ".") for name, column in COLUMNS.items()}
    del values["ref_author_id"]
    read = attrgetter(*values.values())
    return Row(**dict(zip(values, read(post), strict=True)), ref_author_id=None)


def pack(row: Row, named: Collection[int]) -> bytes:
    """Return the facts of a post as bytes; `named` are the people who may see it."""
    words = plain(row.kind, row.content)
    card = Card(
        id=str(row.id),
        kind=row.kind,
        author={},
        title=row.title,
        note=row.note,
        content=row.content,
        prose=None if words == row.content else words,
        sensitive=row.sensitive,
        tags=tags_of(row.kind, row.content),
        images=[shown_image(image) for image in row.images],
        # Values that older versions accepted are not returned.
        video_url=row.video_url if video_links.host_of(row.video_url) else "",
        video=None if row.video is None else shown_video(row.video),
        poll=definition.shown(row.poll),
        link=_shown_link(row.link),
        created_at=iso(row.position),
        position=row.position,
        visibility=row.visibility,
        version=row.version,
        edited_at=None if row.edited_at is None else iso(row.edited_at),
        like_count=0,
        comment_count=0,
        repost_count=0,
        bookmark_count=0,
        liked=False,
        bookmarked=False,
        reposted=False,
        mine=False,
        ref=None,
        ref_gone=False,
    )
    facts = Facts(
        author=row.author_id,
        visibility=row.visibility,
        named=list(named),
        kind=row.kind,
        ref=row.ref_post_id,
        ref_author=row.ref_author_id,
        card=card,
    )
    return json_of(facts)
