"""Reads and writes at 10,000, 100,000 and a million people: `make bench ARGS="scale"`.

Each number of people has a database of its own, in the shape of `bench.support.shape`, so a person,
a post and a page are alike in all of them: only the tables differ. Each call is for another reader,
author or post, taken at random from the whole table. Redis is emptied before it, except for the
warm home feed, which is read twice.

The databases are filled and measured one after the other, with the memory for tables that MariaDB
was started with, and then with enough for all tables (`--memory`, in MB), which are read before.
`SELECT 1` runs five times beside each call, as the baseline. Reads are also counted: statements,
rows that MariaDB read, pages that it looked up, and pages that it had to read from the disk.

At last the calls run on all databases in turns, with enough memory. Goal: a read at the most people
takes at most 1.3 times as long as at the fewest.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.support import harness
from bench.support.harness import Series

Key = TypeVar("Key")

SIZE = 20
GROWTH = 1.3
PINGS = 5
# The ranks of the words and tags of the questions: enough posts have them on the smallest site.
USUAL_WORDS, USUAL_TAGS = (50, 200), (5, 30)
# The fan-out is that of authors with so many followers.
DELIVERED = (20, 40)
COUNTERS = {
    "rows": "Handler_read_%",
    "pages": "Innodb_buffer_pool_read_requests",
    "from disk": "Innodb_buffer_pool_reads",
}


@dataclass
class Call:
    """A call: `prepare()` is not measured and returns what `run` is called with."""

    prepare: Callable[[], tuple[Any, ...]]
    run: Callable[..., Any]
    is_read: bool = True
    keeps_caches: bool = False


class Site:
    """The people and posts of one database, chosen at random."""

    def __init__(self, population: Any, seed: int) -> None:
        shape = population.shape
        self.population, self.dice = population, random.Random(seed)
        self.followers = Counter(shape.targets)
        self.readers = sorted(set(shape.actors))
        self.authors = sorted(self.followers)
        self.delivered = [
            one for one in self.authors if DELIVERED[0] <= self.followers[one] <= DELIVERED[1]
        ]
        # Half of all posts have no comment: their page is another one.
        self.liked, self.discussed = _with("like_count"), _with("comment_count")

    def person(self, numbers: Sequence[int]) -> Any:
        """Return one of these people, whose row is not read yet."""
        from accounts.models import User

        return User.known(self.population.people.ident(self.dice.choice(numbers)))

    def reader(self) -> Any:
        """Return somebody who follows people."""
        return self.person(self.readers)

    def anybody(self) -> Any:
        """Return any person."""
        return self.person(range(self.population.shape.people))

    def author(self) -> Any:
        """Return somebody with followers and posts."""
        return self.person(self.authors)

    def post(self) -> int:
        """Return a post."""
        return int(
            self.population.posts.ident(self.dice.randrange(len(self.population.shape.writers)))
        )

    # --- reads ----------------------------------------------------------------------------------
    def reads(self) -> dict[str, Call]:
        """Return the reads to measure."""
        from accounts.models import User
        from feeds import queries as feeds
        from interactions import queries as interactions
        from interactions.models import SubjectType
        from relations import queries as relations

        def home(reader: Any) -> Any:
            return feeds.home_feed(reader, None, SIZE)

        def read_before() -> tuple[Any, ...]:
            reader = self.reader()
            home(reader)
            return (reader,)

        def author_for_reader() -> tuple[Any, ...]:
            return self.reader(), self.author()

        def liked_post() -> tuple[Any, ...]:
            return self.reader(), self.dice.choice(self.liked)

        def discussed_post() -> tuple[Any, ...]:
            return self.reader(), self.dice.choice(self.discussed)

        def profile(reader: Any, author: Any) -> Any:
            return relations.profile(reader, User.objects.get(pk=author.pk))

        def state_of(reader: Any, ids: Sequence[int]) -> Any:
            return relations.relations_of(reader.pk, ids)

        def counted(reader: Any, ids: Sequence[int]) -> Any:
            return interactions.decorate(reader, [_card(ident) for ident in ids])

        return {
            "home feed, warm": Call(read_before, home, keeps_caches=True),
            "home feed": Call(lambda: (self.reader(),), home),
            "number of new posts": Call(lambda: (self.reader(),), feeds.new_count),
            "profile": Call(author_for_reader, profile),
            "posts of a person": Call(
                author_for_reader,
                lambda reader, author: feeds.profile_posts(reader, author.pk, None, SIZE),
            ),
            "relations to 20 people": Call(
                lambda: (self.reader(), [self.anybody().pk for _ in range(20)]), state_of
            ),
            "followers": Call(
                author_for_reader,
                lambda reader, author: relations.followers(author.pk, None, SIZE, reader.pk),
            ),
            "following": Call(
                lambda: (self.reader(),),
                lambda reader: relations.following(reader.pk, None, SIZE, reader.pk),
            ),
            "likes and marks of 20 posts": Call(
                lambda: (self.reader(), [self.post() for _ in range(20)]), counted
            ),
            "people who like a post": Call(
                liked_post,
                lambda reader, post: interactions.likers(reader, SubjectType.POST, post),
            ),
            "comments, newest": Call(discussed_post, interactions.comments),
            "comments, most liked": Call(
                discussed_post,
                lambda reader, post: interactions.comments(reader, post, sort="hot"),
            ),
            **self._discoveries(),
        }

    def _discoveries(self) -> dict[str, Call]:
        """Return the reads of tags and of search."""
        from bench.support.population import FIRST_TAG, SYLLABLES, vocabulary
        from feeds.discovery.search import language, paging
        from feeds.discovery.tags import queries as tags
        from feeds.models import Tag
        from relations import queries as relations

        words = vocabulary()

        def asked(sort: Any, low: int, high: int) -> Call:
            def prepare() -> tuple[Any, ...]:
                return self.reader(), language.parse(words[self.dice.randrange(low, high)])

            return Call(
                prepare, lambda reader, question: paging.page(reader, question, sort, "", SIZE)
            )

        def tag() -> tuple[Any, ...]:
            number = self.dice.randrange(*USUAL_TAGS)
            return self.reader(), Tag(pk=FIRST_TAG + number, name=f"tag{number}")

        def part_of_name(letters: int) -> tuple[Any, ...]:
            return self.reader(), "".join(self.dice.choices(SYLLABLES, k=2))[:letters]

        # The same number of posts has this word at each number of people.
        scale = self.population.shape.people // 10_000 or 1
        low, high = (rank * scale for rank in USUAL_WORDS)
        return {
            "posts with a tag": Call(
                tag, lambda reader, found: tags.posts(reader, found, None, SIZE)
            ),
            "search, newest": asked("new", *USUAL_WORDS),
            "search, best": asked("top", *USUAL_WORDS),
            "search, best, as many posts": asked("top", low, high),
            # One in 200 people has such a name, and one in 1,000.
            "search for people, 3 letters": Call(lambda: part_of_name(3), relations.search_people),
            "search for people, 4 letters": Call(lambda: part_of_name(4), relations.search_people),
        }

    # --- writes ---------------------------------------------------------------------------------
    def writes(self) -> dict[str, Call]:
        """Return the writes to measure; the messages to workers are not sent."""
        from feeds import actions as feeds
        from feeds.delivery.fanout import deliver
        from interactions import actions as interactions
        from interactions.models import SubjectType
        from relations import actions as relations
        from socialsite.core.events import relay

        def stranger() -> tuple[Any, ...]:
            reader, author = self.reader(), self.author()
            return (reader, author) if reader.pk != author.pk else stranger()

        def planned() -> tuple[Any, ...]:
            from feeds.delivery.fanout import plan

            author = self.person(self.delivered)
            post = feeds.publish(author, content="hello").pk
            while relay.relay():
                pass
            return (plan.open_chunks(post),)

        def fan_out(chunks: Sequence[int]) -> Any:
            for chunk in chunks:
                if not deliver.run_chunk(chunk):
                    raise RuntimeError(f"chunk {chunk} was not delivered")

        return {
            "publish": Call(
                lambda: (self.author(),),
                lambda author: feeds.publish(author, content="hello"),
                is_read=False,
            ),
            "follow": Call(stranger, relations.follow, is_read=False),
            "like": Call(
                lambda: (self.reader(), SubjectType.POST, self.post()),
                interactions.like,
                is_read=False,
            ),
            "comment": Call(
                lambda: (self.reader(), self.post(), "hello"),
                interactions.comment,
                is_read=False,
            ),
            "fan-out of a post to 20 to 40": Call(planned, fan_out, is_read=False),
        }


def _with(count: str) -> list[int]:
    """Return the posts whose count is not 0."""
    from interactions.models import Subject

    posts = Subject.objects.filter(subj_type=1, **{f"{count}__gt": 0})
    return list(posts.order_by("subj_id").values_list("subj_id", flat=True))


def _card(ident: int) -> Any:
    return {"id": str(ident), "ref": None}


# --- measurements -------------------------------------------------------------------------------
def measure(
    calls: dict[Key, Call],
    rounds: int,
    seed: int,
    before: Callable[[Key], object] = lambda key: None,
) -> dict[Key, tuple[Series, Series]]:
    """Return the times of each call and of the baseline beside it.

    `before(key)` runs before each call, untimed.
    """
    from socialsite.core.events import enqueue

    dice = random.Random(seed)
    found = {name: (Series(), Series()) for name in calls}
    names = list(calls)
    with enqueue.paused():
        for number in range(-harness.WARM_UP, rounds):
            dice.shuffle(names)
            for name in names:
                before(name)
                took = _timed(calls[name])
                if number >= 0:
                    for series, seconds in zip(found[name], took, strict=True):
                        series.times.append(seconds)
    return found


def _timed(call: Call) -> tuple[float, float]:
    given = _prepared(call)
    began = time.perf_counter()
    for _ in range(PINGS):
        harness.database_ping()
    middle = time.perf_counter()
    call.run(*given)
    return time.perf_counter() - middle, (middle - began) / PINGS


def _prepared(call: Call) -> tuple[Any, ...]:
    from socialsite.core import redis

    given = call.prepare()
    if not call.keeps_caches:
        redis.call(lambda client: client.flushdb())
    return given


def count(call: Call, times: int) -> list[float]:
    """Return the means of statements, and of each of COUNTERS, of a call."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    statements, totals = 0, Counter[str]()
    for _ in range(times):
        given = _prepared(call)
        before = _counters()
        connection.queries_log.clear()  # it is of limited length
        with CaptureQueriesContext(connection) as captured:
            call.run(*given)
        statements += len(captured)
        totals.update({name: value - before[name] for name, value in _counters().items()})
    return [statements / times, *(totals[name] / times for name in COUNTERS)]


def _counters() -> dict[str, int]:
    from django.db import connection

    found = {}
    with connection.cursor() as cursor:
        for name, pattern in COUNTERS.items():
            cursor.execute(f"SHOW STATUS LIKE '{pattern}'")
            found[name] = sum(int(value) for _, value in cursor.fetchall())
    return found


class Bench:
    """The measurements at all numbers of people."""

    def __init__(self, report: harness.Report) -> None:
        self.report, self.options = report, report.options
        self.numbers = sorted(int(one) for one in report.options.people.split(","))
        self.sites: dict[int, Site] = {}
        self.ratios: dict[str, dict[int, dict[str, float]]] = {}

    def run(self) -> None:
        """Fill and measure each database, then all of them in turns."""
        from bench.support import population

        self.report.say(f"load average: {_load()}")
        little = population.variable(_POOL)
        enough = max(self.options.memory << 20, little)
        for number in self.numbers:
            self.fill(number)
            for memory in dict.fromkeys((little, enough)):
                population.set_global(_POOL, memory)
                if memory > little:
                    population.read_all()
                self.measure(number, f"{memory >> 20} MB")
            population.set_global(_POOL, little)
        for memory, ratios in self.ratios.items():
            self.growth(
                ratios, "× SELECT 1", f"Growth, {memory} of memory, one site after the other:"
            )
        if len(self.numbers) > 1:
            population.set_global(_POOL, enough)
            self.in_turns()
        self.report.say(f"\nload average: {_load()}")

    def fill(self, number: int) -> None:
        """Create a database of so many people."""
        from bench.support import population
        from bench.support.shape import shape

        began = time.monotonic()
        self.report.say(f"\n## {number:,} people\n")
        made = population.Population(shape(number, self.options.seed), self.options.seed)
        population.create(_name(number))
        made.fill(self.report.say)
        self.sites[number] = Site(made, self.options.seed)
        self.report.say(f"- filled in {time.monotonic() - began:.0f} s")
        found = population.sizes()
        rows = [
            [name, count, f"{size / 1e6:.0f}", f"{size / count:.0f}", f"{size / number:.0f}"]
            for name, count, size in found
        ]
        total = sum(size for _, _, size in found)
        rows.append(["all", "", f"{total / 1e6:.0f}", "", f"{total / number:.0f}"])
        head = ["table", "rows", "MB", "bytes a row", "bytes a person"]
        self.report.rows(rows, head, title=f"Sizes with all indexes, {number:,} people:")

    def measure(self, number: int, memory: str) -> None:
        """Measure the current database."""
        site, options = self.sites[number], self.options
        reads = site.reads()
        times = measure(reads, options.rounds, options.seed)
        self._count(reads, f"{number:,} people, {memory}")
        # Writes come last: they change the tables.
        times |= measure(site.writes(), options.writes, options.seed)
        self._table(times, f"{number:,} people, {memory} of memory for tables:")
        self.ratios.setdefault(memory, {})[number] = {
            call: series.over(floor) for call, (series, floor) in times.items()
        }

    def _table(self, times: dict[str, tuple[Series, Series]], title: str) -> None:
        rows = [
            [
                name,
                len(series.times),
                f"{series.p50 * 1000:.3f}",
                f"{series.p99 * 1000:.3f}",
                f"{floor.p50 * 1000:.3f}",
                f"{series.over(floor):.1f}",
            ]
            for name, (series, floor) in times.items()
        ]
        head = ["call", "n", "p50 ms", "p99 ms", "SELECT 1, ms", "× SELECT 1"]
        self.report.rows(rows, head, title=title)

    def _count(self, reads: dict[str, Call], title: str) -> None:
        rows = [
            [name, *(f"{value:.1f}" for value in count(call, self.options.counted))]
            for name, call in reads.items()
        ]
        head = ["mean of a call", "statements", *COUNTERS]
        self.report.rows(rows, head, title=f"Counted, {title}:")

    def growth(self, found: dict[int, dict[str, float]], unit: str, title: str) -> None:
        """Show figures by number of people, and by how much they grow."""
        few, many = found[self.numbers[0]], found[self.numbers[-1]]
        rows = [
            [name, *(f"{one[name]:.2f}" for one in found.values()), f"{many[name] / few[name]:.2f}"]
            for name in few
        ]
        head = [unit, *(f"{number:,}" for number in found), "growth"]
        self.report.rows(rows, head, title=title)

    def in_turns(self) -> None:
        """Measure the calls on all databases in turns, so that each has the same moment."""
        from bench.support import population

        calls = {number: site.reads() | site.writes() for number, site in self.sites.items()}
        names = {name: call.is_read for name, call in calls[self.numbers[0]].items()}
        found: dict[int, dict[str, tuple[Series, Series]]] = {number: {} for number in calls}
        for number in calls:  # all of them may have been pushed out of the memory
            population.use(_name(number))
            population.read_all()
        for is_read, rounds in ((True, self.options.rounds), (False, self.options.writes)):
            chosen = {
                (number, name): calls[number][name]
                for number in calls
                for name, one in names.items()
                if one is is_read
            }
            times = measure(chosen, rounds, self.options.seed, _database)
            for (number, name), series in times.items():
                found[number][name] = series
        milliseconds = {
            number: {name: series.p50 * 1000 for name, (series, _) in times.items()}
            for number, times in found.items()
        }
        self.growth(milliseconds, "p50 ms", "Growth, all sites in turns:")
        first, *_, last = self.numbers
        for name, call in calls[last].items():
            if call.is_read:
                ratio = milliseconds[last][name] / milliseconds[first][name]
                self.report.goal(f"{name}: {last:,} / {first:,}", ratio, at_most=GROWTH)


def _database(key: tuple[int, str]) -> None:
    from bench.support.people import execute

    execute(f"USE {_name(key[0])}")


def _load() -> str:
    return ", ".join(f"{one:.1f}" for one in os.getloadavg())


_POOL = "innodb_buffer_pool_size"


def _name(number: int) -> str:
    return f"scale_{number}"


def main() -> int:
    """Fill, measure, report."""
    options = harness.arguments(
        __doc__ or "",
        {"--memory": 2048, "--rounds": 200, "--writes": 100, "--counted": 50},
        {"--people": "3000,30000"},
    )
    harness.setup()
    from bench.support import people

    people.be_patient()
    report = harness.Report("scale", options)
    bench = Bench(report)
    bench.run()
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
