"""An author whose followers have full inboxes, and posts whose rows are inserted directly.

Inboxes have the length that trims leave in the long run: INBOX_MAX to a quarter more, each another
one. So have cached inboxes: they do not all get too long at the same post.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from bench.support import feeds, harness, people

PEOPLE_A_STATEMENT = 400
FILLS = 20  # of 400 entries each take Redis 1 ms, and no command may take long
MINUTE_MS, DAY_MS = 60_000, 86_400_000
Row = tuple[int, int, int, int]  # reader, position, post, author
FULL = (
    "INSERT INTO feeds_inboxentry (user_id, publish_time, post_id, author_id)"
    " SELECT {first} + p.seq, {now} - r.seq * {minute}, {post} + r.seq, {first} + r.seq % 9973"
    " FROM seq_{low}_to_{high} p JOIN seq_1_to_{most} r ON r.seq <= {size} + p.seq * 7 % {spread}"
)


class World:
    """One author (the first person), the followers, all others, and their inboxes."""

    def __init__(self, ids: Sequence[int]) -> None:
        from accounts.models import User
        from feeds.models import InboxEdge, InboxState

        self.fans = ids[1:]
        people.insert_followers(ids[0], ids[1], len(self.fans))
        people.count_all()
        self.author = User.objects.get(pk=ids[0])
        self.now = int(time.time() * 1000)
        InboxEdge.objects.bulk_create(
            (InboxEdge(viewer_id=fan, author_id=ids[0], backfilled_from=0) for fan in self.fans),
            batch_size=feeds.BATCH,
        )
        InboxState.objects.bulk_create(
            (InboxState(viewer_id=fan, inbox_floor=1) for fan in self.fans),
            batch_size=feeds.BATCH,
        )

    def fill_inboxes(self) -> int:
        """Fill every inbox with rows of others' posts; return how many."""
        from django.conf import settings

        size, rows = settings.INBOX_MAX, 0
        spread = max(size // 4, 1)
        for low in range(0, len(self.fans), PEOPLE_A_STATEMENT):
            high = min(low + PEOPLE_A_STATEMENT, len(self.fans)) - 1
            rows += people.execute(
                FULL.format(
                    first=self.fans[0],
                    now=self.now,
                    minute=MINUTE_MS,
                    post=3 * people.FIRST_ID,
                    low=low,
                    high=high,
                    most=size + spread,
                    size=size,
                    spread=spread,
                )
            )
        people.execute("ANALYZE TABLE feeds_inboxentry")
        return rows

    def cache_inboxes(self, entries: int) -> None:
        """Store only the newest entries of each inbox in Redis; `entries` of 0: no cached inbox.

        Up to MAX_CACHED_POST_SIZE entries are all old, so only the size limit keeps them. With more
        entries all are young, so only the hard cap applies.
        """
        from django.conf import settings

        from feeds import cache
        from feeds.cache import timeline
        from feeds.cache.timeline import ABOVE, BOTTOM, CAP, MORE, SLACK, TOP, entry_of
        from socialsite.core import redis
        from socialsite.core.positions import Position

        redis.call(lambda connection: connection.flushdb())
        if not entries:
            return
        small = entries <= settings.MAX_CACHED_POST_SIZE
        newest = self.now - (8 * DAY_MS if small else 0)
        spread = 16 if small else SLACK
        places = [
            Position(newest - number * MINUTE_MS, 3 * people.FIRST_ID + number)
            for number in range(1, entries + spread + 2)
        ]
        found = [entry_of(place) for place in places]
        script = redis.script(timeline.__file__, "timeline_fill")
        for start in range(0, len(self.fans), FILLS):
            batch = redis.Batch()
            for number, fan in enumerate(self.fans[start : start + FILLS], start):
                size = min(entries + number * 7 % spread, CAP + SLACK)
                values: list[Any] = [BOTTOM, MORE]
                for entry in reversed(found[:size]):
                    values += entry
                values += [ABOVE, TOP]
                key = cache.INBOX.key(fan)
                batch.add("SET", key, "!bench")
                batch.add(*script.command([key], ["!bench", cache.INBOX.ttl_ms, *values]))
            batch.run()
        cached = redis.call(lambda connection: connection.dbsize())
        if cached < len(self.fans):
            raise RuntimeError(f"only {cached} of {len(self.fans)} inboxes are in Redis")

    def publish(self, count: int) -> list[int]:
        """Publish posts through the action; return their ids."""
        from feeds import actions as feeds_actions

        return [feeds_actions.publish(self.author, content="hello").pk for _ in range(count)]

    def planned(self, count: int) -> list[int]:
        """Publish posts and write their plans; return the ids of their chunks."""
        from feeds.delivery.fanout import plan
        from socialsite.core.events import enqueue, relay

        with enqueue.paused():
            posts = self.publish(count)
            while relay.relay():
                pass
        return [chunk for post in posts for chunk in plan.open_chunks(post)]


class Floor:
    """The rows of some posts for all followers, as prepared statements of one chunk each."""

    def __init__(self, world: World, posts: int, chunk: int) -> None:
        self.world, self.posts, self.chunk = world, posts, chunk
        self._number = 0

    def statements(self) -> list[str]:
        """Return the statements for new posts."""
        found = []
        self._now = int(time.time() * 1000)
        self._ids = []
        for _ in range(self.posts):
            self._number += 1
            post = 4 * people.FIRST_ID + self._number
            self._ids.append(post)
            for start in range(0, len(self.world.fans), self.chunk):
                some = self.world.fans[start : start + self.chunk]
                rows = (f"({fan},{self._now},{post},{self.world.author.pk})" for fan in some)
                found.append(
                    "INSERT INTO feeds_inboxentry (user_id, publish_time, post_id, author_id)"  # noqa: S608
                    f" VALUES {','.join(rows)}"
                )
        return found

    def run(self) -> float:
        """Insert and commit chunk by chunk; return rows a second. Then delete the rows."""
        from feeds.models import InboxEntry

        statements = self.statements()
        began = time.perf_counter()
        rows = sum(people.execute(statement) for statement in statements)
        took = time.perf_counter() - began
        for start in range(0, len(self.world.fans), self.chunk):
            some = self.world.fans[start : start + self.chunk]
            for post in self._ids:
                InboxEntry.objects.filter(
                    user_id__in=some, publish_time=self._now, post_id=post
                ).delete()
        return rows / took


TRIMS = "trims, in a task behind it"


class Parts:
    """Times of the steps of a chunk, measured between its failpoints."""

    ENDS = ("chunk-leased", "chunk-delivered", "chunk-cached", "chunk-done")
    NAMES = ("lease", "rows", "cached inboxes", "checkpoint", "end of the delivery")

    def __init__(self) -> None:
        self.times = {name: harness.Series() for name in (*self.NAMES, "all of it", TRIMS)}

    def run(self, chunk: int) -> None:
        """Run one chunk, then the trims that it enqueued."""
        from feeds.delivery.fanout import deliver
        from socialsite.core.events import enqueue

        marks = [time.perf_counter()]

        def mark(failpoint: str) -> None:
            if failpoint in self.ENDS:
                marks.append(time.perf_counter())

        with (
            patch.object(deliver, "failpoint", mark),
            patch.object(enqueue, "send_last") as send_last,
        ):
            if not deliver.run_chunk(chunk):
                raise RuntimeError(f"chunk {chunk} was not delivered")
        marks.append(time.perf_counter())
        for name, (began, ended) in zip(self.NAMES, itertools.pairwise(marks), strict=True):
            self.times[name].times.append(ended - began)
        self.times["all of it"].times.append(marks[-1] - marks[0])
        if send_last.called:
            deliver.trim_chunk(chunk)
        self.times[TRIMS].times.append(time.perf_counter() - marks[-1])


def rate(posts: Sequence[int]) -> float:
    """Return the deliveries a second of finished posts, from the first lease to the end."""
    from django.db.models import Max, Min, Sum

    from feeds.delivery.fanout.deliver import LEASE_MS
    from feeds.models import FanOut, FanOutChunk

    chunks = FanOutChunk.objects.filter(fanout_id__in=posts)
    found = chunks.aggregate(first=Min("leased_until"), rows=Sum("delivered"))
    done = FanOut.objects.filter(pk__in=posts).aggregate(last=Max("done_at"))["last"]
    return float(found["rows"] / max(done - (found["first"] - LEASE_MS), 1) * 1000)


def wait_for(check: Callable[[], bool], seconds: float, what: str) -> None:
    """Check a condition every 20 ms until it holds; raises RuntimeError on timeout."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not within {seconds:g} s")
        time.sleep(0.02)


@contextmanager
def sql_alone() -> Iterator[None]:
    """Within the block chunks skip Redis and enqueue no trims."""
    from feeds import cache
    from socialsite.core.events import enqueue

    with patch.object(cache, "deliver", lambda *_args: 0), enqueue.paused():
        yield
