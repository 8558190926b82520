"""Lists, batched relations and follows on a large table: `make bench ARGS="relations"`.

A million follows distributed as in B9, and beside them one author with a million followers. Goals:
every list page and batch of relations takes a constant number of index queries; the last page of
the million takes at most 1.5 times the first; a follow costs the same for any author.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from bench.support import harness

SIZE = 20
KEEN_FOLLOWS, KEEN_FRIENDS, KEEN_BLOCKS = 1000, 500, 1000
RATIO = 1.5


@contextmanager
def _step(report: harness.Report, what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    report.say(f"- {what}: {time.monotonic() - began:.0f} s")


class Bench:
    """The people of this benchmark and the queries about them."""

    def __init__(self, report: harness.Report, options: Any) -> None:
        self.report, self.options = report, options

    def load(self) -> None:
        """Create people and rows; ids ascend: the few first, then followers, then fresh actors."""
        from bench.support import people
        from relations.models import RelationCount, Relationship

        people.be_patient()
        options = self.options
        crowd = int(options.edges / people.PER_PERSON)
        writes = 3 * (options.writes + harness.WARM_UP + 1)
        everybody = max(crowd, options.followers) + KEEN_FOLLOWS + KEEN_BLOCKS
        with _step(self.report, f"{everybody + writes} accounts"):
            ids = people.make_people(5 + everybody + writes)
        self.author, self.known, self.nobody, self.keen, self.reader = ids[:5]
        first = ids[5]
        self.fresh = iter(ids[5 + everybody :])
        with _step(self.report, "drawing the follows"):
            follows = people.follows_like_s1(ids[5 : 5 + crowd], options.edges, options.seed)
            self.report.say(f"- {people.shape(ids[5 : 5 + crowd], follows)}")
            now = int(time.time() * 1000)
            last = ids[5 + everybody - KEEN_FOLLOWS - KEEN_BLOCKS : 5 + everybody]
            liked, disliked = last[:KEEN_FOLLOWS], last[KEEN_FOLLOWS:]
            follows[self.keen] = {other: now - 10 * n for n, other in enumerate(liked)}
            for number, other in enumerate(liked[:KEEN_FRIENDS]):
                follows[other][self.keen] = now - 7 * number
            for number, other in enumerate(liked):
                follows[other][self.known] = now - 9 * number
            for number in range(0, min(crowd, 1000), 3):
                follows[self.reader][first + number] = now - number
            blocks: list[people.Row] = [
                (self.keen, other, people.BLOCKING, None, None, now) for other in disliked
            ]
            blocks += [
                (other, self.keen, people.BLOCKED_BY, None, None, None) for other in disliked
            ]
        with _step(self.report, "rows of relations"), people.without_indexes(Relationship):
            people.insert_followers(self.author, first, options.followers)
            people.insert(itertools.chain(people.rows_of(follows), blocks))
        with _step(self.report, "counters"):
            people.count_all()
            people.execute("ANALYZE TABLE accounts_user")
        rows = Relationship.objects.count()
        counted = RelationCount.objects.get(pk=self.author).followers
        size = people.bytes_of("relations_relationship")
        self.report.say(
            f"- {rows} rows of relations, {size / rows:.0f} bytes each with all indexes; the author"
            f" has {counted} followers"
        )

    # --- reads ----------------------------------------------------------------------------------
    def pages(self) -> dict[str, Callable[..., Any]]:
        """Return the pages to measure; each is a function of a size."""
        from relations import queries as relations_queries
        from relations.models import Relationship

        rows = Relationship.objects.filter(from_user=self.author, fan_since__isnull=False)
        middle = self._position(rows, "fan_since", self.options.followers // 2)
        end = self._position(rows, "fan_since", max(self.options.followers - SIZE - 1, 0))
        keen = Relationship.objects.filter(from_user=self.keen)
        follow_end = self._position(
            keen.filter(followed_at__isnull=False), "followed_at", KEEN_FOLLOWS - SIZE - 1
        )
        friend_end = self._position(keen.filter(relation=4), "followed_at", KEEN_FRIENDS - SIZE - 1)
        block_end = self._position(keen.filter(relation=2), "blocked_at", KEEN_BLOCKS - SIZE - 1)
        author, reader = self.author, self.reader

        def followers(place: Any, viewer: int | None) -> Callable[..., Any]:
            return lambda size=SIZE: relations_queries.followers(author, place, size, viewer)

        def of_keen(read: Any, place: Any) -> Callable[..., Any]:
            if read is relations_queries.blocked:
                return lambda size=SIZE: read(self.keen, place, size)
            return lambda size=SIZE: read(self.keen, place, size, reader)

        return {
            "followers, first page": followers(None, reader),
            "followers, first page, the author's own": followers(None, author),
            "followers, first page, a guest's": followers(None, None),
            "followers, middle": followers(middle, reader),
            "followers, last page": followers(end, reader),
            "following, first page": of_keen(relations_queries.following, None),
            "following, last page": of_keen(relations_queries.following, follow_end),
            "friends, first page": of_keen(relations_queries.friends, None),
            "friends, last page": of_keen(relations_queries.friends, friend_end),
            "blocked, first page": of_keen(relations_queries.blocked, None),
            "blocked, last page": of_keen(relations_queries.blocked, block_end),
        }

    def batches(self) -> dict[str, Callable[..., Any]]:
        """Return the batches of relations to measure, of people with near and distant ids."""
        from relations import queries as relations_queries

        def batch(viewer: int, count: int) -> Callable[..., Any]:
            step = max(1, self.options.followers // count)
            ids = [self.reader + 1 + number * step for number in range(count)]
            return lambda: relations_queries.relations_of(viewer, ids)

        sizes = (1, 20, 100)
        return {
            **{f"a reader's relations to {n}": batch(self.reader, n) for n in sizes},
            **{f"the author's relations to {n}": batch(self.author, n) for n in sizes},
        }

    def measure_reads(self) -> None:
        """Time pages and batches side by side, count their queries, and check their plans.

        The caches are empty before each call, so that all pages do the same work.
        """
        report = self.report
        empty_caches()
        pages, batches = self.pages(), self.batches()
        times = harness.interleave(
            {"SELECT 1": harness.database_ping, **pages, **batches},
            rounds=self.options.rounds,
            seed=self.options.seed,
            between=lambda _: empty_caches(),
        )
        report.table(times, floor="SELECT 1", title=f"Pages of {SIZE} and batches of relations")
        last = times["followers, last page"]
        for first in ("followers, first page", "followers, first page, the author's own"):
            report.goal(f"last page of followers / {first}", last.over(times[first]), at_most=RATIO)
        counts: list[list[Any]] = [
            [
                name,
                *(len(statements(partial(page, size))) for size in (5, 20, 100)),
            ]
            for name, page in pages.items()
        ]
        report.rows(counts, ["queries of", "size 5", "size 20", "size 100"])
        report.goal("queries of a page, at most", max(max(row[1:]) for row in counts), at_most=3)
        report.goal(
            "pages that differ by size", sum(len({*row[1:]}) > 1 for row in counts), exactly=0
        )
        batch_counts = {len(statements(batch)) for batch in batches.values()}
        report.goal("queries of any batch of relations", max(batch_counts), exactly=1)
        self._plans({**pages, **batches})

    def _plans(self, calls: dict[str, Callable[..., Any]]) -> None:
        """Show how MariaDB runs each statement, and check that lists use their indexes."""
        rows, sorts, uncovered, scans = [], 0, 0, 0
        for name, call in calls.items():
            for sql in statements(call):
                if "relations_relationship" not in sql:
                    continue
                for plan in explain(sql):
                    extra = plan["Extra"] or ""
                    rows.append([name, plan["type"], plan["key"], plan["rows"], extra])
                    scans += plan["type"] in ("ALL", "index")
                    if "ORDER BY" in sql and not name.startswith("blocked"):
                        sorts += "filesort" in extra
                        uncovered += "Using index" not in extra
        self.report.rows(rows, ["plan of", "type", "key", "rows", "extra"])
        self.report.goal("statements that scan a table or an index", scans, exactly=0)
        self.report.goal("lists by follow that are sorted", sorts, exactly=0)
        self.report.goal("lists by follow that leave the index", uncovered, exactly=0)

    @staticmethod
    def _position(rows: Any, time: str, after: int) -> Any:
        from socialsite.core.positions import Position

        found = rows.order_by(f"-{time}", "-to_user_id").values_list(time, "to_user_id")
        return Position(*found[after : after + 1][0])

    # --- writes ---------------------------------------------------------------------------------
    def measure_writes(self) -> None:
        """Time follows of people with no, some and a million followers, in turn.

        Each is by somebody who follows nobody yet, so that both rows are new. Later deliveries
        (counters, inbox) and the unfollow that resets the state are timed apart.
        """
        from accounts.models import User
        from relations import actions as relations_actions
        from socialsite.core.events import enqueue, relay

        ids = {"0": self.nobody, "1,000": self.known, "1,000,000": self.author}
        if self.options.followers != 1_000_000:
            ids[f"{self.options.followers:,}"] = ids.pop("1,000,000")
        targets = {name: User.objects.get(pk=ident) for name, ident in ids.items()}
        actors = {name: User(pk=next(self.fresh)) for name in targets}
        after: dict[str, harness.Series] = {}

        def timed(name: str, work: Callable[[], Any]) -> None:
            began = time.perf_counter()
            work()
            series = after.setdefault(name, harness.Series())
            series.times.append(time.perf_counter() - began)

        def put_back(name: str) -> None:
            if name not in targets:
                return
            timed(f"delivery, {name} followers", relay.relay)
            timed(
                f"unfollow, {name} followers",
                lambda: relations_actions.unfollow(actors[name], targets[name]),
            )
            relay.relay()
            actors[name] = User(pk=next(self.fresh))

        def follow(name: str) -> None:
            relations_actions.follow(actors[name], targets[name])

        works: dict[str, Callable[[], Any]] = {"SELECT 1": harness.database_ping}
        works |= {name: partial(follow, name) for name in targets}
        with enqueue.paused():
            times = harness.interleave(
                works, rounds=self.options.writes, seed=self.options.seed, between=put_back
            )
        shown = {"SELECT 1": times["SELECT 1"]}
        shown.update({f"follow, {name} followers": times[name] for name in targets})
        for name in (
            *(f"delivery, {n} followers" for n in targets),
            *(f"unfollow, {n} followers" for n in targets),
        ):
            shown[name] = harness.Series(after[name].times[harness.WARM_UP :])
        self._report_writes(shown, list(targets))

    def _report_writes(self, shown: dict[str, harness.Series], targets: Sequence[str]) -> None:
        """Report the times of writes, and the ratio of the slowest to the fastest of each kind."""
        self.report.table(shown, floor="SELECT 1", title="Writes, by how many follow the person")
        for what in ("follow", "delivery", "unfollow"):
            series = [shown[f"{what}, {name} followers"] for name in targets]
            ratio = max(one.over(other) for one in series for other in series)
            self.report.goal(f"{what}: dearest / cheapest", ratio, at_most=RATIO)


def empty_caches() -> None:
    """Empty Redis."""
    from socialsite.core import redis

    redis.call(lambda client: client.flushdb())


def statements(call: Callable[[], Any]) -> list[str]:
    """Return the SQL that a call runs with empty caches."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    empty_caches()
    with CaptureQueriesContext(connection) as captured:
        call()
    return [query["sql"] for query in captured]


def explain(sql: str) -> list[dict[str, Any]]:
    """Return the database's plan of a statement, one row per table."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def main() -> int:
    """Load, measure, report."""
    options = harness.arguments(
        "Lists, batched relations and follows on a large table.",
        {"--edges": 1_000_000, "--followers": 1_000_000, "--rounds": 300, "--writes": 200},
    )
    harness.setup()
    report = harness.Report("relations", options)
    bench = Bench(report, options)
    bench.load()
    bench.measure_reads()
    bench.measure_writes()
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
