"""Pages of posts that a question finds, newest first or by relevance.

The index proposes posts that had the terms of the question. Those that the reader may not see, or
whose present words do not match, are left out and replaced by others. Each page reads a bounded
part of the index; only if the terms hardly ever occur together, or most of what is proposed is left
out, may a page be short and still have a `next`.

By relevance: the newest WINDOW posts with the rarest term are ranked, then the next ones. So a page
costs the same for rare and for common words, and cursors are exact.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from accounts import queries as accounts_queries
from feeds.home.hydration import Card, Hydration
from feeds.home.viewer import reader_of
from feeds.search import indexing
from feeds.search.cursors import FIRST, Cursor, Ranked
from feeds.search.language import Question
from feeds.search.matching import matches
from socialsite.core.http.pagination import MAX_TS_MS, Page, Position
from socialsite.core.search import postings

if TYPE_CHECKING:
    from accounts.tokens.requests import Viewer

Sort = Literal["top", "new"]
WINDOW = 400
# The first block of a question with several terms, the largest one, and how fast blocks grow.
BLOCK, BLOCK_MAX, GROWTH = 100, 1600, 4
# Blocks that a page reads, proposed posts that it looks at, and how many of them at once.
ROUNDS, LOOKED_AT, PART = 7, 1600, 100


class _Run(NamedTuple):
    """Proposed posts in the order of the results, with their cursors; and where to go on."""

    order: Sequence[tuple[Position | Cursor, int]]
    end: Position | Cursor | None


def newest(viewer: "Viewer", question: Question, cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts that a question finds, newest first."""
    terms = _terms(question)
    return _fill(viewer, question, _blocks(question, terms, cursor, size), size) if terms else _NONE


def best(viewer: "Viewer", question: Question, cursor: Cursor | None, size: int) -> Page[Card]:
    """Return a page of the posts that a question finds, the most relevant first."""
    terms = _terms(question)
    return _fill(viewer, question, _windows(question, terms, cursor), size) if terms else _NONE


_NONE: Page[Card] = Page([], None)


def _terms(question: Question) -> list[int]:
    """Return the terms to look up; none if no post can match."""
    authors = set(question.wanted.authors)
    if len(authors) > 1:
        return []
    known = accounts_queries.ids_by_name(authors) if authors else {}
    if known.keys() != authors:
        return []
    return indexing.terms_needed(question.wanted, list(known.values()))


def _fill(viewer: "Viewer", question: Question, runs: Iterator[_Run], size: int) -> Page[Card]:
    """Return a page of the posts that the reader may see and that match."""
    viewer_id = viewer.pk if viewer is not None and viewer.is_authenticated else None
    hydration = Hydration(reader_of(viewer_id))
    kept: list[tuple[Position | Cursor, Card]] = []
    reached: Position | Cursor | None = None
    looked_at = 0
    for number, run in enumerate(runs, start=1):
        reached = run.end
        for part in _parts(run.order, size + 1):
            shown = hydration.cards([ident for _, ident in part])
            cards = [(key, shown[ident]) for key, ident in part if ident in shown]
            kept += [(key, card) for key, card in cards if matches(question, card)]
            looked_at += len(part)
            if len(kept) > size:
                return Page([card for _, card in kept[:size]], kept[size - 1][0].encode())
            if looked_at >= LOOKED_AT:
                reached = part[-1][0]
                break
        if looked_at >= LOOKED_AT or number == ROUNDS:
            break
    return Page([card for _, card in kept], None if reached is None else reached.encode())


def _parts(
    order: Sequence[tuple[Position | Cursor, int]], first: int
) -> Iterator[Sequence[tuple[Position | Cursor, int]]]:
    """Yield the proposed posts in parts; usually the first one is enough."""
    start, size = 0, first
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, PART


def _blocks(
    question: Question, terms: Sequence[int], cursor: Position | None, size: int
) -> Iterator[_Run]:
    """Yield the proposed posts, newest first, in growing blocks of the index."""
    below, count = cursor or _top(question), size + 1 if len(terms) == 1 else max(BLOCK, size + 1)
    while True:
        block = postings.block(indexing.INDEX, terms, below, count)
        below = _end(question, block)
        yield _Run([(one.place, one.place.id) for one in _recent(question, block)], below)
        if below is None:
            return
        count = min(count * GROWTH, BLOCK_MAX)


def _windows(question: Question, terms: Sequence[int], cursor: Cursor | None) -> Iterator[_Run]:
    """Yield the proposed posts, ranked within windows of the index."""
    top, last = cursor or (_top(question), FIRST)
    while True:
        block = postings.block(indexing.INDEX, terms, top, WINDOW)
        if block.first is None:
            return
        # Posts that are published later do not move the window.
        begin = top or Position(block.first.ts_ms, block.first.id + 1)
        ranks = (Ranked(one.score, one.place) for one in _recent(question, block))
        order = sorted((rank for rank in ranks if rank < last), reverse=True)
        top, last = _end(question, block), FIRST
        keys = [(Cursor(begin, rank), rank.place.id) for rank in order]
        yield _Run(keys, None if top is None else Cursor(top, FIRST))
        if top is None:
            return


def _top(question: Question) -> Position | None:
    """Return the place below which all results are; None for the beginning of the index."""
    return None if question.until == MAX_TS_MS else Position(question.until, 0)


def _recent(question: Question, block: postings.Block) -> list[postings.Match]:
    return [one for one in block.matches if one.place.ts_ms >= question.since]


def _end(question: Question, block: postings.Block) -> Position | None:
    """Return where to go on after a block; None if all results are above it."""
    return block.end if block.end is not None and block.end.ts_ms >= question.since else None
