"""Keyset paging: a total order of (time, id), newest first, and its opaque cursor.

`Position(ts_ms, id)` is the place of one item; a page holds items strictly after a position in
newest-first order, that is `ts < ts_ms OR (ts = ts_ms AND id < id)` (T32, T37).
"""

import base64
import binascii
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from socialsite.core.errors import InvalidInput
from socialsite.core.ids import MAX_ID

T = TypeVar("T")
U = TypeVar("U")

MAX_TS_MS = 2**53 - 1
_FORMAT = struct.Struct(">BQQ")
_VERSION = 1


class Position(NamedTuple):
    """A place in newest-first order: Unix time in ms and the id as tie-breaker."""

    ts_ms: int
    id: int

    def encode(self) -> str:
        """Return the opaque cursor of this position."""
        packed = _FORMAT.pack(_VERSION, self.ts_ms, self.id)
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def decode(cls, cursor: str) -> "Position":
        """Parse a cursor; raises InvalidInput if it is not one of ours."""
        bad = InvalidInput(fields={"cursor": [_("This is not a cursor.")]})
        try:
            packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
            version, ts_ms, ident = _FORMAT.unpack(packed)
        except (ValueError, binascii.Error, struct.error):
            raise bad from None
        if version != _VERSION or ts_ms > MAX_TS_MS or ident > MAX_ID:
            raise bad
        return cls(ts_ms, ident)


NEWEST = Position(MAX_TS_MS, MAX_ID)


def before(position: Sequence[int] | None, time: str = "position", ident: str = "id") -> Q:
    """Return a filter for rows older than a position (time, id), in a form that uses an index.

    `(time, id) < (?, ?)` scans all of a user's rows; `time <= ? AND (time < ? OR id < ?)` is a
    range.
    """
    if position is None:
        return Q()
    ts_ms, last = position
    older = Q(**{f"{time}__lt": ts_ms}) | Q(**{f"{ident}__lt": last})
    return Q(**{f"{time}__lte": ts_ms}) & older


@dataclass(slots=True)
class Page(Generic[T]):
    """The items of one page and the cursor of the next, None at the end."""

    items: list[T]
    next: str | None

    def with_items(self, items: list[U]) -> "Page[U]":
        """Return the same page with other items."""
        return Page(items, self.next)


def cut(rows: Sequence[T], size: int, position_of: Callable[[T], Position]) -> Page[T]:
    """Make a page of `size` from rows fetched with a limit of size + 1."""
    items = list(rows[:size])
    more = len(rows) > size
    return Page(items, position_of(items[-1]).encode() if more else None)
