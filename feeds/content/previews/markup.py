"""Find the elements of a page of another site that describe it.

Builders of trees need the square of a page's length for some pages: of its nested elements, of the
attributes of a tag, or of open formatting elements. So the page is only divided into tokens, as the
HTML standard says, and the parts of the tree that matter are followed here: templates, and the
elements of SVG and MathML. Time and memory are linear.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import turbohtml
from turbohtml import TokenType

# Names of HTML elements that end SVG and MathML.
_ENDS_FOREIGN = {
    *("b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl"),
    *("dt", "em", "embed", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i"),
    *("img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s"),
    *("small", "span", "strike", "strong", "sub", "sup", "table", "tt", "u", "ul"),
    "var",
}
# Elements of SVG and MathML whose content is HTML.
_CONTAINS_HTML = {"desc", "foreignobject", "mi", "mn", "mo", "ms", "mtext", "title"}
_READ = {"base", "meta", "title"}
VALUE_MAX = 4000  # characters of a value


class Element(NamedTuple):
    """An HTML element `base`, `meta` or `title`, and the text of a `title`."""

    name: str
    attributes: dict[str, str]
    text: str = ""


class _Open:
    """The open templates and foreign elements at a place of a page."""

    def __init__(self) -> None:
        self._templates = 0
        self._foreign: list[str] = []
        self._names: Counter[str] = Counter()

    def starts(self, name: str, *, empty: bool) -> bool:
        """Enter an element. Return whether it is an HTML element outside of templates.

        `empty` is whether the tag ends with "/>", which ends elements of SVG and MathML.
        """
        if name in _ENDS_FOREIGN:
            while self._is_foreign():
                self._leave()
        if name in ("math", "svg") or self._is_foreign():
            if not empty:
                self._foreign.append(name)
                self._names[name] += 1
            return False
        if name == "template":
            self._templates += 1
        return not self._templates

    def ends(self, name: str) -> None:
        """Leave an element; a name that is not open changes nothing."""
        if name == "template" and not self._is_foreign():
            self._templates = max(0, self._templates - 1)
        elif self._names[name]:
            while self._leave() != name:
                pass

    def _is_foreign(self) -> bool:
        return bool(self._foreign) and self._foreign[-1] not in _CONTAINS_HTML

    def _leave(self) -> str:
        name = self._foreign.pop()
        self._names[name] -= 1
        return name


def elements(page: str) -> Iterator[Element]:
    """Yield the `base`, `meta` and `title` elements of a page, as browsers find them.

    Comments, scripts, the texts of forms, templates, SVG and MathML have none.
    """
    places = _Open()
    title: list[str] | None = None
    for token in turbohtml.tokenize(page):
        if title is not None:
            if token.type is TokenType.TEXT:
                title.append(token.data or "")
                continue
            yield Element("title", {}, "".join(title))
            title = None
        name = token.tag or ""
        if token.type is TokenType.END_TAG:
            places.ends(name)
        elif token.type is TokenType.START_TAG:
            counts = places.starts(name, empty=token.self_closing)
            if not counts or name not in _READ:
                continue
            if name == "title":
                title = []
            else:
                yield Element(name, _attributes(token.attrs))
    if title is not None:
        yield Element("title", {}, "".join(title))


def _attributes(pairs: Iterable[tuple[str, str | None]] | None) -> dict[str, str]:
    """Return the attributes of a tag; the first of two with one name counts."""
    found: dict[str, str] = {}
    for name, value in pairs or ():
        found.setdefault(name, value or "")
    return found


def described(page: str) -> dict[str, str]:
    """Return the first value of each kind of `meta` of a page, its `title` and its `base`."""
    found: dict[str, str] = {}
    for name, attributes, text in elements(page):
        if name == "title":
            found.setdefault("title", text[:VALUE_MAX].strip())
        elif name == "base":
            if "href" in attributes:
                found.setdefault("base", attributes["href"][:VALUE_MAX].strip())
        else:
            value = attributes.get("content", "")[:VALUE_MAX].strip()
            for kind in ("property", "name"):
                key = attributes.get(kind, "").strip().lower()
                if key and key not in ("base", "title"):
                    found.setdefault(key, value)
    return found
