"""Compare home feeds with their definition, person by person, while people use the site.

A page of `queries.home_feed` is compared with the same page of `queries.oracle_feed`, twice:

- from the tables alone, without Redis. Both are read in one snapshot, so every difference counts;
  cached lists would hide lost rows for days. The snapshot is also searched for rows that the inbox
  lacks: a page that pulls their authors anyway does not show the loss.
- as it is served. The two are read one after the other, so a write may come between them, or a
  cache may be updated a moment later. A difference counts only if it is seen CONFIRM times in a
  row, with pauses, and the oracle was the same before and after each comparison. A page that keeps
  changing counts as unsettled.
"""

import itertools
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from accounts.models import User, UserQuerySet
from feeds import queries, tiers
from feeds.audit.explain import Explanation, explain
from feeds.delivery.inbox import sync
from feeds.models import FeedCheck, Post
from feeds.readers import inbox_state
from socialsite.core import db, redis
from socialsite.core.positions import NEWEST, Page, Position

logger = logging.getLogger(__name__)

SAMPLE, PAGES, SIZE = 100, 5, 20
ACTIVE_SHARE = 0.8
PROBES = 5
CONFIRM, ATTEMPTS, PAUSE_SECONDS = 4, 12, 0.5
# The number of short pages in a row that are read on past.
SHORT_MAX = 20
# At most this many differences of a run are explained and logged, each.
EXPLAINED_MAX = 100
KEPT_CHECKS = 100
_dice = random.SystemRandom()

Read = Callable[[User, Position | None, int], Page[Any]]


class Source(StrEnum):
    """A source that is compared with the definition.

    A post is reported for the first source that has it wrong.
    """

    TABLES = "from the tables"
    INBOX = "in the inbox"
    SERVED = "as served"


@dataclass(frozen=True)
class Difference:
    """A difference between a feed and its definition: ids of posts by kind, each explained.

    `page` counts from 1; the inbox has 0. Only the first EXPLAINED_MAX of a run are explained.
    """

    viewer_id: int
    source: Source
    page: int
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    order: tuple[int, ...]
    explanations: tuple[Explanation, ...]

    @property
    def posts(self) -> int:
        """The number of wrong posts."""
        return len(self.missing) + len(self.extra) + len(self.order)

    @property
    def where(self) -> str:
        """The place, as text for people."""
        return f"page {self.page}, {self.source}" if self.page else str(self.source)


@dataclass
class Report:
    """The result of a run; unsettled pages changed on every comparison."""

    viewers: int = 0
    pages: int = 0
    unsettled: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def posts(self) -> int:
        """The total number of wrong posts."""
        return sum(difference.posts for difference in self.differences)


class _Run(NamedTuple):
    """One page: ids of posts in order, and the cursor of the next page, None at the end."""

    ids: tuple[int, ...]
    next: Position | None


def run(
    sample: int = SAMPLE,
    pages: int = PAGES,
    size: int = SIZE,
    progress: Callable[[int], object] = lambda viewer_id: None,
) -> Report:
    """Verify a sample of people as `verify` does, and store the result for the metric."""
    report = verify(sample, pages, size, progress=progress)
    _store(report)
    return report


def verify(
    sample: int = SAMPLE,
    pages: int = PAGES,
    size: int = SIZE,
    viewer_ids: Iterable[int] | None = None,
    progress: Callable[[int], object] = lambda viewer_id: None,
) -> Report:
    """Compare the first `pages` pages of `size` posts of a sample of people, or of the given ones.

    `progress` is called with each person. Nothing is repaired.
    """
    report = Report()
    for viewer_id in choose(sample) if viewer_ids is None else viewer_ids:
        _verify(User.known(viewer_id), pages, size, report)
        report.viewers += 1
        progress(viewer_id)
    wrong = report.posts
    log = logger.warning if wrong else logger.info
    log("feeds of %d people, %d pages, wrong posts %d", report.viewers, report.pages, wrong)
    return report


# --- choosing people ----------------------------------------------------------------------------
def choose(sample: int) -> list[int]:
    """Return the ids of at most `sample` people with open accounts.

    ACTIVE_SHARE of them were seen within ACTIVE_DAYS, recent ones more likely; the others are
    random. Found by random probes of two indexes, at most PROBES a person.
    """
    people = User.objects.active()
    few = list(people.order_by("pk").values_list("pk", flat=True)[: sample + 1])
    if len(few) <= sample:
        return few
    found: dict[int, None] = {}
    active = people.filter(last_seen__gte=tiers.active_since())
    _probe(found, active, "last_seen", round(sample * ACTIVE_SHARE), power=2)
    _probe(found, people, "pk", sample, power=1)
    return list(found)


def _probe(
    found: dict[int, None], people: UserQuerySet, column: str, enough: int, *, power: int
) -> None:
    """Add people until there are enough, each the first at or above a random value of a column.

    With a higher power, values near the column's highest are more likely.
    """
    # The two ends are read from the index: MIN and MAX would read all these people.
    low = people.order_by(column).values_list(column, flat=True).first()
    high = people.order_by(f"-{column}").values_list(column, flat=True).first()
    if low is None or high is None:
        return
    spread = high - low
    ordered = people.order_by(column).values_list("pk", flat=True)
    for _ in range(enough * PROBES):
        if len(found) >= enough:
            return
        below = spread * _dice.random() ** power
        if isinstance(below, float):  # ids are whole numbers
            below = int(below)
        one = ordered.filter(**{f"{column}__gte": high - below}).first()
        if one is not None:
            found[one] = None


# --- comparing ----------------------------------------------------------------------------------
Wrong = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class _Side:
    """One of the two feeds of a person, read page by page; a page may be read repeatedly."""

    def __init__(self, read: Read, viewer: User, size: int) -> None:
        self._feed, self._viewer, self._size = read, viewer, size
        self._cursor: Position | None = None
        self.ended = False

    def page(self) -> _Run:
        """Read the current page."""
        return _Run((), None) if self.ended else self.read(self._cursor)

    def advance(self, run: _Run) -> None:
        """Move to the page after this one."""
        self._cursor, self.ended = run.next, run.next is None

    def read(self, cursor: Position | None) -> _Run:
        """Read a full page; after a short page that has a next one, read on."""
        ids: tuple[int, ...] = ()
        for _ in range(SHORT_MAX):
            page = self._feed(self._viewer, cursor, self._size - len(ids))
            ids += tuple(int(card["id"]) for card in page.items)
            cursor = None if page.next is None else Position.decode(page.next)
            if cursor is None or len(ids) >= self._size:
                break
        return _Run(ids, cursor)


def _verify(viewer: User, pages: int, size: int, report: Report) -> None:
    """Compare the feed of one person; a post with several errors is reported once."""
    reported: set[int] = set()
    for source, number, wrong in _stored(viewer, pages, size):
        _report(report, viewer.pk, source, number, wrong, reported)
    for number, wrong in _walk(viewer, pages, size, _settle):
        report.pages += 1
        _report(report, viewer.pk, Source.SERVED, number, wrong, reported)


def _stored(viewer: User, pages: int, size: int) -> list[tuple[Source, int, Wrong | None]]:
    """Compare a feed, and the inbox, as stored in the tables: all in one snapshot."""
    inbox_state(viewer.pk)  # creates its row now: nothing may be written in the snapshot
    with db.snapshot(), redis.bypassed():
        lost = tuple(sync.missing(viewer.pk, pages * size))
        walked = list(_walk(viewer, pages, size, _read_pages))
    found = [(Source.TABLES, number, wrong) for number, wrong in walked]
    return [*found, (Source.INBOX, 0, (lost, (), ()))]


Settle = Callable[[_Side, _Side], tuple[_Run, _Run, Wrong | None]]


def _walk(
    viewer: User, pages: int, size: int, settle: Settle
) -> Iterator[tuple[int, Wrong | None]]:
    """Walk both feeds in step, each by its own cursors; after a difference, by the oracle's."""
    hybrid = _Side(queries.home_feed, viewer, size)
    oracle = _Side(queries.oracle_feed, viewer, size)
    for number in range(1, pages + 1):
        if hybrid.ended and oracle.ended:
            return
        found, truth, wrong = settle(hybrid, oracle)
        yield number, wrong
        oracle.advance(truth)
        hybrid.advance(truth if wrong is None or any(wrong) else found)


def _report(
    report: Report,
    viewer_id: int,
    source: Source,
    page: int,
    wrong: Wrong | None,
    reported: set[int],
) -> None:
    """Report posts not yet reported for this person: a feed that ends early lacks the next page."""
    if wrong is None:
        report.unsettled += 1
        return
    missing, extra, order = (tuple(i for i in ids if i not in reported) for ids in wrong)
    fresh = dict.fromkeys([*missing, *extra, *order])
    if not fresh:
        return
    reported.update(fresh)
    brief = len(report.differences) >= EXPLAINED_MAX
    reasons = () if brief else tuple(explain(viewer_id, post) for post in fresh)
    report.differences.append(Difference(viewer_id, source, page, missing, extra, order, reasons))
    if not brief:
        _log(report.differences[-1])


def _read_pages(hybrid: _Side, oracle: _Side) -> tuple[_Run, _Run, Wrong | None]:
    """Return both pages and their current differences; None if these are uncertain."""
    found, truth = hybrid.page(), oracle.page()
    if _agree(found, truth):
        return found, truth, ((), (), ())
    wrong = _compare(found, _reach(oracle, found, truth))
    return found, truth, wrong if any(wrong) else None


def _settle(hybrid: _Side, oracle: _Side) -> tuple[_Run, _Run, Wrong | None]:
    """Return both pages and their lasting differences; None if these stay uncertain."""
    seen: _Run | None = None
    streak = 0
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        before = oracle.page()
        found = hybrid.page()
        if _agree(found, before):
            return found, before, ((), (), ())
        after = oracle.page()
        if _agree(found, after):
            return found, after, ((), (), ())
        streak = streak + 1 if before == after == seen else int(before == after)
        seen = after
        if streak >= CONFIRM and any(wrong := _compare(found, _reach(oracle, found, after))):
            return found, after, wrong
    return found, after, None


def _agree(hybrid: _Run, oracle: _Run) -> bool:
    """Return True for equal posts in equal order, without an early end of the feed."""
    return hybrid.ids == oracle.ids and (hybrid.next is not None or oracle.next is None)


def _reach(oracle: _Side, found: _Run, truth: _Run) -> _Run:
    """Return the oracle's page; also the page after it if the feed ends too early."""
    if found.next is not None or truth.next is None:
        return truth
    more = oracle.read(truth.next)
    return _Run(truth.ids + more.ids, more.next)


def _compare(hybrid: _Run, oracle: _Run) -> Wrong:
    """Return the ids of posts that are missing, extra, and out of order or repeated.

    One missing post shifts all posts below it, so only the range that both pages cover is compared.
    """
    shown, should = _places(hybrid), _places(oracle)
    down_to = max(_lowest(shown, hybrid), _lowest(should, oracle))
    missing = [place.id for place in should if place >= down_to and place not in shown]
    extra = [place.id for place in shown if place >= down_to and place not in should]
    order = [lower.id for upper, lower in itertools.pairwise(shown) if lower >= upper]
    return tuple(missing), tuple(extra), tuple(order)


def _places(run: _Run) -> list[Position]:
    """Return the correct positions of a page's posts."""
    posts = Post.objects.filter(pk__in=run.ids)
    known = dict(posts.values_list("pk", "position"))
    return [Position(known.get(ident, 0), ident) for ident in run.ids]


def _lowest(places: list[Position], run: _Run) -> Position:
    """Return the position down to which a page is complete."""
    return Position(0, 0) if run.next is None else min(places, default=NEWEST)


def _log(found: Difference) -> None:
    codes = {one.post_id: ", ".join(one.codes) for one in found.explanations}
    for name in ("missing", "extra", "order"):
        for post in getattr(found, name):
            logger.warning(
                "feed of %d, %s: %s %d (%s)",
                found.viewer_id,
                found.where,
                name,
                post,
                codes[post],
            )


# --- what was found -----------------------------------------------------------------------------
@db.atomic
def _store(report: Report) -> None:
    """Store the result for the metric, and delete the oldest."""
    check = FeedCheck.objects.create(
        finished_at=db.now_ms(),
        viewers=report.viewers,
        pages=report.pages,
        unsettled=report.unsettled,
        differences=report.posts,
    )
    FeedCheck.objects.filter(pk__lte=check.pk - KEPT_CHECKS).delete()


def last() -> FeedCheck | None:
    """Return the newest check; None before the first one."""
    return FeedCheck.objects.order_by("-pk").first()
