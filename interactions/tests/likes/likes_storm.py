"""A history of likes, readers and losses: the likes shown to everybody equal the table.

`LIKED_MAX` and `MINE_MAX` are to be small, so that caches are cut off and counts cross thresholds.
"""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

from redis.exceptions import ConnectionError as RedisConnectionError

from interactions import actions, cache, queries
from interactions.models import CountChange, Like, SubjectType
from interactions.queries.likes import LikedComments
from interactions.tests.helpers import drift
from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.events import relay

POST, COMMENT = SubjectType.POST, SubjectType.COMMENT


@dataclass
class Found:
    """What a history showed."""

    steps: int = 0
    looks: int = 0
    flags: int = 0
    # What happened after a reader had read the database and before what was read was cached.
    between: int = 0
    wrong: list[Any] = field(default_factory=list)
    drift: list[Any] = field(default_factory=list)


class Storm:
    """Steps on some people, posts and comments; `between` runs in the middle of a fill."""

    def __init__(self, people: Sequence[Any], posts: Sequence[int], seed: int) -> None:
        self.people, self.posts = people, posts
        self.dice = random.Random(seed)
        self.found = Found()
        self.comments = [
            actions.comment(people[number % len(people)], posts[number % 2], "hello").pk
            for number in range(10)
        ]
        self.threads = [queries.thread_of(comment) or 0 for comment in self.comments[:2]]
        self.subjects = [(POST, ident) for ident in posts]
        self.subjects += [(COMMENT, ident) for ident in self.comments]
        self._waiting: list[Callable[[], Any]] = []

    def run(self, steps: int, progress: Callable[[int], Any] = lambda done: None) -> Found:
        """Take so many steps, then drain."""
        kinds = [self.click] * 8 + [self.compare] * 8 + [self.compare_during_changes] * 4
        kinds += [self.evict, self.die] * 3 + [self.flush, self.click_without_redis, self.drain]
        with self._fills_interrupted():
            for step in range(1, steps + 1):
                self.dice.choice(kinds)()
                self.found.steps += 1
                if step % 200 == 0:
                    self.found.drift += drift()
                progress(step)
            self.drain()
        self.found.drift += [*drift(), *CountChange.objects.all()]
        for person in self.people:
            self.compare(person)
        return self.found

    # --- steps --------------------------------------------------------------------------------
    def click(self, person: Any = None) -> None:
        act = self.dice.choice([actions.like, actions.like, actions.unlike])
        act(person or self.dice.choice(self.people), *self.dice.choice(self.subjects))

    def compare(self, person: Any = None) -> None:
        reader = person or self.dice.choice([*self.people, None])
        shown = self._shown(reader)
        rows = Like.objects.none() if reader is None else Like.objects.filter(user_id=reader.pk)
        liked = set(rows.values_list("subj_type", "subj_id"))
        self.found.looks += 1
        self.found.flags += len(shown)
        for subject, flag in shown.items():
            if flag != (subject in liked):
                self.found.wrong.append((self.found.steps, reader, subject, flag))

    def compare_during_changes(self) -> None:
        reader = self.dice.choice(self.people)
        who = (reader, reader, None)
        clicks = [partial(self.click, self.dice.choice(who)) for _ in range(3)]
        self._waiting = clicks + [self.flush] * (self.dice.random() < 0.2)
        self._shown(reader)
        self._waiting = []

    def evict(self) -> None:
        person, post = self.dice.choice(self.people), self.dice.choice(self.posts)
        thread = self.dice.choice(self.threads)
        keys = [cache._mine(person.pk), cache._liked(person.pk, thread), cache.COUNTS.key(post)]
        redis.invalidate([self.dice.choice(keys)])

    def flush(self) -> None:
        redis.call(lambda connection: connection.flushdb())

    def click_without_redis(self) -> None:
        def refuse() -> None:
            raise RedisConnectionError("dead")

        with mock.patch.object(redis, "client", refuse):
            self.click()
            self.compare()
        redis.breaker.reset()

    def die(self) -> None:
        """Click, and die between the commit and what follows it; the event makes up for that."""
        with mock.patch.multiple(cache, invalidate=mock.DEFAULT, invalidate_liked=mock.DEFAULT):
            self.click()
        self.drain()

    def drain(self) -> None:
        while relay.relay():
            pass

    # --- parts --------------------------------------------------------------------------------
    def _shown(self, reader: Any) -> dict[tuple[int, int], bool]:
        """What the pages of the posts and of one thread say that a reader likes."""
        bare: list[Any] = [{"id": str(ident), "ref": None} for ident in self.posts]
        cards = queries.decorate(reader, bare)
        shown: dict[tuple[int, int], bool] = {
            (POST, int(card["id"])): card["liked"] for card in cards
        }
        number = self.dice.randrange(2)
        if self.dice.random() < 0.1:
            page = queries.comments(reader, self.posts[number], None, 20, "hot")
            return shown | {(COMMENT, int(card["id"])): card["liked"] for card in page.items}
        ids = self.comments[number::2]
        reads.run(asked := LikedComments(reader and reader.pk, self.threads[number], ids))
        liked = asked.value
        return shown | {(COMMENT, ident): ident in liked for ident in ids}

    @contextlib.contextmanager
    def _fills_interrupted(self) -> Iterator[None]:
        """Let what waits happen when a reader has read the database and has not filled yet."""
        fill, fill_counts = cache._fill, cache.COUNTS.fill

        def interrupt() -> None:
            waiting, self._waiting = self._waiting, []
            self.found.between += len(waiting)
            for act in waiting:
                act()

        def late(*args: Any) -> None:
            interrupt()
            fill(*args)

        def late_counts(*args: Any) -> None:
            interrupt()
            fill_counts(*args)

        with (
            mock.patch.object(cache, "_fill", late),
            mock.patch.object(cache.COUNTS, "fill", late_counts),
            mock.patch.object(redis.backlog, "PAUSE_SECONDS", 3600),
        ):
            yield
