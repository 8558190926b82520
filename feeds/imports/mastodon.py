"""Read the posts of an archive of Mastodon: `outbox.json` in ActivityPub, and media beside it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from feeds.imports import archives, html_texts, records
from feeds.imports.records import INVALID, OTHER_KIND, REPLY, REPOST, Record, Wrong
from feeds.models import Kind, Visibility
from socialsite.core import db
from socialsite.core.imports import zips

OUTBOX, ACTOR, MEDIA = "outbox.json", "actor.json", "media_attachments/"
ACTOR_MAX = 1024 * 1024
_PUBLIC = ("https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public")


def read(path: Path, alive: Callable[[], None]) -> Iterator[Record]:
    """Yield the posts of an archive in its order. Raises Unreadable."""
    with zips.opened(path) as archive:
        actor = archives.text_in(archive, ACTOR, "id", ACTOR_MAX)
        fill = partial(_fill, actor=actor, now=db.now_ms())
        for raw in archives.objects(archive, OUTBOX, alive, b"orderedItems"):
            yield archives.record_of(raw, fill)


def _fill(record: Record, activity: dict[str, Any], *, actor: str, now: int) -> None:
    record["ident"] = records.text(activity.get("id"))[: records.FILE_MAX]
    record["at"] = records.published(activity.get("published"), now)
    if activity.get("type") == "Announce":
        raise Wrong(REPOST)
    note: Any = activity.get("object")
    is_note = isinstance(note, dict) and note.get("type") in ("Note", "Question")
    if activity.get("type") != "Create" or not is_note:
        raise Wrong(OTHER_KIND)
    _fill_of_note(record, note, actor or records.text(activity.get("actor")))


def _fill_of_note(record: Record, note: dict[str, Any], actor: str) -> None:
    record["ident"] = records.text(note.get("id"))[: records.FILE_MAX]
    replied = records.text(note.get("inReplyTo"))
    record["visibility"] = _visibility(note)
    content = records.within(html_texts.text_of(records.text(note.get("content"))))
    record["content"] = records.elsewhere(content, archives.host_of(actor))
    record["note"] = records.within(html_texts.text_of(records.text(note.get("summary"))))
    if replied and not (actor and replied.startswith(f"{actor}/")):
        raise Wrong(REPLY)
    record["sensitive"] = note.get("sensitive") is True
    attached = records.items(note.get("attachment"))
    if not all(isinstance(one, dict) for one in attached):
        raise Wrong(INVALID)
    record["media"] = records.media_of((_file(one.get("url")), one.get("name")) for one in attached)
    if len(record["media"]) == 1 and records.is_video(record["media"][0]["file"]):
        record["kind"] = Kind.VIDEO.value
    if note["type"] == "Question":
        record["poll"] = _poll(note)


def _visibility(note: dict[str, Any]) -> str:
    to, copies = _addresses(note.get("to")), _addresses(note.get("cc"))
    if any(one in _PUBLIC for one in to):
        return Visibility.PUBLIC.value
    if any(one in _PUBLIC for one in copies):
        return Visibility.QUIET.value
    if any(one.endswith("/followers") for one in to):
        return Visibility.FOLLOWERS.value
    return Visibility.SELF.value


def _addresses(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else records.items(value)
    return [records.text(one) for one in values]


def _file(url: Any) -> str:
    """Return the path of an attachment in the archive."""
    path = records.text(url)
    return path[path.find(MEDIA) :] if MEDIA in path else path.lstrip("/")


def _poll(note: dict[str, Any]) -> dict[str, Any]:
    multiple = note.get("anyOf") is not None
    options = records.items(note.get("anyOf") if multiple else note.get("oneOf"))
    if not all(isinstance(one, dict) for one in options):
        raise Wrong(INVALID)
    ends = note.get("endTime") or note.get("closed")
    return {
        "options": [records.text(one.get("name")) for one in options],
        "multiple": multiple,
        "ends_at": records.ms_of(ends) if isinstance(ends, str) else 0,
    }
