"""Deliveries a second through Celery, compared with raw INSERTs; and the delay for a follower.

One author has 5,000 followers whose inboxes are full in the table and cached in Redis. A Celery
worker has two threads. The floor is one process that inserts the same rows as prepared multi-row
statements, a chunk each, and commits after each. A turn of the fan-out lasts from the first lease
to the end of the last post's fan-out, in rows a second. Then the steps of a chunk are timed one
after the other in this process. Last comes the time from a publish, over HTTP on the full stack,
until a connected follower got the hint over the socket and fetched a feed with the post.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from bench.support import deliveries, harness
from deploy.services import site_processes
from deploy.stack import Stack
from socialsite.core.runtime import keys

SETTLE_SECONDS = 0.3
PATIENCE_SECONDS = 60
GOALS = {"SQL alone": 0.9, "fan-out, 100 cached": 0.40, "fan-out, 400 cached": 0.25}
LATENCY_GOAL = 0.3
LATENCY_FOLLOWERS, CONNECTED = 1000, 5


@contextlib.contextmanager
def worker(chunk: int) -> Iterator[None]:
    """Run a Celery worker with two processes; it writes the plans, so it gets the chunk size."""
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as folder:
        service = site_processes.celery_worker({**os.environ, "FANOUT_CHUNK": str(chunk)})
        service.log = Path(folder) / "worker.log"
        service.start()
        try:
            yield
        finally:
            service.stop()


def delivered(world: deliveries.World, posts: int) -> float:
    """Publish and wait until everything is delivered; return deliveries a second."""
    from feeds.models import FanOut

    published = world.publish(posts)
    waiting = FanOut.objects.filter(pk__in=published).exclude(state=FanOut.State.DONE)
    deliveries.wait_for(lambda: not waiting.exists(), PATIENCE_SECONDS, "fan-out")
    return deliveries.rate(published)


def nothing_waits() -> bool:
    """Return True if the broker has no message: all trims have been started too."""
    from celery import current_app

    with current_app.connection_for_read() as connection:
        channel: Any = connection.default_channel  # the transport's own channel has more methods
        return not channel.queue_declare("celery").message_count


def two_processes(world: deliveries.World, posts: int) -> float:
    """Let two forked processes deliver planned posts without Redis; return rows a second.

    Each delivers a part of another post first, because a worker has its connection and statements
    ready.
    """
    from django.db import connections

    from feeds.delivery.fanout import deliver
    from feeds.models import FanOutChunk

    first, chunks = world.planned(1), world.planned(posts)
    connections.close_all()
    children, ready = [], multiprocessing.Barrier(2)
    for number in range(2):
        child = os.fork()
        if not child:
            try:
                with deliveries.sql_alone():
                    for chunk in first[number::2]:
                        deliver.run_chunk(chunk)
                    ready.wait()
                    for chunk in chunks[number::2]:
                        deliver.run_chunk(chunk)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    done = FanOutChunk.objects.filter(pk__in=chunks, done=True)
    if done.count() != len(chunks):
        raise RuntimeError("chunks were left open")
    return deliveries.rate(list(done.values_list("fanout_id", flat=True).distinct()))


def through_celery(report: harness.Report, world: deliveries.World, chunk: int) -> None:
    """Measure in turns the floor, SQL alone, and the whole fan-out, for each cached inbox size."""
    from django.conf import settings

    options = report.options
    settings.FANOUT_CHUNK = chunk
    dice = random.Random(options.seed)
    floor = deliveries.Floor(world, options.posts, chunk)
    for entries in (int(one) for one in options.cached):
        world.cache_inboxes(entries)
        name = f"{entries} cached" if entries else "none cached"
        works: dict[str, Any] = {
            "floor": floor.run,
            f"fan-out, {name}": lambda: delivered(world, options.posts),
        }
        if entries == 0:
            works["SQL alone"] = lambda: two_processes(world, options.posts)
        rates: dict[str, list[float]] = {work: [] for work in works}
        names = list(works)
        with worker(chunk):
            for turn in range(-1, options.turns):
                dice.shuffle(names)
                for work in names:
                    found = works[work]()
                    if turn >= 0:
                        rates[work].append(found)
                    deliveries.wait_for(nothing_waits, PATIENCE_SECONDS, "the trims")
                    time.sleep(SETTLE_SECONDS)
        show(report, rates, f"Chunk {chunk}, {options.posts} posts a turn, {name}")
        for work in rates:
            if work in GOALS and chunk == options.chunk:
                name = f"{work}: rows/s of the floor's"
                report.goal(name, share(rates, work), at_least=GOALS[work])


def share(rates: dict[str, list[float]], name: str) -> float:
    """Return the median of the ratios to the floor, turn by turn."""
    return statistics.median(a / b for a, b in zip(rates[name], rates["floor"], strict=True))


def show(report: harness.Report, rates: dict[str, list[float]], title: str) -> None:
    """Print rows a second."""
    rows = [
        [
            name,
            *(f"{one:.0f}" for one in (min(found), statistics.median(found), max(found))),
            f"{share(rates, name):.2f}",
        ]
        for name, found in rates.items()
    ]
    report.rows(rows, ["rows/s", "least", "median", "most", "of the floor"], title=title)


def parts(report: harness.Report, world: deliveries.World, chunk: int, entries: int) -> None:
    """Time the steps of chunks, one process and one chunk at a time, beside the floor's."""
    from django.conf import settings

    options = report.options
    settings.FANOUT_CHUNK = chunk
    world.cache_inboxes(entries)
    floor, steps = deliveries.Floor(world, 1, chunk), deliveries.Parts()
    rates = []
    for turn in range(-1, options.rounds):
        if not turn:
            steps = deliveries.Parts()
        chunks = world.planned(1)
        for one in chunks:
            steps.run(one)
        rows = floor.run()
        if turn >= 0:
            rates += [rows] * len(chunks)
    size = min(chunk, len(world.fans))
    times = {"floor": harness.Series([size / rate for rate in rates]), **steps.times}
    mean = statistics.mean(times["floor"].times)
    report.rows(
        [
            [
                name,
                len(series.times),
                f"{series.p50 * 1000:.2f}",
                f"{statistics.mean(series.times) * 1000:.2f}",  # few chunks trim, many at once
                f"{statistics.mean(series.times) / mean:.2f}",
            ]
            for name, series in times.items()
        ],
        ["step", "n", "p50 ms", "mean ms", "× floor"],
        title=f"Steps of one chunk of {size}, {entries} cached, one process",
    )


class Follower(threading.Thread):
    """A connected follower, who fetches the feed after every hint of the socket."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(daemon=True)
        address = urlsplit(url).netloc
        headers = {"Authorization": f"Bearer {token}"}
        self._opening = connect(
            f"ws://{address}/ws/session/", additional_headers=headers, open_timeout=10
        )
        self._site, self._headers = http.client.HTTPConnection(address, timeout=10), headers
        self.connected = threading.Event()
        self.told: dict[str, float] = {}
        self.seen: dict[str, float] = {}

    def run(self) -> None:
        """Listen until the socket is closed; record when each new post was announced and seen."""
        with contextlib.suppress(ConnectionClosed), self._opening as connection:
            self.connected.set()
            for text in connection:
                if json.loads(text)["type"] != "new_posts":
                    continue
                told = time.perf_counter()
                self._site.request("GET", "/api/v1/feed?size=5", headers=self._headers)
                found = json.loads(self._site.getresponse().read())
                seen = time.perf_counter()
                for item in found["items"]:
                    self.told.setdefault(item["id"], told)
                    self.seen.setdefault(item["id"], seen)


def until_seen(report: harness.Report, world: deliveries.World) -> None:
    """Publish over HTTP on the full stack and time when connected followers see it."""
    from accounts import actions as accounts_actions
    from accounts.models import User

    options = report.options
    token = accounts_actions.sign_in(world.author, "other").access
    fans = User.objects.filter(pk__in=world.fans[:: LATENCY_FOLLOWERS // CONNECTED][:CONNECTED])
    tokens = [accounts_actions.sign_in(fan, "other").access for fan in fans]
    with tempfile.TemporaryDirectory(prefix="socialsite-bench-") as folder:
        directory = Path(folder)
        directory.chmod(0o711)  # the services may run under another account
        env = {name: os.environ[name] for name in site_processes.SERVICE_URLS}
        with Stack(directory, env={"DEMO": "0", **env}) as stack:
            followers = [Follower(stack.url, one) for one in tokens]
            for follower in followers:
                follower.start()
                follower.connected.wait()
            site = http.client.HTTPConnection(urlsplit(stack.url).netloc, timeout=10)
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            times = {name: harness.Series() for name in ("answered", "told", "seen in the feed")}

            def is_everywhere(post: str) -> bool:
                return all(post in one.seen for one in followers)

            for number in range(-harness.WARM_UP, options.publishes):
                began = time.perf_counter()
                body = json.dumps({"content": f"number {number}"})
                site.request("POST", "/api/v1/posts", body, headers)
                answer = site.getresponse()
                text = answer.read()
                if answer.status != http.client.CREATED:
                    raise RuntimeError(f"not published: {answer.status} {text!r}")
                post = json.loads(text)["id"]
                answered = time.perf_counter()
                deliveries.wait_for(partial(is_everywhere, post), 20, "the hint")
                if number >= 0:
                    times["answered"].times += [answered - began] * len(followers)
                    times["told"].times += [one.told[post] - began for one in followers]
                    times["seen in the feed"].times += [one.seen[post] - began for one in followers]
                time.sleep(SETTLE_SECONDS)
    title = f"From a publish, {LATENCY_FOLLOWERS} followers, {CONNECTED} of them connected"
    report.table(times, floor="answered", title=title)
    report.goal(
        "publish to appearance, p50, s", times["seen in the feed"].p50, at_most=LATENCY_GOAL
    )


def main() -> int:
    """Measure."""
    options = harness.arguments(
        __doc__ or "",
        {
            "--followers": 5000,
            "--posts": 4,
            "--turns": 15,
            "--rounds": 20,
            "--chunk": 1000,
            "--other-chunk": 5000,
            "--publishes": 100,
        },
    )
    options.cached = (0, 100, 400)
    key = keys.read([keys.new("secret")])[0]  # the stack has a data directory of its own
    os.environ |= {"PUSH_ALL_MAX": "100000", "PUSH_ACTIVE_MAX": "100000", "JWT_KEYS": key}
    harness.setup()
    from bench.support import people

    people.be_patient()
    report = harness.Report("fanout", options)
    ids = people.make_people(options.followers + LATENCY_FOLLOWERS + 2)
    if options.publishes:
        until_seen(report, deliveries.World(ids[: LATENCY_FOLLOWERS + 1]))
    began = time.monotonic()
    world = deliveries.World(ids[LATENCY_FOLLOWERS + 1 :])
    rows = world.fill_inboxes()
    size = people.bytes_of("feeds_inboxentry") / 2**20
    report.say(f"{rows} rows of inboxes, {size:.0f} MB, in {time.monotonic() - began:.0f} s")
    for chunk in filter(None, dict.fromkeys((options.chunk, options.other_chunk))):
        for entries in (100, 400) if options.rounds else ():
            parts(report, world, chunk, entries)
        if options.turns:
            through_celery(report, world, chunk)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
