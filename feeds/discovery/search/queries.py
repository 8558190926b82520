"""Pages of posts that a question finds, newest first or by relevance.

The index proposes posts that had the terms of the question. Those that the reader may not see, or
whose present words do not match, are left out and replaced by others. Each page reads a bounded
part of the index. A page may therefore be short and still have a `next`, but only if the terms
hardly ever occur together, or most of the proposed posts are left out.

By relevance: the newest WINDOW posts with the rarest term are ranked, then the next ones. So a page
costs the same for rare and for common words, and cursors are exact.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from accounts import queries as accounts_queries
from feeds.cards.card import Card
from feeds.cards.hydration import Hydration
from feeds.discovery.search import indexing
from feeds.discovery.search.cursors import FIRST, Cursor
from feeds.discovery.search.language import Question
from feeds.discovery.search.matching import matches
from feeds.readers import id_of, reader_of
from socialsite.core.db import replicas
from socialsite.core.db.replicas import Freshness
from socialsite.core.positions import MAX_TS_MS, Page, Position
from socialsite.core.search import postings

if TYPE_CHECKING:
    from accounts.request_auth.requests import Viewer

Sort = Literal["top", "new"]
WINDOW = 400
# The first block of a question with several terms, the largest one, and how fast blocks grow.
BLOCK, BLOCK_MAX, GROWTH = 100, 1600, 4
# Blocks that a page reads, proposed posts that it checks, how many of them at once, and how fast
# their number grows.
ROUNDS, CHECKED_MAX, PART, PART_GROWTH = 7, 1600, 100, 3

# The key that orders results; its last number is the id of the post.
Key = tuple[int, ...]


class _Run(NamedTuple):
    """Proposed posts in the order of the results, with their cursors, and where to continue."""

    order: Sequence[Key]
    cursor_of: Callable[[Key], str]
    end: str | None


def newest(viewer: "Viewer", question: Question, cursor: Position | None, size: int) -> Page[Card]:
    """Return a page of the posts that a question finds, newest first."""
    terms = _terms(question)
    if not terms:
        return _NONE
    runs = _blocks(question, terms, cursor, size, replicas.for_reader(id_of(viewer)))
    return _fill(viewer, question, runs, size)


def best(viewer: "Viewer", question: Question, cursor: Cursor | None, size: int) -> Page[Card]:
    """Return a page of the posts that a question finds, the most relevant first."""
    terms = _terms(question)
    if not terms:
        return _NONE
    runs = _windows(question, terms, cursor, replicas.for_reader(id_of(viewer)))
    return _fill(viewer, question, runs, size)


_NONE: Page[Card] = Page([], None)


def _terms(question: Question) -> list[int]:
    """Return the terms to look up; none if no post can match."""
    authors = set(question.wanted.authors)
    if len(authors) > 1:
        return []
    known = [accounts_queries.any_by_name(name) for name in authors]
    ids = [one.pk for one in known if one is not None and one.is_active]
    return indexing.terms_needed(question.wanted, ids) if len(ids) == len(authors) else []


def _fill(viewer: "Viewer", question: Question, runs: Iterator[_Run], size: int) -> Page[Card]:
    """Return a page of the posts that the reader may see and that match."""
    hydration = Hydration(reader_of(id_of(viewer)), listed_only=True)
    kept: list[Card] = []
    # The cursor behind the last post of the page, once it is known.
    last: str | None = None
    reached: str | None = None
    checked = 0
    for number, run in enumerate(runs, start=1):
        reached = run.end
        for part in _parts(run.order, size + 1):
            shown = hydration.cards([key[-1] for key in part])
            for key in part:
                card = shown.get(key[-1])
                if card is None or not matches(question, card):
                    continue
                if len(kept) == size:
                    return Page(kept, last)
                kept.append(card)
                if len(kept) == size:
                    last = run.cursor_of(key)
            checked += len(part)
            if checked >= CHECKED_MAX:
                reached = run.cursor_of(part[-1])
                break
        if checked >= CHECKED_MAX or number == ROUNDS:
            break
    return Page(kept, reached)


def _parts(order: Sequence[Key], first: int) -> Iterator[Sequence[Key]]:
    """Yield the proposed posts in growing parts; usually the first one is enough."""
    start, size = 0, first
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, min(size * PART_GROWTH, PART)


def _blocks(
    question: Question,
    terms: Sequence[int],
    cursor: Position | None,
    size: int,
    freshness: Freshness,
) -> Iterator[_Run]:
    """Yield the proposed posts, newest first, in growing blocks of the index."""
    below, count = cursor or _top(question), size + 1 if len(terms) == 1 else max(BLOCK, size + 1)
    while True:
        block = replicas.read(freshness, postings.block, indexing.INDEX, terms, below, count)
        below = _end(question, block)
        order = sorted((key[1:] for key in _recent(question, block)), reverse=True)
        yield _Run(order, _place_of, None if below is None else below.encode())
        if below is None:
            return
        count = min(count * GROWTH, BLOCK_MAX)


def _place_of(key: Key) -> str:
    ts_ms, ident = key
    return Position(ts_ms, ident).encode()


def _windows(
    question: Question, terms: Sequence[int], cursor: Cursor | None, freshness: Freshness
) -> Iterator[_Run]:
    """Yield the proposed posts, ranked within windows of the index."""
    top, last = cursor or (_top(question), FIRST)
    while True:
        block = replicas.read(freshness, postings.block, indexing.INDEX, terms, top, WINDOW)
        if block.first is None:
            return
        # Posts that are published later do not move the window.
        begin = top or Position(block.first.ts_ms, block.first.id + 1)
        order = sorted((key for key in _recent(question, block) if key < last), reverse=True)
        top, last = _end(question, block), FIRST
        end = None if top is None else Cursor(top, FIRST).encode()
        yield _Run(order, partial(_rank_of, begin), end)
        if top is None:
            return


def _rank_of(begin: Position, key: Key) -> str:
    score, ts_ms, ident = key
    return Cursor(begin, (score, ts_ms, ident)).encode()


def _top(question: Question) -> Position | None:
    """Return the place below which all results are; None for the beginning of the index."""
    return None if question.until == MAX_TS_MS else Position(question.until, 0)


def _recent(question: Question, block: postings.Block) -> list[postings.Match]:
    return [one for one in block.matches if one[1] >= question.since]


def _end(question: Question, block: postings.Block) -> Position | None:
    """Return the place after which the next block begins; None if no more results can follow."""
    return block.end if block.end is not None and block.end.ts_ms >= question.since else None
