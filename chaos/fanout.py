"""Processes killed at every step of a delivery: `make chaos ARGS="fanout --rounds 50"`.

In each round one process for each failpoint is killed there (SIGKILL) while it publishes, relays,
plans, delivers, closes or cleans up. At the same time people unfollow and follow again, and a post
is deleted. A Celery worker, which is never killed, repairs the rest. Then every follower has every
post of the round exactly once, nobody else has one, and no deleted post is left. The pages of some
readers, cached before, match the oracle's.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.support import harness
from deploy.services import site_processes

FOLLOWERS, TOGGLES, READERS = 2000, 5, 5
# If the worker does the work of a process first, the process survives; retry up to this often.
TRIES = 20
CHUNK = 100
QUIET_SECONDS = 300
POINTS = (
    "event-written",
    "event-committed",
    "relay-claimed",
    "relay-handled",
    "plan-written",
    "relay-applied",
    "chunk-leased",
    "chunk-inserted",
    "chunk-delivered",
    "chunk-cached",
    "chunk-done",
    "fanout-done",
    "inboxes-cleaned",
)
MISSING = """
    SELECT COUNT(*) FROM relations_relationship r JOIN feeds_post p ON p.author_id = r.from_user_id
    LEFT JOIN feeds_inboxentry e
      ON e.user_id = r.to_user_id AND e.publish_time = p.position AND e.post_id = p.id
    WHERE r.from_user_id = %s AND r.relation IN (1, 4) AND NOT p.is_deleted AND p.id IN %s
      AND e.post_id IS NULL
"""
GHOSTS = """
    SELECT COUNT(*) FROM feeds_inboxentry e JOIN feeds_post p ON p.id = e.post_id
    LEFT JOIN relations_relationship r
      ON r.from_user_id = e.author_id AND r.to_user_id = e.user_id AND r.relation IN (1, 4)
    WHERE e.author_id = %s AND (p.is_deleted OR r.id IS NULL)
"""
DOUBLED = """
    SELECT COUNT(*) FROM (SELECT 1 FROM feeds_inboxentry WHERE author_id = %s
    GROUP BY user_id, post_id HAVING COUNT(*) > 1) doubled
"""
LOST = """
    SELECT COUNT(*) FROM feeds_inboxentry e LEFT JOIN feeds_post p ON p.id = e.post_id
    WHERE p.id IS NULL
"""


class Trial:
    """The author, the followers, and the rounds."""

    def __init__(self, seed: int) -> None:
        from accounts.models import User
        from bench.support import people
        from feeds.models import InboxEdge

        self.dice = random.Random(seed)
        ids = people.make_people(FOLLOWERS + 1)
        people.insert_followers(ids[0], ids[1], FOLLOWERS)
        people.count_all()
        self.author = User.objects.get(pk=ids[0])
        InboxEdge.objects.bulk_create(
            InboxEdge(viewer_id=fan, author_id=ids[0], backfilled_from=0) for fan in ids[1:]
        )
        self.fans = list(User.objects.filter(pk__in=ids[1:]))
        self.gone: list[Any] = []
        self.repairs = harness.Series()
        self.found = dict.fromkeys(("missing", "ghosts", "doubled", "without a post", "pages"), 0)
        self.kills = dict.fromkeys(POINTS, 0)
        self.stuck = 0

    def publish_old_posts(self) -> None:
        """Publish and deliver as many posts as a round may delete: one at each try."""
        from feeds import actions as feeds_actions
        from feeds.delivery.fanout import sweep
        from socialsite.core.events import enqueue, relay

        with enqueue.paused():
            for _ in range(1 + TRIES - self.posts().count()):
                feeds_actions.publish(self.author, content="old")
            while relay.relay() + sweep.run():
                pass

    def posts(self) -> Any:
        """Return the author's posts."""
        from feeds.models import Post

        return Post.objects.filter(author=self.author, is_deleted=False)

    def victim(self, point: str, work: Callable[[], Any]) -> int:
        """Start a process that is killed at a failpoint; return its id."""
        from django.conf import settings
        from django.db import connections

        from socialsite.core.events import enqueue

        passage = self.dice.randint(1, 8) if point.startswith("chunk") else 1
        connections.close_all()
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            settings.FAILPOINT = f"{point}:{passage}"
            with enqueue.paused():
                work()
            code = 0
        finally:
            os._exit(code)

    def round(self, points: tuple[str, ...]) -> None:
        """Kill one process at each failpoint, let the worker repair, and check."""
        from feeds import queries as feeds_queries
        from feeds.models import Post
        from relations import actions as relations_actions
        from socialsite.core.events import enqueue

        self.publish_old_posts()
        before = set(Post.objects.values_list("pk", flat=True))
        readers = self.dice.sample(self.fans, READERS)
        for reader in readers:
            feeds_queries.home_feed(reader, None, 20)

        children: dict[int, str] = {}
        with enqueue.paused():
            for point in points:
                children[self.victim(point, self.work(point, before))] = point
            left = self.dice.sample(self.fans, TOGGLES)
            for person in left:
                relations_actions.unfollow(person, self.author)
            for person in self.gone:
                relations_actions.follow(person, self.author)
            self.fans = [fan for fan in self.fans if fan not in left] + self.gone
            self.gone = left
        spared = [point for child, point in children.items() if not self.is_killed(child, point)]
        with enqueue.paused():
            for point in spared:
                for _ in range(TRIES):
                    if self.is_killed(self.victim(point, self.work(point, before)), point):
                        break
        killed = time.monotonic()
        self.wait_for_repair(killed, before)
        posts = tuple(Post.objects.exclude(pk__in=before).values_list("pk", flat=True)) or (0,)
        self.found["missing"] += _count(MISSING, self.author.pk, posts)
        self.found["ghosts"] += _count(GHOSTS, self.author.pk)
        self.found["doubled"] += _count(DOUBLED, self.author.pk)
        self.found["without a post"] += _count(LOST)
        for reader in readers:
            page, cached, oracle = (
                [card["id"] for card in read(reader, None, 20).items]
                for read in (
                    feeds_queries.home_feed,
                    feeds_queries.home_feed,
                    feeds_queries.oracle_feed,
                )
            )
            self.found["pages"] += not page == cached == oracle

    def work(self, point: str, before: set[int]) -> Callable[[], Any]:
        """Return the work of a process that reaches a failpoint, after doing the work before it."""
        from feeds import actions as feeds_actions
        from feeds.delivery.fanout import deliver, plan
        from socialsite.core.events import relay

        def publish() -> int:
            return feeds_actions.publish(self.author, content=point).pk

        def deliver_post(post_id: int) -> None:
            plan.write(post_id)
            deliver.run_chunks((chunk, post_id) for chunk in plan.open_chunks(post_id))

        if point.startswith("event"):
            return publish
        if point == "inboxes-cleaned":
            old = self.posts().filter(pk__in=before)
            feeds_actions.delete(self.author, old.latest("pk").pk)
            return relay.relay
        if point.startswith("relay"):
            publish()
            return relay.relay
        return partial(deliver_post, publish())

    def is_killed(self, child: int, point: str) -> bool:
        """Wait for the end of a process; return whether it was killed, and count that."""
        _, status = os.waitpid(child, 0)
        found = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self.kills[point] += found
        return found

    def wait_for_repair(self, since: float, before: set[int]) -> None:
        """Wait until all work is done, and record for each new post how long that took."""
        from feeds.models import FanOut
        from socialsite.core.models import Event

        waiting: set[int] | None = None
        while time.monotonic() - since < QUIET_SECONDS:
            now = set(
                FanOut.objects.filter(state__lt=FanOut.State.DONE).values_list("pk", flat=True)
            )
            new = now - before
            done = (waiting or set()) - new
            self.repairs.times += [time.monotonic() - since] * len(done)
            waiting = new
            if not now and not Event.objects.exists():
                return
            time.sleep(0.1)
        self.stuck += 1


def _count(sql: str, *params: Any) -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.fetchone()[0])


def main() -> int:
    """Run the rounds and report them."""
    options = harness.arguments(
        "Kills at every step of deliveries.", {"--rounds": 5, "--repair": 30}
    )
    os.environ["FANOUT_CHUNK"] = str(CHUNK)
    harness.setup()
    report = harness.Report("fanout", options)
    trial = Trial(options.seed)
    env = dict(os.environ)
    worker = site_processes.celery_worker(env)
    try:
        worker.start()
        began = time.monotonic()
        for number in range(1, options.rounds + 1):
            trial.round(POINTS)
            if number % 10 == 0:
                report.say(f"- {number} rounds, {time.monotonic() - began:.0f} s")
    finally:
        worker.stop()
    report.rows([[point, count] for point, count in trial.kills.items()], ["failpoint", "kills"])
    total = sum(trial.kills.values())
    repairs = trial.repairs
    if repairs.times:
        seconds = [f"{one:.1f}" for one in (repairs.p50, repairs.p99, max(repairs.times))]
        report.rows([[len(repairs.times), *seconds]], ["posts repaired", "p50 s", "p99 s", "max s"])
        report.goal("repair: longest, s", max(repairs.times), at_most=options.repair)
    report.say(f"\n{total} kills; none that fails means fewer than {300 / max(total, 1):.2f} %")
    for name, value in trial.found.items():
        report.goal(name, value, exactly=0)
    report.goal("rounds that did not come to rest", trial.stuck, exactly=0)
    report.goal("failpoints never reached", sum(not n for n in trial.kills.values()), exactly=0)
    return report.finish()


if __name__ == "__main__":
    raise SystemExit(main())
