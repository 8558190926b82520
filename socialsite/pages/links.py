"""Addresses of pages, and the links that texts of people become."""

import functools
from typing import Any
from urllib.parse import quote

from django.urls import get_urlconf, reverse
from markupsafe import Markup, escape

from socialsite.core.text.spans import Kind, tag_of
from socialsite.pages.times import KEPT

# The attributes of a link that leaves the site.
AWAY = 'rel="nofollow ugc noopener" target="_blank"'


def url(name: str, *args: Any) -> str:
    """Return the address of a named page."""
    return _reversed(get_urlconf(), name, args)


@functools.lru_cache(KEPT)
def _reversed(urlconf: Any, name: str, args: tuple[Any, ...]) -> str:
    return reverse(name, urlconf, args=args)


def link_of(kind: Kind, text: str, away: bool = False) -> str:
    """Return the link of a name, a tag or an address in a text, as HTML.

    With `away` people and tags open in a new tab too, as addresses do.
    """
    shown = escape(text)
    person = 'class="mention" target="_blank" rel="noopener"' if away else 'class="mention"'
    match kind:
        case Kind.NAME:
            return f'<a {person} href="{_folder("profile")}{shown[1:]}">{shown}</a>'
        case Kind.TAG:
            return f'<a {person} href="{_folder("tag")}{quote(tag_of(text) or "")}">{shown}</a>'
        case Kind.MAIL:
            return f'<a href="mailto:{shown}">{shown}</a>'
        case _:
            scheme = "https://" if kind is Kind.BARE else ""
            return f'<a href="{scheme}{shown}" {AWAY}>{shown}</a>'


def _folder(name: str) -> Markup:
    return escape(url(name, "_").removesuffix("_"))
