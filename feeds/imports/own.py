"""Read the posts of an archive of this software (`socialsite.core.exports.archives`)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.conf import settings

from feeds.imports import records
from feeds.imports.records import INVALID, Record, Wrong, blank
from feeds.models import Kind, Visibility
from socialsite.core import db
from socialsite.core.exports.archives import MANIFEST
from socialsite.core.ids import number_of
from socialsite.core.imports import elements, zips
from socialsite.core.imports.kinds import NO_POSTS, Unreadable

POSTS = "data/posts.json"
JSON_MAX = 256 * 1024 * 1024
MANIFEST_MAX = 64 * 1024
BLOCK = 64 * 1024
# An audience of people named is nobody here: those are accounts of another site.
KEPT = (Visibility.PUBLIC, Visibility.QUIET, Visibility.FOLLOWERS, Visibility.SELF)


def read(path: Path, alive: Callable[[], None]) -> Iterator[Record]:
    """Yield the posts of an archive in its order. Raises Unreadable."""
    with zips.opened(path) as archive:
        if archive.size_of(POSTS) is None:
            raise Unreadable(NO_POSTS)
        site, now = _site_of(archive), db.now_ms()
        with archive.member(POSTS, JSON_MAX) as file:
            for raw in elements.objects(zips.read_all(file, alive, BLOCK)):
                yield _record(raw, site, now)


def _site_of(archive: zips.Zip) -> str:
    """Return the address of the site that made an archive; empty if it does not say so."""
    if archive.size_of(MANIFEST) is None:
        return ""
    try:
        found = orjson.loads(archive.bytes_of(MANIFEST, MANIFEST_MAX))
        site = records.text(found["site"])
        return site if urlsplit(site).hostname else ""
    except (ValueError, TypeError, KeyError, Wrong):
        return ""


def _record(raw: bytes | None, site: str, now: int) -> Record:
    if raw is None:
        return blank(error=records.TOO_LONG)
    record = blank()
    try:
        post = orjson.loads(raw)
        record["ident"] = records.text(post.get("id"))[: records.FILE_MAX]
        record["at"] = records.published(post.get("at"), now)
        if site == settings.SITE_URL:
            record["own"] = number_of(record["ident"]) or 0
        _fill(record, post, site)
        return records.settle(record)
    except Wrong as wrong:
        return records.failed(record, str(wrong))
    except ValueError:
        return records.failed(record, INVALID)


def _fill(record: Record, post: dict[str, Any], site: str) -> None:
    kind, visibility = records.text(post.get("kind")), records.text(post.get("visibility"))
    if kind not in Kind.values:
        raise Wrong(INVALID)
    record["kind"] = kind
    if visibility in KEPT:
        record["visibility"] = visibility
    for name in ("title", "note", "content", "video_url"):
        record[name] = records.within(records.text(post.get(name)))
    if site != settings.SITE_URL:
        host = urlsplit(site).netloc or "elsewhere.invalid"
        record["content"] = records.elsewhere(record["content"], host)
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
