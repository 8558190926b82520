"""Articles as HTML: `socialsite.core.text.markdown` reads them, this module makes their pages.

- Nothing that people write becomes HTML. The renderer escapes all words and writes only elements
  of `_ALLOWED`; nh3 then removes whatever is not one of them, should the renderer ever fail.
- A link leads to http, https or mail, as in posts, with the same attributes; every other one is
  shown as its words.
- A picture is shown if it is one of the post, whose readers may see it: the text names it by its
  address or by its number. Any other picture is a link to its address.
- The result is cached by the text, the pictures and the language, never by time.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple

import nh3
from cachetools import LRUCache, cached
from django.utils.translation import get_language, gettext_noop
from markdown_it.presets import commonmark
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from socialsite.core.text import markdown, tags
from socialsite.pages.cached_html import bytes_of
from socialsite.pages.links import AWAY, link_of
from socialsite.pages.picture_placeholders import placeholder
from socialsite.pages.times import translated

ARTICLES_BYTES = 4 * 1024 * 1024
# Words and characters that people read in a minute.
WORDS_A_MINUTE, CHARACTERS_A_MINUTE = 230, 400
_CHARACTER = re.compile(f"[{tags.UNSPACED}]")
_WORD = re.compile(rf"[^\W{tags.UNSPACED}]+")
_TABLE, _CODE = gettext_noop("Table"), gettext_noop("Program code")
_PICTURE, _BACK = gettext_noop("Picture"), gettext_noop("Back to the text")
_SCHEMES = ("http://", "https://", "mailto:")
_DEEPEST = 6
# Without the second character some systems show an emoji.
_ARROW = "\u21a9\ufe0e"
# Each finds its direction by its own words.
_DIRECTED = {"p", "li", "ul", "ol", "blockquote", "td", "th"} | {f"h{n}" for n in range(2, 7)}

_ALLOWED: dict[str, set[str]] = {
    "a": {"href", "rel", "target", "class", "id", "aria-label"},
    "img": {"class", "src", "alt", "width", "height", "loading", "decoding"},
    "ol": {"start", "dir"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "section": {"class"},
    "pre": {"dir", "tabindex", "role", "aria-label"},
    "sup": set(),
    **{key: {"dir"} for key in ("p", "ul", "blockquote")},
    **{key: {"dir", "id"} for key in ("h2", "h3", "h4", "h5", "h6", "li")},
    **{key: {"dir", "class"} for key in ("td", "th")},
    **{key: set[str]() for key in ("br", "hr", "em", "strong", "s", "code")},
    **{key: set[str]() for key in ("table", "thead", "tbody", "tr")},
}


class Heading(NamedTuple):
    """A line of the contents: where it leads, how deep it is (2 to 6), and its words."""

    id: str
    level: int
    words: str


class Article(NamedTuple):
    """An article as its page shows it.

    `minutes` is how long people read it; `used` are the ids of the pictures that it has within.
    """

    html: Markup
    headings: Sequence[Heading]
    minutes: int
    used: frozenset[str]


Picture = tuple[tuple[str, Any], ...]
_FIELDS = ("id", "url", "thumb", "width", "height", "alt", "placeholder")


def article(content: str, images: Iterable[Mapping[str, Any]] = ()) -> Article:
    """Return an article, whose pictures are those of the post; cached."""
    pictures = tuple(tuple((name, image[name]) for name in _FIELDS) for image in images)
    return _article(get_language(), content, pictures)[1]


@cached(LRUCache(ARTICLES_BYTES, getsizeof=itemgetter(0)), lock=Lock())
def _article(
    language: str | None, content: str, pictures: tuple[Picture, ...]
) -> tuple[int, Article]:
    """Return the size in bytes of the cache entry, and the article."""
    tokens, env = markdown.parse(content)
    _set_levels(tokens)
    headings = []
    for number, (token, words) in enumerate(markdown.headings(tokens), start=1):
        token.attrSet("id", f"part-{number}")
        headings.append(Heading(f"part-{number}", int(token.tag[1]), words))
    renderer = _Renderer(language, [dict(one) for one in pictures])
    made = renderer.render(tokens, _OPTIONS, env)
    clean = nh3.clean(
        made,
        tags=set(_ALLOWED),
        attributes=_ALLOWED,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )
    html = Markup(clean)  # noqa: S704  (sanitized)
    minutes = minutes_of(markdown.prose(tokens))
    found = Article(html, headings, minutes, frozenset(renderer.used))
    return bytes_of(content, html, *(one.words for one in headings)), found


def _set_levels(tokens: Sequence[Token]) -> None:
    """Put headings below that of the page, each at most one level below the one before."""
    above: list[str] = []
    for token in tokens:
        if token.type == "heading_open":
            while above and above[-1] >= token.tag:
                above.pop()
            above.append(token.tag)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(len(above) + 1, _DEEPEST)}"


_OPTIONS = OptionsDict({**commonmark.make()["options"], "breaks": True, "xhtmlOut": False})


def minutes_of(words: str) -> int:
    """Return how many minutes people read a text, at least one."""
    characters = len(_CHARACTER.findall(words))
    number = sum(1 for _ in _WORD.finditer(words))
    return max(1, math.ceil(characters / CHARACTERS_A_MINUTE + number / WORDS_A_MINUTE))


class _Renderer(RendererHTML):
    """Renders one article; `used` collects the ids of the pictures that it shows.

    Public methods other than `render…` are the rules of the tokens with their names.
    """

    def __init__(self, language: str | None, pictures: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self._language = language
        self._pictures: dict[str, Mapping[str, Any]] = {}
        for number, picture in enumerate(pictures, start=1):
            for name in (str(number), picture["id"], picture["thumb"], picture["url"]):
                if name:
                    self._pictures[name] = picture
        # Whether words are within a link, and whether that one is shown.
        self._in_link = self._is_shown = False
        self.used: set[str] = set()

    def renderToken(  # noqa: N802  (a name of the library)
        self, tokens: Sequence[Token], idx: int, options: Any, env: Any
    ) -> str:
        """Render the tag of a token, which finds its direction by its words."""
        token = tokens[idx]
        if token.hidden:
            return ""
        if token.nesting >= 0 and token.tag in _DIRECTED:
            token.attrSet("dir", "auto")
        # The content policy forbids styles.
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).replace("text-align:", "align-"))
        return super().renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<div class="scrolls" {self._scrolls(_TABLE)}>' + self.renderToken(
            tokens, idx, options, env
        )

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self.renderToken(tokens, idx, options, env) + "</div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        code = escape(tokens[idx].content)
        return f'<pre dir="auto" {self._scrolls(_CODE)}><code>{code}</code></pre>\n'

    def _scrolls(self, name: str) -> str:
        """Return the attributes of an element that people scroll with the keyboard."""
        return f'tabindex="0" role="region" aria-label="{escape(translated(self._language, name))}"'

    # --- words ---
    def span(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return link_of(tokens[idx].meta["kind"], tokens[idx].content)

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        href = str(tokens[idx].attrs.get("href", ""))
        self._in_link, self._is_shown = True, href.lower().startswith(_SCHEMES)
        return _opening(href) if self._is_shown else ""

    def link_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        is_shown, self._in_link, self._is_shown = self._is_shown, False, False
        return "</a>" if is_shown else ""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        source = str(token.attrs.get("src", ""))
        words = markdown.words_of(token.children or ())
        picture = self._pictures.get(source)
        if picture is not None:
            self.used.add(picture["id"])
            alt = words or picture["alt"] or translated(self._language, _PICTURE)
            shown = (
                f'<img{placeholder(picture["placeholder"])} src="{escape(picture["url"])}" '
                f'alt="{escape(alt)}" '
                f'width="{picture["width"]}" height="{picture["height"]}" '
                'loading="lazy" decoding="async">'
            )
            if self._in_link:
                return shown
            href = escape(picture["url"])
            return f'<a class="pic" href="{href}" target="_blank" rel="noopener">{shown}</a>'
        if self._in_link or not source.lower().startswith(_SCHEMES):
            return str(escape(words))
        return f"{_opening(source)}{escape(words or source)}</a>"

    # --- footnotes ---
    def footnote_ref(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        number, place = _footnote(tokens[idx])
        return f'<sup><a href="#note-{number}" id="ref-{place}">{number}</a></sup>'

    def footnote_block_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<section class="footnotes"><ol>\n'

    def footnote_block_close(
        self, tokens: Sequence[Token], idx: int, options: Any, env: Any
    ) -> str:
        return "</ol></section>\n"

    def footnote_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<li dir="auto" id="note-{_footnote(tokens[idx])[0]}">'

    def footnote_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</li>\n"

    def footnote_anchor(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        label = escape(translated(self._language, _BACK))
        place = _footnote(tokens[idx])[1]
        return f' <a href="#ref-{place}" aria-label="{_ARROW} {label}">{_ARROW}</a>'


def _footnote(token: Token) -> tuple[int, str]:
    """Return the number of a footnote, and the name of one of the places that refer to it."""
    number = token.meta["id"] + 1
    again = token.meta.get("subId", 0)
    return number, f"{number}-{again}" if again else str(number)


def _opening(href: str) -> str:
    """Return the beginning of a link that a person wrote."""
    return f'<a href="{escape(href)}" {AWAY}>'
