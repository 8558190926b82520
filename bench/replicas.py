"""A search whose index a replica reads: `make bench ARGS="replicas"`.

One search, newest first and by relevance, is measured with the replica and without, in turns: the
time of the page, and the part of it that is spent in queries of the primary. Then threads publish
as fast as they can, and the share of searches of a person that the replica still answers is
counted: each waits until the replica has everything that the primary had at that moment.
"""

import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench import search as bench_search
from bench.support import harness
from deploy.services.replication import pair

AUTHORS, WRITERS, SIZE = 500, 2, 10
WAYS = {"primary": False, "replica": True}


def main() -> int:
    """Run the measurements and report them."""
    options = harness.arguments(
        "A search whose index a replica reads.", {"--posts": 200_000, "--rounds": 200, "--busy": 20}
    )
    with tempfile.TemporaryDirectory(prefix="socialsite-replicas-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # MariaDB may run under another account
        with pair(folder) as servers:
            os.environ["DATABASE_URL"] = servers.url(servers.primary_port)
            os.environ["REPLICA_URLS"] = servers.url(servers.replica_port)
            harness.setup()
            from django.core.management import call_command

            from bench.support import people

            call_command("migrate", verbosity=0)
            report = harness.Report("replicas", options)
            dice = random.Random(options.seed)
            authors = people.make_people(AUTHORS)
            english, _chinese = bench_search.fill(options, authors, dice)
            servers.catch_up()
            words = [english.words[place] for place in (3, 300, 3000)]
            reader, *writers = people.register("reader", 1 + WRITERS)
            servers.catch_up()
            _pages(options, reader, words, report)
            _while_others_write(options.busy, reader, writers, words, report)
            return report.finish()


def _searches(reader: Any, words: list[str]) -> dict[str, Callable[[], object]]:
    from feeds.discovery.search import language, queries

    one, two = language.parse(words[1]), language.parse(f"{words[0]} {words[1]}")
    return {
        "a word, newest": partial(queries.newest, reader, one, None, SIZE),
        "two words, newest": partial(queries.newest, reader, two, None, SIZE),
        "two words, best": partial(queries.best, reader, two, None, SIZE),
    }


@contextmanager
def _with_replicas(wanted: bool) -> Iterator[None]:
    from django.conf import settings
    from django.test import override_settings

    with override_settings(REPLICAS=settings.REPLICAS if wanted else {}):
        yield


def _pages(options: Any, reader: Any, words: list[str], report: harness.Report) -> None:
    from django.db import connection

    spent: Counter[str] = Counter()

    def run(name: str, work: Callable[[], object], wanted: bool) -> None:
        def timed(execute: Any, *args: Any) -> Any:
            began = time.perf_counter()
            try:
                return execute(*args)
            finally:
                spent[name] += time.perf_counter() - began  # type: ignore[assignment]

        with _with_replicas(wanted), connection.execute_wrapper(timed):
            work()

    for name, work in _searches(reader, words).items():
        works: Mapping[str, Callable[[], Any]] = {
            way: partial(run, f"{name}, {way}", work, wanted) for way, wanted in WAYS.items()
        }
        times = harness.interleave(works, rounds=options.rounds, seed=options.seed)
        report.table(times, floor="primary", title=name)
    rows = [
        [name, f"{spent[f'{name}, replica'] / spent[f'{name}, primary']:.2f}"]
        for name in _searches(reader, words)
    ]
    report.rows(rows, ["time in queries of the primary", "replica / primary"])


def _while_others_write(
    seconds: int, reader: Any, writers: list[Any], words: list[str], report: harness.Report
) -> None:
    from django.db import connections

    from feeds import actions
    from socialsite.core.telemetry.instruments import REPLICA_READS

    over, posts = time.monotonic() + seconds, Counter[str]()

    def write(person: Any) -> None:
        try:
            while time.monotonic() < over:
                actions.publish(person, content=f"{words[0]} {words[1]} {posts['published']}")
                posts["published"] += 1
        finally:
            connections.close_all()

    def answered() -> dict[str, int]:
        ways = ("replica", "primary")
        return {one: int(REPLICA_READS.labels(one)._value.get()) for one in ways}

    before = answered()
    threads = [threading.Thread(target=write, args=(one,)) for one in writers]
    for thread in threads:
        thread.start()
    searches, done = list(_searches(reader, words).values()), 0
    while time.monotonic() < over:
        searches[done % len(searches)]()
        done += 1
    for thread in threads:
        thread.join()
    found = {one: number - before[one] for one, number in answered().items()}
    rows = [
        ["posts a second", posts["published"] // seconds],
        ["searches a second", done // seconds],
    ]
    rows += [[f"answered by the {one}", number] for one, number in found.items()]
    report.rows(rows, ["while others publish", ""])
    share = found["replica"] / max(sum(found.values()), 1)
    report.goal("share of a person's searches on the replica", share, at_least=0.9)


if __name__ == "__main__":
    raise SystemExit(main())
