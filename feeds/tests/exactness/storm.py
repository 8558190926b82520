"""Threads that write, deliver, trim, lose caches and read; each read is checked at once.

Only writes (posts, deletions, follows, blocks, bans) may change a feed. A read without a concurrent
write must equal the oracle's, page by page, whatever was relayed, delivered, synced, trimmed and
evicted meanwhile. Reads with a concurrent write are counted but not checked.
"""

import contextlib
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import methodcaller

from django.db import connections

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, queries
from feeds.delivery.fanout import sweep
from feeds.delivery.inbox import sync, trim
from feeds.models import Post
from feeds.tests.exactness.model import REFUSED
from feeds.tests.exactness.oracle import all_pages, oracle_pages, shown
from relations import actions as relations_actions
from socialsite.core import redis
from socialsite.core.errors import NotFound, StaleVersion
from socialsite.core.events import enqueue, relay

WRITERS, RELAYS, SWEEPERS, READERS = 2, 2, 2, 3
# Writers begin so many writes, then rest until so many reads began and ended without a write, while
# deliveries go on. By steps, not by seconds: a busy machine may need a second for one read.
WRITES, QUIET_READS = 20, 6
# One of this many evictions empties all of Redis.
FLUSH_EVERY = 20
KEPT_POSTS = 40
NOT_EDITED = (NotFound, StaleVersion)


@dataclass
class Found:
    """The result of a storm; `wrong` and `errors` must be empty."""

    judged: int = 0
    overlapped: int = 0
    done: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Storm:
    """The threads and their shared knowledge of writes.

    They run until enough reads were checked and each job ran often enough, and for some seconds at
    least; a test gives no seconds, as what it finds must not depend on the machine.
    """

    def __init__(
        self, people: list[User], seed: int, seconds: float = 0, *, judged: int = 0, done: int = 0
    ) -> None:
        self.people, self.seed = people, seed
        self.over = time.monotonic() + seconds
        self.judged, self.done = judged, done
        self.lock = threading.Lock()
        self.writing = self.writes = 0
        self.begun = self.quiet = 0  # writes and quiet reads of this period
        self.found = Found()

    @contextlib.contextmanager
    def write(self) -> Iterator[None]:
        """Mark a write as under way until it has returned."""
        with self.lock:
            self.writing += 1
            self.writes += 1
        try:
            yield
        finally:
            with self.lock:
                self.writing -= 1

    def quiet_since(self) -> int | None:
        """Return the number of writes so far; None while one is under way."""
        with self.lock:
            return None if self.writing else self.writes

    def may_write(self) -> bool:
        """Return whether this part of the period allows one more write, and count it."""
        with self.lock:
            if self.begun >= WRITES and self.quiet >= QUIET_READS:
                self.begun = self.quiet = 0
            self.begun += 1
            return self.begun <= WRITES

    # --- jobs of the threads
    # ------------------------------------------------------------------------
    def change(self, dice: random.Random) -> None:
        """Do one write, if this part of the period allows writes."""
        if not self.may_write():
            time.sleep(0.005)
            return
        a, b = dice.sample(self.people, 2)
        kinds = ["publish", "edit"] * 5 + ["follow"] * 4 + ["unfollow", "block", "unblock"] * 2
        what = dice.choice(kinds)
        with self.write(), contextlib.suppress(*REFUSED, *NOT_EDITED):
            if what == "edit":
                self.edit(a, dice)
            elif what == "publish":
                visibility = dice.choice(("public", "quiet", "followers", "self"))
                post = actions.publish(a, content="x", visibility=visibility)
                mine = Post.objects.filter(author=a, is_deleted=False).order_by("-pk")
                for old in list(mine.values_list("pk", flat=True)[KEPT_POSTS:]):
                    actions.delete(a, old)
                if dice.random() < 0.2:
                    actions.delete(a, post.pk)
                if dice.random() < 0.2:
                    actions.publish(b, content="tie", at_ms=post.position)
                if dice.random() < 0.05:
                    accounts_actions.ban(User.objects.get(pk=b.pk))
            else:
                getattr(relations_actions, what)(a, b)
            if dice.random() < 0.2:
                accounts_actions.unban(User.objects.get(pk=b.pk))

    def edit(self, author: User, dice: random.Random) -> None:
        """Edit one of the newest posts, which another thread may edit or delete meanwhile."""
        mine = Post.objects.filter(author=author, is_deleted=False).order_by("-pk")
        newest = list(mine.values_list("pk", "content_row__version")[:5])
        if newest:
            post, version = dice.choice(newest)
            narrower = "self" if dice.random() < 0.1 else None
            words = f"{version} {dice.random()}"
            actions.edit(author, post, version, content=words, visibility=narrower)

    def read(self, dice: random.Random) -> None:
        """Read a feed to its end, and check it if there was no concurrent write."""
        reader, size = dice.choice(self.people), dice.choice([3, 7, 20])
        before = self.quiet_since()
        if before is None:
            time.sleep(0.001)
            return
        pages = all_pages(queries.home_feed, reader, size, shown)
        wanted = oracle_pages(reader, size)
        is_judged = self.quiet_since() == before
        with self.lock:
            self.found.judged += is_judged
            self.quiet += is_judged and self.begun >= WRITES
            self.found.overlapped += not is_judged
            if is_judged and pages != wanted:
                has, oracle = (
                    {post for page in found for post in page} for found in (pages, wanted)
                )
                lacks, more = oracle - has, has - oracle
                self.found.wrong.append(f"{reader}: lacks {lacks}, has {more}: {pages} {wanted}")

    def evict(self, dice: random.Random) -> None:
        """Delete a key, now and then all keys."""
        with contextlib.suppress(redis.RedisDown):  # too busy at the moment
            if dice.randrange(FLUSH_EVERY):
                for _ in range(3):
                    key = redis.call(lambda connection: connection.randomkey())
                    if key is not None:
                        redis.call(methodcaller("delete", key))
            else:
                redis.call(lambda connection: connection.flushdb())
        time.sleep(0.02)

    def tidy(self, dice: random.Random) -> None:
        """Trim an inbox, and sync one that needs no sync."""
        a, b = dice.sample(self.people, 2)
        trim.trim(a.pk)
        sync.sync_inbox(a.pk, b.pk)
        time.sleep(0.01)

    def relay(self, dice: random.Random) -> None:
        """Deliver a few events."""
        relay.relay(dice.randint(1, 5))
        time.sleep(0.005)

    def sweep(self, dice: random.Random) -> None:
        """Run a few chunks."""
        sweep.run(dice.randint(1, 5))
        time.sleep(0.005)

    def run(self) -> Found:
        """Run until enough was done or an error is found."""
        jobs: list[Callable[[random.Random], None]] = [self.evict, self.tidy]
        jobs += [self.change] * WRITERS + [self.relay] * RELAYS + [self.sweep] * SWEEPERS
        jobs += [self.read] * READERS
        self.found.done = {job.__name__: 0 for job in jobs}
        threads = [
            threading.Thread(target=self.repeat, args=(job, f"{self.seed} {number}"))
            for number, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.found

    def is_over(self) -> bool:
        """Return whether the threads may end."""
        found = self.found
        if found.wrong or found.errors:
            return True
        is_enough = found.judged >= self.judged and min(found.done.values()) >= self.done
        return is_enough and time.monotonic() >= self.over

    def repeat(self, job: Callable[[random.Random], None], seed: str) -> None:
        """Repeat one job."""
        dice = random.Random(seed)
        try:
            with enqueue.paused():
                while not self.is_over():
                    job(dice)
                    with self.lock:
                        self.found.done[job.__name__] += 1
        except BaseException:
            self.found.errors.append(traceback.format_exc())
        finally:
            connections.close_all()
