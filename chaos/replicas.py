"""Lives beside a replica that is behind: `make chaos ARGS="replicas --seconds 300 --delay 2"`.

A few people publish, edit, narrow and delete posts, follow, block and rename themselves. Between
the writes each list that a replica may answer is read twice: as the site reads it, and from the
primary alone. What a person gets must be equal. What a guest gets must be in the primary's list as
it is there, and only what changed within the last seconds may be missing. Home feeds must equal
their definition. Meanwhile the replica is killed, frozen, or stops to apply the log.

First the random histories of `chaos.model` run with the same replica.
"""

import logging
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.support import harness
from deploy.services.replication import Pair, pair

PEOPLE, POSTS = 6, 40
WORDS = ("apple", "banana", "cherry", "damson")
# More than there are posts: a list is one page.
SIZE = 100
# The replica falls behind the bound in the third fault, which lasts the longest.
FAULT_SECONDS = {"kill": 4.0, "freeze": 8.0, "stop": 20.0}
CALM_SECONDS = 8.0
# Positions are sampled once a second; the rest is for the read itself.
SLACK_SECONDS = 3.0


def main() -> int:
    """Run both and report them."""
    options = harness.arguments(
        "Lists beside a replica that is behind.",
        {"--seconds": 120, "--delay": 2, "--runs": 25, "--steps": 50},
    )
    with tempfile.TemporaryDirectory(prefix="socialsite-replicas-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # MariaDB may run under another account
        with pair(folder, delay_seconds=options.delay) as servers:
            os.environ["DATABASE_URL"] = servers.url(servers.primary_port)
            os.environ["REPLICA_URLS"] = servers.url(servers.replica_port)
            harness.setup()
            from django.core.management import call_command

            from chaos import model

            call_command("migrate", verbosity=0)  # for a pair without the tables
            logging.disable(logging.WARNING)  # the replica fails on purpose
            report = harness.Report("replicas", options)
            with model.quick():
                with model.at_standstill():
                    wrong = model.lives(options.runs, options.steps, options.seed, report)
                if not wrong:
                    _random_lists(servers, options, report)
            return report.finish()


def _random_lists(servers: Pair, options: Any, report: harness.Report) -> None:
    seconds: int = options.seconds
    lists = Lists(random.Random(options.seed))
    faults = Counter[str]()
    over = time.monotonic() + seconds
    thread = threading.Thread(target=_faults, args=(servers, over, faults))
    thread.start()
    while time.monotonic() < over:
        lists.write()
        lists.deliver()
        for _ in range(3):
            lists.read()
        if lists.dice.random() < 0.1:
            # Without further writes the replica catches up, and answers people too.
            calm = time.monotonic() + lists.dice.uniform(1, 4) * options.delay
            while time.monotonic() < calm:
                lists.read()
                time.sleep(0.05)
    thread.join()
    answered = {"by the replica": _by_the_replica()}
    report.rows([[*row] for row in {**lists.done, **faults, **answered}.items()], ["what", "times"])
    report.examples(lists.wrong)
    report.goal("lists that differ from the primary's", len(lists.wrong), exactly=0)
    report.goal("lists compared", lists.done["people"] + lists.done["guests"], at_least=seconds)
    report.goal("reads that the replica answered", answered["by the replica"], at_least=seconds)
    of_people = lists.done["of people, by the replica"]
    report.goal("those of people", of_people, at_least=seconds / 10)


def _faults(servers: Pair, over: float, done: "Counter[str]") -> None:
    """Let the replica fail in turn until the time is over, and come back each time."""
    while True:
        for name, seconds in FAULT_SECONDS.items():
            if time.monotonic() + CALM_SECONDS + seconds > over:
                return
            time.sleep(CALM_SECONDS)
            done[name] += 1
            if name == "stop":
                servers.tell("STOP SLAVE SQL_THREAD")
            else:
                servers.replica.kill(signal.SIGKILL if name == "kill" else signal.SIGSTOP)
            time.sleep(seconds)
            if name == "stop":
                servers.tell("START SLAVE SQL_THREAD")
            elif name == "kill":
                servers.replica.start()
            else:
                servers.replica.kill(signal.SIGCONT)


@contextmanager
def _primary_only() -> Iterator[None]:
    from django.test import override_settings

    with override_settings(REPLICAS={}):
        yield


def _by_the_replica() -> int:
    from socialsite.core.telemetry.instruments import REPLICA_READS

    return int(REPLICA_READS.labels("replica")._value.get())


class Lists:
    """The people, their posts, and what was compared."""

    def __init__(self, dice: random.Random) -> None:
        from django.contrib.auth.models import AnonymousUser

        from bench.support.people import register

        self.dice, self.guest = dice, AnonymousUser()
        self.people = register("replica", PEOPLE)
        self.done = Counter[str]()
        self.wrong: list[str] = []
        # When each post changed last, by this process's clock; None for the authors.
        self.changed: dict[int, float] = {}

    # --- writes -----------------------------------------------------------------------------
    def write(self) -> None:
        """Make one change, chosen at random; some are refused."""
        from feeds.tests.exactness.model import REFUSED
        from socialsite.core.errors import AppError

        kinds = {self._publish: 6, self._change: 3, self._relate: 2, self._rename: 1}
        (run,) = self.dice.choices([*kinds], [*kinds.values()])
        try:
            run()
        except (AppError, *REFUSED):
            self.done["refused"] += 1
        self.done["writes"] += 1

    def _text(self) -> str:
        one, two, tag = self.dice.choices(WORDS, k=3)
        return f"{one} {two} {self.dice.randrange(10**6)} #{tag}"

    def _publish(self) -> None:
        from feeds import actions

        author, *_ = self.dice.sample(self.people, 1)
        visibility = self.dice.choice(("public", "public", "quiet", "followers", "self"))
        post = actions.publish(author, content=self._text(), visibility=visibility)
        self.changed[post.pk] = time.monotonic()
        if len(self.changed) > POSTS:
            self._delete()

    def _delete(self) -> None:
        from feeds import actions
        from feeds.models import Post

        ident = self.dice.choice([*self.changed])
        self.changed.pop(ident)
        actions.delete(Post.objects.get(pk=ident).author, ident)

    def _change(self) -> None:
        from feeds import actions
        from feeds.models import Post

        if not self.changed:
            return
        if self.dice.random() < 0.4:
            return self._delete()
        post = Post.objects.select_related("content_row").get(pk=self.dice.choice([*self.changed]))
        version = post.content_row.version
        if self.dice.random() < 0.5:
            actions.edit(post.author, post.pk, version, content=self._text())
        else:
            narrower = self.dice.choice(("quiet", "followers", "self"))
            actions.edit(post.author, post.pk, version, visibility=narrower)
        self.changed[post.pk] = time.monotonic()

    def _relate(self) -> None:
        from relations import actions

        one, two = self.dice.sample(self.people, 2)
        run = self.dice.choice([actions.follow, actions.unfollow, actions.block, actions.unblock])
        run(one, two)

    def _rename(self) -> None:
        from accounts import actions

        person = self.dice.choice(self.people)
        actions.edit_profile(person, nickname=f"{self.dice.choice(WORDS)}{person.pk % 97}")

    def deliver(self) -> None:
        """Handle some of the events."""
        from feeds.delivery.fanout import sweep
        from socialsite.core.events import relay

        if self.dice.random() < 0.8:
            while relay.relay() + sweep.run():
                pass

    # --- reads ------------------------------------------------------------------------------
    def read(self) -> None:
        """Compare one list for one reader."""
        from feeds import queries

        person = self.dice.choice(self.people)
        if self.dice.random() < 0.1:
            shown = [one["id"] for one in queries.home_feed(person, None, SIZE).items]
            wanted = [one["id"] for one in queries.oracle_feed(person, None, SIZE).items]
            self.done["home feeds"] += 1
            if shown != wanted:
                self.wrong.append(f"home feed of {person.pk}: {shown} instead of {wanted}")
            return
        name, run = self.dice.choice([*self._lists().items()])
        if self.dice.random() < 0.5:
            self._compare_for_guest(name, run)
        else:
            self._compare(name, run, person)

    def _lists(self) -> dict[str, Callable[[Any], list[Any]]]:
        """Return the lists that a replica may answer, each as a function of its reader."""
        from feeds import queries
        from feeds.discovery import public_posts
        from feeds.discovery.search import language
        from feeds.discovery.search import queries as search
        from feeds.discovery.tags import queries as tags
        from relations import queries as relations_queries

        word, author = self.dice.choice(WORDS), self.dice.choice(self.people)
        tag, question = tags.named(word), language.parse(word)
        return {
            "newest": lambda one: search.newest(one, question, None, SIZE).items,
            "best": lambda one: search.best(one, question, None, SIZE).items,
            "tag": lambda one: tags.posts(one, tag, None, SIZE).items,
            "recommended": lambda one: public_posts.recommended(one, None, SIZE).items,
            "profile": lambda one: queries.profile_posts(one, author.pk, None, SIZE).items,
            "people": lambda one: relations_queries.search_people(one, word, None, SIZE).items,
        }

    def _compare(self, name: str, run: Callable[[Any], list[Any]], reader: Any) -> None:
        before = _by_the_replica()
        found = run(reader)
        self.done["of people, by the replica"] += _by_the_replica() - before
        with _primary_only():
            wanted = run(reader)
        self.done["people"] += 1
        if found != wanted:
            self.wrong.append(f"{name} of {reader.pk}: {found} instead of {wanted}")

    def _compare_for_guest(self, name: str, run: Callable[[Any], list[Any]]) -> None:
        now = time.monotonic()
        found = {one["id"]: one for one in run(self.guest)}
        with _primary_only():
            wanted = {one["id"]: one for one in run(self.guest)}
        self.done["guests"] += 1
        for ident, one in found.items():
            if wanted.get(ident) != one:
                self.wrong.append(f"{name} of a guest: {one} instead of {wanted.get(ident)}")
        self._judge_missing(name, now, wanted.keys() - found.keys())

    def _judge_missing(self, name: str, now: float, missing: set[str]) -> None:
        from socialsite.core.db.replicas import RECENT_SECONDS

        if name == "people":
            self.done["people missing for guests"] += len(missing)
            return
        self.done["posts missing for guests"] += len(missing)
        for ident in missing:
            age = now - self.changed.get(int(ident), now)
            if age > RECENT_SECONDS + SLACK_SECONDS:
                self.wrong.append(f"{name} of a guest lacks {ident}, which is {age:.1f} s old")


if __name__ == "__main__":
    raise SystemExit(main())
