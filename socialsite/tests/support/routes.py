"""All addresses of the site, as Django resolves them, and those of sockets."""

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, get_resolver

IN_ADMIN = "admin/"
PER_MODEL = re.compile(r"admin/(\w+/\w+)/(add/|<path:object_id>/(history/|delete/|change/)?)?")
# Addresses below `/ws/`; the last stands for all others, which are refused.
SOCKET_ADDRESSES = ["ws/session/", ""]


def routes(patterns: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address, pattern.callback
        else:
            yield from routes(pattern.url_patterns, address)


def addresses() -> list[str]:
    return [address for address, _view in routes()]
