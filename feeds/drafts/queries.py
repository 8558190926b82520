"""Read drafts: only their author does."""

from datetime import timedelta
from typing import TYPE_CHECKING, TypedDict

from django.conf import settings

from feeds.cards.card import Image, shown_image
from feeds.content.polls.definition import Given
from feeds.models import Draft, DraftImage, PostContent
from socialsite.core.errors import NotFound
from socialsite.core.media.videos import queries as video_queries
from socialsite.core.media.videos.shown import OwnVideo
from socialsite.core.models import Media
from socialsite.core.positions import Page, Position, before, cut
from socialsite.core.times import iso

if TYPE_CHECKING:
    from accounts.models import User


class DraftPoll(TypedDict):
    """The poll of a draft: at most one of `ends_at` and `lasts` (seconds) is not None."""

    options: list[str]
    multiple: bool
    ends_at: str | None
    lasts: int | None


class DraftCard(TypedDict):
    """A draft as its author sees it.

    Exactly one of `publish_at` and `expires_at` is a time. `failed_at` is the time of a publication
    that did not succeed.
    """

    id: str
    kind: str
    title: str
    note: str
    content: str
    sensitive: bool
    images: list[Image]
    video_url: str
    video: OwnVideo | None
    poll: DraftPoll | None
    visibility: str
    publish_at: str | None
    failed_at: str | None
    expires_at: str | None
    created_at: str
    updated_at: str


def drafts(author: "User", cursor: Position | None, size: int) -> Page[DraftCard]:
    """Return a page of one's drafts, last changed first."""
    rows = Draft.objects.filter(before(cursor, "updated_at"), author_id=author.pk)
    found = list(rows.order_by("-updated_at", "-id")[: size + 1])
    page = cut(found, size, lambda row: Position(row.updated_at, row.pk))
    return page.with_items(_cards(page.items))


def draft(author: "User", draft_id: int) -> DraftCard:
    """Return one of one's drafts. Raises NotFound."""
    row = Draft.objects.filter(pk=draft_id, author_id=author.pk).first()
    if row is None:
        raise NotFound
    return _cards([row])[0]


def is_there(draft_id: int) -> bool:
    """Whether a draft exists: it ends when it is published or deleted."""
    return Draft.objects.filter(pk=draft_id).exists()


def _cards(rows: list[Draft]) -> list[DraftCard]:
    links = list(DraftImage.objects.filter(draft__in=rows).order_by("number"))
    media = Media.objects.in_bulk([link.media_id for link in links])
    images: dict[int, list[Image]] = {row.pk: [] for row in rows}
    for link in links:
        if link.media_id in media:
            stored = PostContent.image_of(media[link.media_id])
            images[link.draft_id].append(shown_image(stored))
    videos = _videos(rows)
    return [_card(row, images[row.pk], videos.get(row.video or 0)) for row in rows]


def _videos(rows: list[Draft]) -> dict[int, OwnVideo]:
    """Return the videos of one person's drafts."""
    idents = [row.video for row in rows if row.video is not None]
    return video_queries.by_ids(rows[0].author_id, idents) if idents else {}


def _card(row: Draft, images: list[Image], video: OwnVideo | None) -> DraftCard:
    kept = timedelta(days=settings.DRAFT_DAYS) // timedelta(milliseconds=1)
    return DraftCard(
        id=str(row.pk),
        kind=row.kind,
        title=row.title,
        note=row.note,
        content=row.content,
        sensitive=row.sensitive,
        images=images,
        video_url=row.video_url,
        video=video,
        poll=_poll(row.poll),
        visibility=row.visibility,
        publish_at=_time(row.publish_at),
        failed_at=_time(row.failed_at),
        expires_at=None if row.publish_at else iso(row.updated_at + kept),
        created_at=iso(row.created_at),
        updated_at=iso(row.updated_at),
    )


def _poll(given: Given | None) -> DraftPoll | None:
    return None if given is None else DraftPoll(**{**given, "ends_at": _time(given["ends_at"])})


def _time(value: int | None) -> str | None:
    return None if value is None else iso(value)
