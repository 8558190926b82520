"""Read articles, which people write in Markdown: CommonMark with tables, strikethrough, footnotes.

- HTML, indented code and footnotes without a name are off, so that texts which were not meant as
  Markdown look as they were written. A line break is a line break.
- Names, tags and addresses are those of `socialsite.core.text.spans`, except in code and in links.
- Time grows linearly with the length of the text. `markdown-it-py` looks for the end of each
  bracket anew, and nests without end; `_State` pairs the brackets of a paragraph once, and blocks
  nest LEVEL_MAX deep (docs/decisions/0018-markdown.md).

Rendering the result as HTML belongs to `socialsite.pages.articles`.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise
from operator import itemgetter
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

from cachetools import LRUCache, cached
from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_inline import StateInline, entity, image, link
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def, footnote_ref

from socialsite.core.text import emphasis, without_controls
from socialsite.core.text.spans import Kind, Span, is_plain, spans

# Nesting of blocks, such as quotes: deeper blocks are text of the innermost one.
LEVEL_MAX = 12
# Brackets within brackets that may be links, characters of the name of a link or of a footnote.
BRACKETS_MAX, LABEL_MAX = 4, 999
# Cells of all tables of a text. A row has as many cells as the head, so few characters make many.
CELLS_MAX = 20_000
# Texts can be large, so their cache is bounded by bytes; a character takes up to four.
WORDS_BYTES = 2 * 1024 * 1024

# Places where a rule other than that of plain text may begin.
_STOP = re.compile(r"[\n*_~\\`\[]|!(?=\[)|&(?=[#A-Za-z])|<(?=[A-Za-z])")
_BRACKET = re.compile(r"\\.|`+|<[^<>\s]*>|[\[\]]", re.DOTALL)
_UNDERSCORES = re.compile(r"\\.|_+", re.DOTALL)
_RUNS = re.compile("`+")
_AFTER_ADDRESS = re.compile(r"[*`]|~~++|\](?=[(\[])")
# An address without the underscores at its ends.
_INNER = re.compile(r"[^_](?:.*[^_])?", re.DOTALL)
Rule = Callable[[Any, int, int, bool], bool]


class Parsed(NamedTuple):
    """The blocks of a text in order, as markdown-it-py describes them."""

    tokens: list[Token]
    env: dict[str, Any]


class Words(NamedTuple):
    """The words of a text without its Markdown signs.

    `prose` has its words, with an empty line between paragraphs; `signs` has the names and tags
    that count, one a line; `address` is that of the first link, as it is written, "" for none.
    """

    prose: str
    signs: str
    address: str


def parse(text: str) -> Parsed:
    """Return the blocks of a text."""
    env: dict[str, Any] = {}
    return Parsed(_parser().parse(text, env), env)


def read(text: str) -> Words:
    """Return the words of a text; cached by the text."""
    return _read(text)[1]


@cached(LRUCache(WORDS_BYTES, getsizeof=itemgetter(0)), lock=Lock())
def _read(text: str) -> tuple[int, Words]:
    """Return about how many bytes the entry takes, and the words."""
    tokens = parse(text).tokens
    words = Words(prose(tokens), "\n".join(_signs(tokens)), _first_address(tokens))
    return 4 * (len(text) + sum(map(len, words))) + 400, words


def prose(tokens: Iterable[Token]) -> str:
    """Return the words of blocks: paragraphs apart, lines of lists and cells below each other."""
    made: list[str] = []
    depth = 0
    for token in tokens:
        if token.type in _NESTED:
            depth += token.nesting
        words = ""
        if token.type == "inline":
            words = words_of(token.children or ())
        elif token.type == "fence":
            words = token.content.rstrip("\n")
        if words:
            made += ["\n" if depth else "\n\n", words] if made else [words]
    return "".join(made)


_NESTED = {
    *("bullet_list_open", "bullet_list_close", "ordered_list_open", "ordered_list_close"),
    *("blockquote_open", "blockquote_close", "table_open", "table_close"),
    *("footnote_block_open", "footnote_block_close"),
}


def words_of(tokens: Iterable[Token]) -> str:
    """Return the words within a block, with the descriptions of its pictures."""
    made: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline", "span"):
            made.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            made.append("\n")
        elif token.type == "image":
            made.append(words_of(token.children or ()))
    return "".join(made)


def _signs(tokens: Iterable[Token]) -> Iterable[str]:
    for block in tokens:
        for token in block.children or ():
            if token.type == "span" and token.meta["kind"] in (Kind.NAME, Kind.TAG):
                yield token.content


def _first_address(tokens: Iterable[Token]) -> str:
    for block in tokens:
        for token in block.children or ():
            if token.type == "span" and token.meta["kind"] in (Kind.ADDRESS, Kind.BARE):
                is_bare = token.meta["kind"] is Kind.BARE
                return f"https://{token.content}" if is_bare else token.content
            target = str(token.attrs.get("href", "")) if token.type == "link_open" else ""
            if target.lower().startswith(("https://", "http://")):
                return target
    return ""


# --- the parser ---------------------------------------------------------------------------------
@cache
def _parser() -> MarkdownIt:
    """Make the parser, once; it has no state between texts."""
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 100})
    made.inline = _Inline()
    made.helpers = SimpleNamespace(  # type: ignore[assignment]
        parseLinkLabel=_closing,
        parseLinkDestination=parseLinkDestination,
        parseLinkTitle=parseLinkTitle,
    )
    # `socialsite.pages.articles` decides which addresses become links.
    made.validateLink = lambda url: True  # type: ignore[method-assign]
    made.use(footnote_plugin, inline=False)
    made.enable(["table", "strikethrough"])
    made.disable(["code", "html_block", "html_inline"])
    block, inline = made.block.ruler, made.inline.ruler
    within: Any = {"alt": ["paragraph", "reference"]}
    ends: Any = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    block.at("blockquote", partial(_nested, blockquote, LEVEL_MAX), ends)
    block.at("list", partial(_nested, list_block, LEVEL_MAX), ends | {"alt": ends["alt"][:3]})
    block.at("footnote_def", partial(_nested, footnote_def, 1), within)
    block.at("table", _table, within)
    inline.at("text", _text)
    inline.before("text", "span", _span)
    inline.at("entity", _entity)
    inline.at("link", _link)
    inline.at("image", _image)
    inline.at("footnote_ref", _footnote)
    return made


def _nested(rule: Rule, most: int, state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply a rule whose block may have blocks within, unless it is too deep in others."""
    return state.level < most and rule(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply the rule of tables, as long as the text has less than CELLS_MAX cells."""
    if start + 1 >= end:
        return False
    columns = state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1]) + 1
    used = state.env.get("cells", 0)
    rows = (CELLS_MAX - used) // columns
    if rows <= 1 or not table(state, start, min(end, start + rows), silent):
        return False
    if not silent:
        state.env["cells"] = used + columns * (state.line - start)
    return True


class _State(StateInline):
    """The words of one block, with the pairs of brackets and the names and addresses in it."""

    def __init__(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.closing = _pairs(src) if "[" in src else {}
        self.spans = {one.start: one for one in self._spans()}
        self.starts = list(self.spans)

    def _spans(self) -> list[Span]:
        """Return the names, tags and addresses; they end before signs of Markdown."""
        # A replacement has the length of the signs, and no span contains it.
        text = _AFTER_ADDRESS.sub(_quotes, self.src)
        found = spans(text)
        pairs = self._emphasis(found) if "_" in text and not is_plain(text) else []
        if not pairs:
            return found
        changed = list(text)
        for start, end in pairs:
            changed[start:end] = '"' * (end - start)
        return spans("".join(changed))

    def _emphasis(self, found: Sequence[Span]) -> list[tuple[int, int]]:
        """Return the places of the underscores that begin or end emphasis.

        Underscores that begin or end nothing stay parts of words, as do those within an address.
        """
        words = list(self.src)
        for start, end, kind in found:
            if kind not in (Kind.NAME, Kind.TAG):
                words[start:end] = _INNER.sub(_quotes, self.src[start:end])
        opened: list[tuple[int, int]] = []
        pairs: list[tuple[int, int]] = []
        for match in _UNDERSCORES.finditer("".join(words)):
            if match[0][0] == "\\":
                continue
            begins, ends, _ = self.scanDelims(match.start(), False)
            if ends and opened:
                pairs += [opened.pop(), match.span()]
            elif begins:
                opened.append(match.span())
        return pairs

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        """Read a run of signs of emphasis; see `socialsite.core.text.emphasis`."""
        found = super().scanDelims(start, canSplitWord)
        end = start + found.length
        before = self.src[start - 1] if start else " "
        after = self.src[end] if end < self.posMax else " "
        return emphasis.scanned(found, before, after, within_words=canSplitWord)


class _Inline(ParserInline):
    """The parser of the words of a block, with a state of its own."""

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _pairs(text: str) -> dict[int, int]:
    """Return the places of opening brackets that may be links, each with that of its closing one.

    Brackets in code, in `<…>` and behind a backslash have no pair.
    """
    runs: dict[int, list[int]] = {}
    for match in reversed(list(_RUNS.finditer(text))):
        runs.setdefault(len(match[0]), []).append(match.start())
    found: dict[int, int] = {}
    opened: list[int] = []
    end = 0
    for match in _BRACKET.finditer(text):
        start, mark = match.start(), match[0]
        if start < end:
            continue
        if mark == "[":
            opened.append(start)
        elif mark == "]":
            if opened:
                begin = opened.pop()
                if len(opened) < BRACKETS_MAX and start - begin <= LABEL_MAX:
                    found[begin] = start
        elif mark[0] == "`":
            # Behind a backslash, a run is shorter than what `_RUNS` found there.
            same = runs.get(len(mark), [])
            while same and same[-1] <= start:
                same.pop()
            if same:
                end = same[-1] + len(mark)
    return found


def _quotes(found: re.Match[str]) -> str:
    return '"' * len(found[0])


def _closing(state: Any, start: int, _disable_nested: bool = False) -> int:
    """Return the place of the bracket that closes the one at `start`, -1 for none."""
    end: int = state.closing.get(start, -1)
    return end if end < state.posMax else -1


# --- rules of words -----------------------------------------------------------------------------
def _span(state: Any, silent: bool) -> bool:
    """A name, a tag or an address."""
    span = None if state.linkLevel else state.spans.get(state.pos)
    if span is None or span.end > state.posMax:
        return False
    if not silent:
        token = state.push("span", "", 0)
        token.content, token.meta = state.src[span.start : span.end], {"kind": span.kind}
    state.pos = span.end
    return True


def _text(state: Any, silent: bool) -> bool:
    """Plain text, up to the next sign or span."""
    place = begin = state.pos
    end = state.posMax
    if not state.linkLevel:
        number = bisect_left(state.starts, begin)
        end = min([end, *state.starts[number : number + 1]])
    # One character more, which decides whether the last one is a sign.
    while match := _STOP.search(state.src, place, min(end + 1, state.posMax)):
        place = match.start()
        if place >= end:
            break
        bracket = place + (match[0] == "!")
        if state.src[bracket] != "[" or bracket in state.closing:
            end = place
            break
        place = bracket + 1
    if end == begin:
        return False
    if not silent:
        state.append_pending(state.src[begin:end])
    state.pos = end
    return True


def _entity(state: Any, silent: bool) -> bool:
    """A character by its number or name; a text has no control characters this way either."""
    if not entity(state, silent):
        return False
    if not silent:
        state.tokens[-1].content = without_controls(state.tokens[-1].content)
    return True


def _link(state: Any, silent: bool) -> bool:
    """A link; there is none within another."""
    return not state.linkLevel and link(state, silent)


def _image(state: Any, silent: bool) -> bool:
    """A picture; there is none within the description of another."""
    if state.env.get("in_image"):
        return False
    state.env["in_image"] = True
    try:
        return image(state, silent)
    finally:
        state.env["in_image"] = False


def _footnote(state: Any, silent: bool) -> bool:
    """A reference to a footnote; there is none within a link."""
    closing = state.closing.get(state.pos)
    if closing is None or closing >= state.posMax or state.linkLevel:
        return False
    return footnote_ref(state, silent)


def headings(tokens: Sequence[Token]) -> list[tuple[Token, str]]:
    """Return the headings of a text that have words, each as its opening token and its words."""
    pairs = pairwise(tokens)
    found = [(one, words_of(then.children or ())) for one, then in pairs if one.type == _HEADING]
    return [(token, " ".join(words.split())) for token, words in found if words.strip()]


_HEADING = "heading_open"
