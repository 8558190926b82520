"""What the readers of all archives share: members of JSON, and a record for each object."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import orjson

from feeds.imports import records
from feeds.imports.records import Record, Wrong
from socialsite.core.imports import elements, zips
from socialsite.core.imports.kinds import NO_POSTS, Unreadable

JSON_MAX = 256 * 1024 * 1024
BLOCK = 64 * 1024
# The host of a site that an archive does not name.
NOWHERE = "elsewhere.invalid"
Raw = bytes | None


def objects(
    archive: zips.Zip, name: str, alive: Callable[[], None], key: bytes | None = None
) -> Iterator[Raw]:
    """Yield the objects of a member that is a JSON list, or has it under a key. Raises Unreadable.

    None stands for one that is too long.
    """
    if archive.size_of(name) is None:
        raise Unreadable(NO_POSTS)
    with archive.member(name, JSON_MAX) as file:
        yield from elements.objects(zips.read_all(file, alive, BLOCK), key)


def text_in(archive: zips.Zip, name: str, key: str, most: int) -> str:
    """Return a text of a member of at most so many bytes; empty if it does not have it."""
    if archive.size_of(name) is None:
        return ""
    try:
        return records.text(orjson.loads(archive.bytes_of(name, most))[key])
    except (ValueError, TypeError, KeyError, Wrong):
        return ""


def record_of(raw: Raw, fill: Callable[[Record, Any], None]) -> Record:
    """Return the record of an object, which `fill` fills in, or what a list shows of a bad one."""
    if raw is None:
        return records.blank(error=records.TOO_LONG)
    record = records.blank()
    try:
        fill(record, orjson.loads(raw))
        return records.settle(record)
    except Wrong as wrong:
        return records.failed(record, str(wrong))
    except ValueError:
        return records.failed(record, records.INVALID)


def host_of(address: str) -> str:
    """Return the host of a site, or one that cannot exist if it is not known."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return NOWHERE
    return parts.netloc if parts.hostname else NOWHERE
