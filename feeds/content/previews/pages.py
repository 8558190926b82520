"""Read the title, text and picture of a page of another site.

Nothing of the page is trusted: requests go through `outgoing.fetch`, the page is only searched for
its `title` and `meta` elements, texts become one line each, and the picture is decoded and encoded
again like an upload.
"""

import html
import io
import itertools
import re
from typing import NamedTuple
from urllib.parse import urljoin

import webencodings

from feeds.content.previews.addresses import is_here
from feeds.models import FoundPreview
from socialsite.core.http.client import outgoing
from socialsite.core.http.errors import AppError
from socialsite.core.media import pictures
from socialsite.core.text import one_line

MAX_BYTES = 1_000_000
REDIRECTS = 3
SCHEMES = ("https", "http")
TITLE_MAX, TEXT_MAX = 200, 300
# Twice as wide as most sites ask for 1200 x 630; smaller pictures are icons.
SHAPE = pictures.Shape(40, 21, 800)
LEAST_WIDTH = 200
# Elements of a page that are read, and characters of a value.
ELEMENTS, VALUE_MAX = 2000, 4000
# Parsers that build the tree of a page need the square of its depth. Here every repetition is
# possessive and ends at the next "<", so all of it is linear.
_TAGS = re.compile(
    r"""<meta (?=[\s/]) (?: [^<>"']++ | "[^"<]*+" | '[^'<]*+' )*+ >
      | <title (?: \s [^<>]*+ )? > (?P<title> [^<]*+ )""",
    re.VERBOSE | re.IGNORECASE,
)
_ATTRIBUTES = re.compile(
    r"""(?<![\w:.-]) ([\w:.-]++) \s*+ = \s*+ ( "[^"]*+" | '[^']*+' | [^\s"'>]++ )""", re.VERBOSE
)
_TITLES = ("og:title", "twitter:title")
_TEXTS = ("og:description", "twitter:description", "description")
_PICTURES = ("og:image:secure_url", "og:image", "og:image:url", "twitter:image")


class Page(NamedTuple):
    """The parts of a page that a preview shows; `picture` is an encoded picture, or empty."""

    title: str
    text: str
    picture: bytes


class Later(Exception):
    """The page has no answer now; a later try may have one."""


def read(address: str) -> Page | None:
    """Return the page at an address; None if there is nothing to show. Raises Later."""
    answer = _fetched(address, cut=True)
    if answer is None or is_here(answer.url) or not _is_html(answer):
        return None
    found = described(_decoded(answer))
    title = shortened(next(filter(None, map(found.get, (*_TITLES, "title"))), ""), TITLE_MAX)
    if not title:
        return None
    text = shortened(next(filter(None, map(found.get, _TEXTS)), ""), TEXT_MAX)
    shown = next(filter(None, map(found.get, _PICTURES)), "")
    return Page(title, text, _picture(answer.url, shown) if shown else b"")


def described(page: str) -> dict[str, str]:
    """Return the first value of each `meta` element of a page, and its first `title`."""
    found: dict[str, str] = {}
    for tag in itertools.islice(_TAGS.finditer(page), ELEMENTS):
        if tag["title"] is not None:
            found.setdefault("title", _unescaped(tag["title"]))
            continue
        values = {one[1].lower(): one[2] for one in _ATTRIBUTES.finditer(tag[0])}
        name = _unquoted(values.get("property") or values.get("name") or "").strip().lower()
        if name and name != "title":
            found.setdefault(name, _unescaped(_unquoted(values.get("content") or "")))
    return found


def _unquoted(value: str) -> str:
    return value[1:-1] if value[:1] in ("'", '"') else value


def _unescaped(text: str) -> str:
    """Return the beginning of a text, with its character references decoded."""
    return html.unescape(text[:VALUE_MAX]).strip()


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text in one line, of at most `most` characters."""
    line = one_line(text[: 10 * most])
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _fetched(address: str, *, cut: bool) -> outgoing.Answer | None:
    """Return a complete answer of the status 200, None if a retry would not help. Raises Later."""
    try:
        answer = outgoing.fetch(
            address, schemes=SCHEMES, redirects=REDIRECTS, max_bytes=MAX_BYTES, cut=cut
        )
    except outgoing.Refused:
        return None
    except outgoing.Failed as error:
        raise Later from error
    if answer.status == 429 or answer.status >= 500:
        raise Later
    plain = answer.headers.get("content-encoding", "identity").lower() == "identity"
    return answer if answer.status == 200 and plain else None


def _is_html(answer: outgoing.Answer) -> bool:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml")


def _decoded(answer: outgoing.Answer) -> str:
    """Return the text of a page in the encoding of its header, or that of its `meta`, or UTF-8."""
    kind = answer.headers.get("content-type", "").lower()
    label = kind.partition("charset=")[2].partition(";")[0].strip(" \"'")
    named = webencodings.lookup(label) or webencodings.lookup(_declared(answer.body))
    return webencodings.decode(answer.body, named or webencodings.UTF8)[0]


def _declared(body: bytes) -> str:
    """Return the name of the encoding in the first `meta` elements."""
    start = body[:1024].decode("ascii", "replace").lower()
    label = start.partition("charset=")[2].lstrip(" \"'")
    end = next((place for place, sign in enumerate(label) if sign in "\"' ;/>"), len(label))
    return label[:end]


def _picture(page: str, shown: str) -> bytes:
    """Return a page's picture, cut and encoded again; empty if there is none to show."""
    try:
        answer = _fetched(urljoin(page, shown), cut=False)
        if answer is None or is_here(answer.url):
            return b""
        picture = pictures.encode(io.BytesIO(answer.body), shape=SHAPE)
    except (Later, ValueError, AppError):
        return b""
    return picture.data if picture.width >= LEAST_WIDTH else b""


def kept(found: FoundPreview) -> Page | None:
    """Return a stored result as a page; None if nothing was found."""
    return Page(found.title, found.text, bytes(found.picture)) if found.title else None
