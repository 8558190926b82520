"""Read the title, text and picture of a page of another site.

Nothing of the page is trusted: requests go through `outgoing.fetch`, only the elements `title`,
`meta` and `base` of the page are read, texts become one line each, and the picture is decoded and
encoded again like an upload.
"""

import io
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from feeds.content.previews import encodings, markup
from feeds.content.previews.addresses import is_here
from feeds.models import FoundPreview
from socialsite.core.client import compression, outgoing
from socialsite.core.errors import AppError
from socialsite.core.media import encoding
from socialsite.core.text import one_line
from socialsite.core.text.cuts import shortened

# The beginning of a page is enough; a picture must be complete, and many have some megabytes.
MAX_BYTES, PICTURE_BYTES = 1_000_000, 5_000_000
REDIRECTS = 3
SCHEMES = ("https", "http")
TITLE_MAX, TEXT_MAX = 200, 300
# Twice as wide as most sites ask for 1200 x 630; smaller pictures are icons.
SHAPE = encoding.Shape(40, 21, 800)
LEAST_WIDTH = 200
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
    answer = _fetched(address, MAX_BYTES, cut=True, accepted=compression.ACCEPTED)
    if answer is None or is_here(answer.url) or not _is_html(answer):
        return None
    body = compression.decompressed(answer.body, _codings(answer), MAX_BYTES)
    if body is None:
        return None
    kind, cut = answer.headers.get("content-type", ""), MAX_BYTES in (len(answer.body), len(body))
    found = markup.described(encodings.decoded(body, kind, cut=cut))
    title = _line(next(filter(None, map(found.get, (*_TITLES, "title"))), ""), TITLE_MAX)
    if not title:
        return None
    text = _line(next(filter(None, map(found.get, _TEXTS)), ""), TEXT_MAX)
    shown = next(filter(None, map(found.get, _PICTURES)), "")
    base = found.get("base", "")
    return Page(title, text, _picture(answer.url, base, shown) if shown else b"")


def _fetched(
    address: str, most: int, *, cut: bool, accepted: str = "identity"
) -> outgoing.Answer | None:
    """Return a complete answer of the status 200, None if a retry would not help. Raises Later.

    `accepted` are the codings that its body may have.
    """
    try:
        answer = outgoing.fetch(
            address,
            headers={"Accept-Encoding": accepted},
            schemes=SCHEMES,
            redirects=REDIRECTS,
            max_bytes=most,
            cut=cut,
        )
    except outgoing.Refused:
        return None
    except outgoing.Failed as error:
        raise Later from error
    if answer.status == 429 or answer.status >= 500:
        raise Later
    return answer if answer.status == 200 else None


def _codings(answer: outgoing.Answer) -> str:
    return answer.headers.get("content-encoding", "")


def _is_html(answer: outgoing.Answer) -> bool:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml")


def _joined(page: str, base: str, shown: str) -> str:
    """Return the address of a picture as browsers read it. Raises ValueError for a malformed one.

    `base` is the address in the `base` element of the page, or empty.
    """
    try:
        start = urljoin(page, _typed(base))
        known = urlsplit(start).scheme in SCHEMES
    except ValueError:
        known = False
    return urljoin(start if known else page, _typed(shown))


def _line(text: str, most: int) -> str:
    return shortened(one_line(text[: 10 * most]), most)


def _typed(address: str) -> str:
    """Return an address without the line breaks and tabs that a page may put into it.

    Raises ValueError for one that is too long for a request.
    """
    if len(address) > outgoing.URL_MAX:
        raise ValueError("too long an address")
    return address.strip().translate({9: None, 10: None, 13: None})


def _picture(page: str, base: str, shown: str) -> bytes:
    """Return a page's picture, cut and encoded again; empty if there is none to show."""
    try:
        answer = _fetched(_joined(page, base, shown), PICTURE_BYTES, cut=False)
        if answer is None or is_here(answer.url):
            return b""
        data = compression.decompressed(answer.body, _codings(answer), PICTURE_BYTES)
        picture = encoding.encode(io.BytesIO(data or b""), shape=SHAPE)
    except (Later, ValueError, AppError):
        return b""
    return picture.data if picture.width >= LEAST_WIDTH else b""


def kept(found: FoundPreview) -> Page | None:
    """Return a stored result as a page; None if nothing was found."""
    return Page(found.title, found.text, bytes(found.picture)) if found.title else None
