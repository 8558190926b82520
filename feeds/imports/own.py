"""Read the posts of an archive of this software (`socialsite.core.exports.archives`)."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from feeds.imports import archives, records
from feeds.imports.records import INVALID, Record, Wrong
from feeds.models import Kind, Visibility
from socialsite.core import db
from socialsite.core.exports.archives import MANIFEST
from socialsite.core.ids import number_of
from socialsite.core.imports import zips

POSTS = "data/posts.json"
MANIFEST_MAX = 64 * 1024
# An audience of people named is nobody here: those are accounts of another site.
KEPT = (Visibility.PUBLIC, Visibility.QUIET, Visibility.FOLLOWERS, Visibility.SELF)


def read(path: Path, alive: Callable[[], None]) -> Iterator[Record]:
    """Yield the posts of an archive in its order. Raises Unreadable."""
    with zips.opened(path) as archive:
        fill = partial(_fill, site=_site_of(archive), now=db.now_ms())
        for raw in archives.objects(archive, POSTS, alive):
            yield archives.record_of(raw, fill)


def _site_of(archive: zips.Zip) -> str:
    """Return the address of the site that made an archive; empty if it does not say so."""
    site = archives.text_in(archive, MANIFEST, "site", MANIFEST_MAX)
    return "" if archives.host_of(site) == archives.NOWHERE else site


def _fill(record: Record, post: dict[str, Any], *, site: str, now: int) -> None:
    record["ident"] = records.text(post.get("id"))[: records.FILE_MAX]
    record["at"] = records.published(post.get("at"), now)
    if site == settings.SITE_URL:
        record["own"] = number_of(record["ident"]) or 0
    kind, visibility = records.text(post.get("kind")), records.text(post.get("visibility"))
    if kind not in Kind.values:
        raise Wrong(INVALID)
    record["kind"] = kind
    if visibility in KEPT:
        record["visibility"] = visibility
    for name in ("title", "note", "content", "video_url"):
        record[name] = records.within(records.text(post.get(name)))
    if site != settings.SITE_URL:
        record["content"] = records.elsewhere(record["content"], archives.host_of(site))
    record["sensitive"] = post.get("sensitive") is True
    media = records.items(post.get("media"))
    if not all(isinstance(one, dict) for one in media):
        raise Wrong(INVALID)
    record["media"] = records.media_of((one.get("file"), one.get("alt")) for one in media)
    record["poll"] = _poll(post.get("poll"))
    if kind == Kind.REPOST:
        _original(record, records.text(post.get("repost_of")), site)


def _poll(poll: Any) -> dict[str, Any] | None:
    if poll is None:
        return None
    if not isinstance(poll, dict):
        raise Wrong(INVALID)
    return {
        "options": [records.text(one) for one in records.items(poll.get("options"))],
        "multiple": poll.get("multiple") is True,
        "ends_at": records.ms_of(poll.get("ends_at")),
    }


def _original(record: Record, ident: str, site: str) -> None:
    record["repost_of"] = ident[: records.FILE_MAX]
    number = number_of(ident)
    if number is not None and site == settings.SITE_URL:
        record["here"] = number
    if number is not None and site:
        record["address"] = f"{site}/posts/{ident}"
