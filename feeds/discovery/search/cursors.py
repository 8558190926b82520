"""The cursor of results by relevance: a place in a window of results, and the window's beginning.

It stays valid while posts are added: a window begins at a fixed place and goes to older posts.
"""

import base64
import binascii
import struct
from typing import NamedTuple

from django.utils.translation import gettext as _

from socialsite.core.errors import InvalidInput
from socialsite.core.ids import MAX_ID
from socialsite.core.positions import MAX_TS_MS, Position

_FORMAT = struct.Struct(">BQQIQQ")
_VERSION = 2
SCORE_MAX = 2**32 - 1


# A place in the order of a window: by score, then the newest first; score, position and id.
Ranked = tuple[int, int, int]


class Cursor(NamedTuple):
    """The results after `last` in the window of those older than `top`."""

    top: Position
    last: Ranked

    def encode(self) -> str:
        """Return the opaque form."""
        packed = _FORMAT.pack(_VERSION, *self.top, *self.last)
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Parse a cursor; raises InvalidInput if it is not one of ours."""
        try:
            packed = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
            version, *values = _FORMAT.unpack(packed)
        except (ValueError, binascii.Error, struct.error):
            version, values = 0, [0] * 5
        top, (score, ts_ms, ident) = Position(*values[:2]), values[2:]
        if version != _VERSION or max(top.ts_ms, ts_ms) > MAX_TS_MS:
            raise InvalidInput(fields={"cursor": [_("This is not a cursor.")]})
        if max(top.id, ident) > MAX_ID:
            raise InvalidInput(fields={"cursor": [_("This is not a cursor.")]})
        return cls(top, (score, ts_ms, ident))


# Before everything in a window.
FIRST: Ranked = (SCORE_MAX, MAX_TS_MS, MAX_ID)
