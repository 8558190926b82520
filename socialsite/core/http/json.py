"""JSON on the wire: orjson as DRF's renderer and parser.

Separate from `core.http.api`, because DRF imports this module while it imports its views.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import orjson
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from socialsite.core import errors

NESTING_MAX = 32
_BRACKETS = b"[{]}"
_NO_MARKS = bytes(set(range(256)) - {*_BRACKETS, *b'"'})
# As signed bytes: an opening bracket adds one level, a closing one removes one.
_LEVELS = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")


def dumps(data: Any) -> bytes:
    """Return JSON bytes; lazy translations become text."""
    return orjson.dumps(data, default=str, option=orjson.OPT_NON_STR_KEYS)


def nests_too_deep(text: bytes) -> bool:
    """Return True for JSON with more than `NESTING_MAX` levels; counts brackets, builds nothing.

    Takes linear time. For text that is not JSON the result is meaningless, but the parser refuses
    such text.
    """
    if text.count(b"[") + text.count(b"{") <= NESTING_MAX:
        return False
    # Drop escapes, then everything but quotes and brackets, then quotes with nothing between them:
    # every second part is a string.
    marks = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    marks = marks.replace(b'""', b"")
    levels = b"".join(marks.split(b'"')[::2]).translate(_LEVELS)
    return max(accumulate(memoryview(levels).cast("b")), default=0) > NESTING_MAX


class OrjsonRenderer(BaseRenderer):
    """`application/json` by orjson."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the body; empty for an answer without content."""
        return b"" if data is None else dumps(data)


class JsonForAll(DefaultContentNegotiation):
    """Choose the format that `Accept` prefers, the first one if it names no other.

    The API never refuses a client that accepts only what a browser accepts, HTML for instance.
    """

    def select_renderer(
        self, request: Any, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return a renderer and its media type."""
        try:
            return super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            return renderers[0], renderers[0].media_type


class OrjsonParser(BaseParser):
    """Strict JSON: UTF-8, no NaN, no lone surrogates, an object at the top."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object of the body; an empty body is an empty object."""
        try:
            text = stream.read()
            if nests_too_deep(text):
                raise errors.InvalidInput(
                    _("The body is nested more than %(limit)s levels deep.")
                    % {"limit": NESTING_MAX}
                )
            data = orjson.loads(text) if text.strip() else {}
        except orjson.JSONDecodeError:
            raise errors.InvalidInput(_("The body is not valid JSON.")) from None
        if not isinstance(data, dict):
            raise errors.InvalidInput(_("The body must be a JSON object."))
        return data
