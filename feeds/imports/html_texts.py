"""The HTML of posts of other sites as plain text; no HTML is ever kept."""

import re
from urllib.parse import urlsplit

import turbohtml
from turbohtml import TokenType

from feeds.imports.records import TOO_LONG, Wrong

HTML_MAX = 500_000
_BLOCKS = ("p", "div", "blockquote", "pre", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6")
_BREAKS = dict.fromkeys(_BLOCKS, "\n\n") | {"li": "\n- "}
_UNSEEN = ("script", "style", "template", "title", "textarea", "iframe", "noscript")
_SPACE = re.compile(r"[ \t\n\r\f]+")
_NAME = re.compile(r"@[A-Za-z0-9_.-]+")
_MANY = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    """Return the text: paragraphs, line breaks, links with their address, `@user@host`, `#tag`."""
    if len(html) > HTML_MAX:
        raise Wrong(TOO_LONG)
    reader = _Reader()
    for token in turbohtml.tokenize(html):
        if token.type is TokenType.TEXT:
            reader.text(token.data or "")
        elif token.type is TokenType.START_TAG:
            reader.starts(token.tag or "", dict(reversed(list(token.attrs or ()))))
        elif token.type is TokenType.END_TAG:
            reader.ends(token.tag or "")
    return reader.whole()


class _Reader:
    def __init__(self) -> None:
        self._parts: list[str] = []
        # The open link: its address, whether it is a name, and where its words begin.
        self._link: tuple[str, bool, int] | None = None
        self._unseen = ""

    def text(self, data: str) -> None:
        """Take a text between tags."""
        if not self._unseen:
            self._parts.append(_SPACE.sub(" ", data))

    def starts(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Take the start of an element."""
        if self._unseen:
            return
        if tag in _UNSEEN:
            self._unseen = tag
        elif tag == "br":
            self._parts.append("\n")
        elif tag == "a":
            self._end_link()
            classes = (attributes.get("class") or "").split()
            is_name = "mention" in classes and "hashtag" not in classes
            self._link = (attributes.get("href") or "", is_name, len(self._parts))
        else:
            self._parts.append(_BREAKS.get(tag, ""))

    def ends(self, tag: str) -> None:
        """Take the end of an element."""
        if self._unseen:
            self._unseen = "" if tag == self._unseen else self._unseen
        elif tag == "a":
            self._end_link()
        elif tag != "li":
            self._parts.append(_BREAKS.get(tag, ""))

    def _end_link(self) -> None:
        if self._link is None:
            return
        address, is_name, start = self._link
        words = "".join(self._parts[start:])
        self._parts[start:] = [_link(words, address, is_name=is_name)]
        self._link = None

    def whole(self) -> str:
        """Return the text."""
        self._end_link()
        lines = (line.strip() for line in "".join(self._parts).split("\n"))
        return _MANY.sub("\n\n", "\n".join(lines)).strip()


def _link(words: str, address: str, *, is_name: bool) -> str:
    words = words.strip()
    try:
        parts = urlsplit(address)
    except ValueError:
        return words
    if is_name and _NAME.fullmatch(words):
        return f"{words}@{parts.netloc}"
    if words.startswith(("#", "@")) or parts.scheme not in ("http", "https"):
        return words
    shown = words.removesuffix("…")
    return address if not words or shown in address else f"{words} ({address})"
