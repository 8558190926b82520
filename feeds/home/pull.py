"""The newest posts of a set of authors, read in the cheapest way (C13, E7, E8, T33, T38).

A reading goes down the total order (position, id) in steps. A step finds every post of the authors
between its own start and the start of the next step. So for any sequence of step kinds, the posts
found are the complete beginning of the answer:

- *scan*: rows of everybody from `ix_newest`, filtered by the authors. The cost of a row does not
  depend on the number of follows: best if the authors write a large part of all posts.
- *by author*: first the authors whose newest post is newest, then their posts from `ix_outbox`.
  Costs a look-up for each author, however long ago they wrote.
- *at once*: `author_id IN (…) ORDER BY … LIMIT`, which reads all posts of the authors. Only used if
  the other two do not advance: many authors with posts in one millisecond, or with deleted ones.

It relies on one fact: no post is above its author's `AuthorHead.last_position`, deleted or not. The
head may be above all of them.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from django.db import connection

from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.positions import Position

# Costs in rows of a scan: the fixed cost of reading by author, the cost of each of the newest
# authors, and of each later one. Only their ratios matter; `bench/pull.py` checks them.
BY_AUTHOR, HEAD, HEAD_BELOW = 1500, 6, 10
# Above this cost of reading by author, a scan without hits costs little in comparison. Its first
# step has PROBE rows, a later one at least STEP or as many as were seen before. It is abandoned
# after a 64th of that cost, or SAMPLE_MAX rows, at the earliest.
WORTH_A_PROBE = 3000
PROBE, STEP, SAMPLE_MAX = 64, 192, 512
# Rows of one statement, and of all scans of a reading that finds its end in another way.
SCAN_ROWS, SCAN_MAX = 16_384, 65_536
# Up to this many authors are read without finding those with the newest posts first.
FEW = 8
# Extra authors beyond the number wanted, as the newest post of some may be deleted; and the factors
# by which the extra grows if they were too few.
SPARE, WIDER = 4, (1, 4, 16)
# A separate SELECT for one author costs as much as reading this many of their posts.
OWN_SELECT = 25
OWN_SELECTS_MAX = 64
# Author ids in a statement: more are read from the follows, or in parts.
IDS_MAX = 256
IDS_IN_PARTS = 5000

Row = tuple[Any, ...]


def newest(
    viewer_id: int, authors: Collection[int], cursor: Position | None, size: int
) -> list[Position]:
    """Return the first `size` positions after the cursor of these authors' posts, newest first.

    Fewer only if there are no more. Deleted posts are excluded. `authors` are the viewer and people
    whom the viewer follows; posts of an author unfollowed meanwhile may be missing.
    """
    reading = _Reading(viewer_id, authors, cursor, size)
    cost = reading.cost_by_author()
    if cost >= WORTH_A_PROBE:
        reading.scan(min(cost, SCAN_MAX))
    reading.by_author()
    return reading.found[:size]


def scan(
    viewer_id: int, authors: Collection[int], cursor: Position | None, size: int
) -> list[Position]:
    """Return the same by scanning alone, if necessary down to the first post."""
    reading = _Reading(viewer_id, authors, cursor, size)
    reading.scan(None)
    return reading.found[:size]


def by_author(
    viewer_id: int, authors: Collection[int], cursor: Position | None, size: int
) -> list[Position]:
    """Return the same without scanning."""
    reading = _Reading(viewer_id, authors, cursor, size)
    reading.by_author()
    return reading.found[:size]


def at_once(
    viewer_id: int, authors: Collection[int], cursor: Position | None, size: int
) -> list[Position]:
    """Return the same by the one obvious query."""
    reading = _Reading(viewer_id, authors, cursor, size)
    reading.at_once()
    return reading.found[:size]


def outboxes(author_ids: Sequence[int], size: int) -> dict[int, list[Position]]:
    """Return the first `size` posts of each author, without deleted ones, in one query."""
    select = (
        f"SELECT author_id, position, id FROM feeds_post{_by('ix_outbox')} WHERE author_id = %s"  # noqa: S608
        " AND NOT is_deleted ORDER BY position DESC, id DESC LIMIT %s"
    )
    values = [value for author in author_ids for value in (author, size)]
    found: dict[int, list[Position]] = {author: [] for author in author_ids}
    for author, *place in _rows(db.united([select] * len(author_ids)), values):
        found[author].append(Position(*place))
    for places in found.values():
        places.sort(reverse=True)  # a union keeps no order
    return found


class _Head(NamedTuple):
    """An author, an upper bound for their posts below the place, and the number of their posts.

    The number is None if unknown.
    """

    author: int
    top: int
    posts: int | None


class _Reading:
    """The positions found so far, and the place below which nothing was read yet."""

    def __init__(
        self, viewer_id: int, authors: Collection[int], cursor: Position | None, size: int
    ) -> None:
        self.viewer_id = viewer_id
        self.authors = frozenset(authors)
        self.size = size
        self.place = cursor
        self.found: list[Position] = []
        self.ended = not self.authors

    @property
    def missing(self) -> int:
        """Return how many positions are still missing: 0 at the end."""
        return 0 if self.ended else max(self.size - len(self.found), 0)

    def cost_by_author(self) -> int:
        """Estimate the cost of reading by author, in rows of a scan."""
        if len(self.authors) <= FEW:
            return 0
        return BY_AUTHOR + len(self.authors) * (HEAD if self.place is None else HEAD_BELOW)

    # --- scan -----------------------------------------------------------------------------------
    def scan(self, worth: int | None) -> None:
        """Scan while the expected number of rows is at most `worth`; None: no limit."""
        # Before this many rows, the hits are too few for an estimate.
        sample = min((worth or 0) // 64, SAMPLE_MAX)
        rows, seen = PROBE, 0
        while self.missing and (worth is None or seen < worth):
            self._scan(rows)
            seen += rows
            hits = len(self.found)
            # No hit at all counts as half a hit.
            ahead = int(self.missing * seen / (hits or 0.5))
            if worth is not None and ahead > worth and seen >= sample:
                break
            # Few hits must not cause a big leap. Steps grow, so that there are few of them.
            leap = max(seen * (1 + hits), sample - seen)
            rows = min(max(seen // 4, ahead + STEP // 2, STEP), leap, SCAN_ROWS)

    def _scan(self, rows: int) -> None:
        """Read the next rows of everybody."""
        older, params = _older(self.place)
        read = _rows(
            f"SELECT position, id, author_id, is_deleted FROM feeds_post{_by('ix_newest')}"  # noqa: S608
            f"{' WHERE ' if older else ''}{older} ORDER BY position DESC, id DESC LIMIT %s",
            [*params, rows],
        )
        self.found += [
            Position(ts, post)
            for ts, post, author, is_deleted in read
            if author in self.authors and not is_deleted
        ]
        self.place = Position(*read[-1][:2]) if read else self.place
        self.ended = len(read) < rows

    # --- by author ------------------------------------------------------------------------------
    def by_author(self) -> None:
        """Read the rest of the wanted positions by author."""
        if self.missing and len(self.authors) <= FEW:
            self._take(self._posts([_Head(author, 0, None) for author in self.authors], 0), None)
        for wider in WIDER:
            if self.missing:
                self._by_heads((self.missing + SPARE) * wider)
        if self.missing:
            self.at_once()

    def _by_heads(self, count: int) -> None:
        """Read all posts above the newest possible post of authors beyond the first `count`."""
        heads, beyond = self._heads(count)
        low = beyond + 1
        found = self._posts(heads, low) if self.place is None or low <= self.place.ts_ms else []
        if not beyond:
            self._take(found, None)
        elif self.place is None:
            self._take(found, Position(low, 0))
        else:
            self._take(found, min(self.place, Position(low, 0)))

    def _heads(self, count: int) -> tuple[list[_Head], int]:
        """Return the `count` authors that may have the newest posts, and the top of all others.

        The top is 0 if there are no others. If read from the follows the number may be lower, and
        the viewer is always included.
        """
        of_follows = self._are_most_follows
        if of_follows:
            who, ids = relations_queries.following_ids(self.viewer_id).query.sql_with_params()
            limit = 2 * count  # some of the follows are not among the authors
        else:
            who, ids, limit = _places(self.authors), tuple(self.authors), count + 1
        top, at = "h.last_position", list[int]()
        if self.place is not None:
            at = [self.place.ts_ms] * 2
            top = (
                f"CASE WHEN {top} <= %s THEN {top} ELSE (SELECT p.position FROM feeds_post p"  # noqa: S608
                f"{_by('ix_outbox')} WHERE p.author_id = h.author_id AND p.position <= %s"
                " ORDER BY p.position DESC, p.id DESC LIMIT 1) END"
            )
        rows = _rows(
            f"SELECT h.author_id, {top} AS top, h.post_count FROM feeds_authorhead h"  # noqa: S608
            f" WHERE h.author_id IN ({who}) ORDER BY top DESC LIMIT %s",
            [*at, *ids, limit],
        )
        # Authors without posts, or with posts above the place only, come last.
        heads = [_Head(*row) for row in rows if row[1]]
        beyond = heads[-1].top if len(heads) == limit else 0
        if of_follows:
            heads = [head for head in heads if head.author in self.authors]
        if len(heads) > count:
            beyond = heads[count].top
        heads = heads[:count]
        if of_follows and self.viewer_id in self.authors:
            heads.append(_Head(self.viewer_id, 0, None))
        return heads, beyond

    @cached_property
    def _are_most_follows(self) -> bool:
        """Return True if scanning all follows is cheaper than listing the authors' ids."""
        count = len(self.authors)
        if count <= IDS_MAX:
            return False
        return (
            count > IDS_IN_PARTS
            or relations_queries.counts(self.viewer_id)["following"] <= 2 * count
        )

    def _posts(self, heads: Sequence[_Head], low: int) -> list[Position]:
        """Return the first posts of some authors after the place, at `low` (ms) or above."""
        missing = self.missing

        def weight(head: _Head) -> float:
            return float("inf") if head.posts is None else head.posts

        # An author with many posts is read up to the number wanted, the others all together.
        ordered = sorted(heads, key=weight, reverse=True)
        many = [head for head in ordered if weight(head) > missing + OWN_SELECT][:OWN_SELECTS_MAX]
        rest = [head.author for head in ordered[len(many) :]]
        groups = [[head.author] for head in many] + ([rest] if rest else [])
        older, params = _older(self.place, low)
        selects, values = [], []
        for group in groups:
            whose = f"IN ({_places(group)})" if len(group) > 1 else "= %s"
            selects.append(
                f"SELECT position, id FROM feeds_post{_by('ix_outbox')} WHERE author_id {whose}"  # noqa: S608
                f"{' AND ' if older else ''}{older} AND NOT is_deleted"
                " ORDER BY position DESC, id DESC LIMIT %s"
            )
            values += [*group, *params, missing]
        if not selects:
            return []
        statement = selects[0]
        if len(selects) > 1:
            statement = f"{db.united(selects)} ORDER BY position DESC, id DESC LIMIT %s"
            values.append(missing)
        return [Position(*row) for row in _rows(statement, values)]

    # --- at once --------------------------------------------------------------------------------
    def at_once(self) -> None:
        """Read the rest by one query, or by few if there are thousands of authors."""
        ids = sorted(self.authors)
        found: list[Position] = []
        for start in range(0, len(ids), IDS_IN_PARTS):
            part = ids[start : start + IDS_IN_PARTS]
            found += self._posts([_Head(author, 0, 0) for author in part], 0)
        self._take(sorted(found, reverse=True), None)

    def _take(self, found: Sequence[Position], place: Position | None) -> None:
        """Add the positions of a step and continue from `place`; None: nothing is left."""
        self.found += found[: self.missing]
        self.place = place
        self.ended = place is None


def _older(place: Position | None, low: int = 0) -> tuple[str, list[int]]:
    """Return the condition for posts after a place and not below `low`, and its values."""
    parts, values = [], []
    if place is not None:
        parts.append("position <= %s AND (position < %s OR id < %s)")
        values += [place.ts_ms, place.ts_ms, place.id]
    if low:
        parts.append("position >= %s")
        values.append(low)
    return " AND ".join(parts), values


def _places(values: Collection[object]) -> str:
    return ", ".join(["%s"] * len(values))


def _by(index: str) -> str:
    """Force MySQL to use an index: it may prefer to read all posts in order, or to sort."""
    return f" FORCE INDEX ({index})" if db.is_mysql() else ""


def _rows(sql: str, values: Iterable[int]) -> list[Row]:
    """Run a statement whose text consists of constants; values are passed as parameters.

    The ORM would take as long to build these statements as the database to run them.
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return list(cursor.fetchall())
