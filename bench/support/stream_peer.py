"""Stream-Framework's half of `bench.peers`; it runs under the Python of a venv that has it.

    python bench/support/stream_peer.py HOST PORT PASSWORD FOLLOWERS POSTS PAGES

It prints JSON: entries, seconds and CPU seconds of the deliveries, and of the pages.
`bench/peers.md` says how the venv is made.
"""

import datetime
import json
import sys
import time
from typing import Any

from stream_framework import settings

HOST, PORT, PASSWORD = sys.argv[1:4]
FOLLOWERS, POSTS, PAGES = map(int, sys.argv[4:7])
DATABASE, SIZE, CHUNK = 5, 20, 1000
settings.STREAM_REDIS_CONFIG = {
    "default": {"host": HOST, "port": int(PORT), "db": DATABASE, "password": PASSWORD or None}
}

from stream_framework.activity import Activity  # noqa: E402  (they read the settings)
from stream_framework.feed_managers.base import FanoutPriority, Manager  # noqa: E402
from stream_framework.feeds.redis import RedisFeed  # noqa: E402
from stream_framework.verbs.base import Add  # noqa: E402


class OwnPosts(RedisFeed):
    """The posts of one person."""

    key_format = "peer:posts:%(user_id)s"


class Home(RedisFeed):
    """The posts of the people whom one person follows."""

    key_format = "peer:home:%(user_id)s"


class Site(Manager):
    """One author, whom everybody else follows; tasks run at once, without a broker."""

    feed_classes = {"normal": Home}
    user_feed_class = OwnPosts
    fanout_chunk_size = CHUNK

    def get_user_follower_ids(self, user_id: int) -> dict[Any, list[int]]:
        """Return all followers."""
        return {FanoutPriority.HIGH: list(range(1, FOLLOWERS + 1))}

    def create_fanout_tasks(
        self,
        follower_ids: list[int],
        feed_class: Any,
        operation: Any,
        operation_kwargs: Any = None,
        fanout_priority: Any = None,
    ) -> list[Any]:
        """Do what its Celery tasks do, in this process."""
        for start in range(0, len(follower_ids), CHUNK):
            some = follower_ids[start : start + CHUNK]
            self.fanout(some, feed_class, operation, operation_kwargs)
        return []


def main() -> None:
    """Measure, print, and delete what was written."""
    site, author = Site(), FOLLOWERS + 1
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(POSTS):
        moment = now + datetime.timedelta(milliseconds=number)
        site.add_user_activity(author, Activity(author, Add, 1000 + number, 1, time=moment))
    found = {
        "entries": POSTS * FOLLOWERS,
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
    }
    times, cpu = [], time.process_time()
    for number in range(PAGES):
        began = time.perf_counter()
        page = Home(1 + number % FOLLOWERS)[:SIZE]
        times.append(time.perf_counter() - began)
        if len(page) != min(SIZE, POSTS):
            raise SystemExit(f"a page has {len(page)} entries")
    print(json.dumps({**found, "pages": times, "pages_cpu": time.process_time() - cpu}))


if __name__ == "__main__":
    main()
