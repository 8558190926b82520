"""The newest posts of many authors: the adaptive pull, its two strategies, the naive query.

There are two million posts of a year by 200,000 authors, a fiftieth of them deleted. A tenth of the
authors, the busy ones, wrote half of the posts. A twentieth, the quiet ones, wrote only in the
oldest tenth of that year. Readers follow 10 to 5,000 busy, ordinary (all but the quiet) or quiet
ones. Each reads the first page and one far down; readers of quiet authors also read from the middle
of the year, where these have no posts for months. Results are compared with the naive query's
before they are timed.
"""

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

from bench.support import harness

FOLLOWS = (10, 100, 1000, 2000, 5000)
KINDS = ("busy", "ordinary", "quiet")
WANT = 26  # for a page of 20: one more, and five that may be hidden
DEEP = 5  # posts for each author followed above a place far down
YEAR = 365 * 86_400_000
# A strategy this many times slower than the other in two calls is not timed.
HOPELESS = 4
FASTER, OVER_BETTER = 25, 1.5
COLUMNS = ("pull", "scan", "by author", "naive")
# The number of follows to which the first of these goals applies.
MANY = 2000


class World:
    """The authors, their posts, and the readers by kind and number of follows."""

    def __init__(self, options: argparse.Namespace) -> None:
        from bench.support import people

        authors = people.make_people(options.authors + 50)[50:]
        quiet = authors[: len(authors) // 20]
        busy = authors[len(quiet) : len(quiet) + len(authors) // 10]
        groups = {"busy": busy, "ordinary": authors[len(quiet) :], "quiet": quiet}
        self._write(options.posts, quiet, busy, authors[len(quiet) + len(busy) :])
        dice = random.Random(options.seed)
        now = int(time.time() * 1000)
        self.readers: dict[tuple[str, int], int] = {}
        follows = {}
        for kind, group in groups.items():
            for count in FOLLOWS:
                reader = people.FIRST_ID + len(self.readers)
                chosen = dice.sample(group, min(count, len(group)))
                self.readers[kind, count] = reader
                follows[reader] = dict.fromkeys(chosen, now)
        people.insert(people.rows_of(follows))
        people.count_all()
        people.execute(
            "ANALYZE TABLE accounts_user, feeds_post, feeds_authorhead, relations_relationship"
        )

    @staticmethod
    def _write(posts: int, quiet: list[int], busy: list[int], others: list[int]) -> None:
        """Write all posts in one statement, at regular times, and the heads from them."""
        from bench.support import people
        from feeds.models import Post

        step = YEAR // posts
        start = int(time.time() * 1000) - posts * step

        def one_of(authors: list[int], salt: str) -> str:
            return f"{authors[0]} + CRC32(CONCAT('{salt}', seq)) % {len(authors)}"

        author = (
            f"IF(seq <= {posts // 10} AND seq % 2, {one_of(quiet, 'q')},"
            f" IF(CRC32(CONCAT('k', seq)) % 2, {one_of(busy, 'b')}, {one_of(others, 'o')}))"
        )
        with people.without_indexes(Post):
            people.execute(
                "INSERT INTO feeds_post"  # noqa: S608
                " (id, author_id, kind, visibility, position, is_deleted, mode)"
                f" SELECT 2 * {people.FIRST_ID} + seq, {author}, 'micro', 'public',"
                f" {start} + seq * {step}, CRC32(CONCAT('d', seq)) % 50 = 0, 0"
                f" FROM seq_1_to_{posts}"
            )
        people.execute(
            "INSERT INTO feeds_authorhead"
            " (author_id, last_position, last_pulled_position, post_count, mode)"
            " SELECT author_id, MAX(position), 0, SUM(NOT is_deleted), 0 FROM feeds_post"
            " GROUP BY author_id ORDER BY author_id"
        )


class Bench:
    """Times every reader at every place, and collects the rows of the table."""

    def __init__(self, options: argparse.Namespace, report: harness.Report) -> None:
        self.options, self.report = options, report
        self.rows: list[list[Any]] = []

    def measure(self, kind: str, count: int, viewer: int) -> None:
        """Time one reader at every place."""
        from feeds.models import Post
        from relations import queries as relations_queries
        from socialsite.core.db.page_filling import newest
        from socialsite.core.positions import Position

        authors = {viewer, *relations_queries.following_ids(viewer)}
        theirs = Post.objects.filter(author_id__in=authors, is_deleted=False)
        deep = newest(theirs, "id", None, count * DEEP)[-1]
        places: dict[str, Position | None] = {"first": None, "deep": deep}
        if kind == "quiet":
            middle = Post.objects.newest_first()[self.options.posts // 2]
            places["gap"] = Position(middle.position, middle.pk)
        for name, place in places.items():
            self._at(f"{count:,} {kind}", name, viewer, authors, place)

    def _at(self, who: str, where: str, viewer: int, authors: set[int], place: Any) -> None:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        from feeds.home import pull
        from feeds.models import Post
        from socialsite.core.db.page_filling import newest

        theirs = Post.objects.filter(author_id__in=authors, is_deleted=False)
        works: dict[str, Callable[[], Any]] = {
            "naive": lambda: newest(theirs, "id", place, WANT),
            "pull": lambda: pull.newest(viewer, authors, place, WANT),
            "scan": lambda: pull.scan(viewer, authors, place, WANT),
            "by author": lambda: pull.by_author(viewer, authors, place, WANT),
        }
        once: dict[str, float] = {}
        expected = works["naive"]()
        for name, work in works.items():
            # Twice, as the first call may read from disk.
            for _ in range(2):
                began = time.perf_counter()
                found = work()
                once[name] = min(once.get(name, 3600), time.perf_counter() - began)
                if found != expected:
                    raise AssertionError(f"{who}, {where}: {name} is wrong")
        with CaptureQueriesContext(connection) as captured:
            works["pull"]()
        strategies = ("scan", "by author")
        best = min(once[name] for name in strategies)
        for name in strategies:
            if once[name] > HOPELESS * best:
                del works[name]
        times = harness.interleave(works, rounds=self.options.rounds, seed=self.options.seed)
        better = min((times[name] for name in strategies if name in times), key=lambda s: s.p50)
        over, faster = times["pull"].over(better), times["naive"].over(times["pull"])

        def ms(name: str) -> str:
            return (
                f"{times[name].p50 * 1000:.2f}" if name in times else f"({once[name] * 1000:.0f})"
            )

        self.rows.append(
            [f"{who}, {where}", len(captured), *map(ms, COLUMNS), f"{over:.2f}", f"{faster:.1f}"]
        )
        self.report.goal(f"{who}, {where}: pull / better strategy", over, at_most=OVER_BETTER)
        if who == f"{MANY:,} busy":
            self.report.goal(f"{who}, {where}: naive / pull", faster, at_least=FASTER)


def main() -> int:
    """Load, measure, report."""
    options = harness.arguments(
        "The newest posts of many authors.",
        {"--posts": 2_000_000, "--authors": 200_000, "--rounds": 41},
    )
    harness.setup()
    from bench.support import people

    people.be_patient()
    report = harness.Report("pull", options)
    began = time.perf_counter()
    world = World(options)
    report.say(f"loaded in {time.perf_counter() - began:.0f} s")
    bench = Bench(options, report)
    for (kind, count), viewer in world.readers.items():
        bench.measure(kind, count, viewer)
    head = ["follows, place", "statements", "pull ms", "scan", "by author", "naive"]
    report.rows(bench.rows, [*head, "pull / better", "naive / pull"])
    report.say("Medians; in brackets the faster of two calls, the other being far cheaper.")
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
