"""What a page costs with the cache on a Redis Cluster: `make bench ARGS="cache_servers"`.

The same warm pages are read in one process, in turns with one Redis by its socket, with one by TCP,
and with a cluster of three masters on the same machine: a batch is split by slots, goes to all
masters at once, and the open fan-outs are read before the inbox, in a round trip of their own.
The last rows are a delivery to a thousand cached inboxes.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from bench import parts
from bench.support import harness
from deploy.services.redis_cluster import throw_away_cluster

INBOXES = 1_000


class Served:
    """The cache of this process, as one of several clients."""

    def __init__(self, client: Any, servers: Any) -> None:
        self._client, self._servers = client, servers
        self._wire: Any = None

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Let this process use the cache in a block; its connections stay open."""
        from django.test import override_settings

        from socialsite.core import redis
        from socialsite.core.redis import wire

        is_spread = self._servers is not None and self._servers.is_cluster
        swaps = [(redis, "client", lambda: self._client), (redis, "IS_SPREAD", is_spread)]
        with override_settings(CACHE_SERVERS=self._servers), parts.without(swaps):
            before, wire._local.wire = wire._local.wire, self._wire
            try:
                yield
            finally:
                self._wire, wire._local.wire = wire._local.wire, before

    def run(self, work: Callable[[], Any]) -> None:
        """Do some work with this cache."""
        with self.use():
            work()


def clients(cluster_url: str) -> dict[str, Served]:
    """Return the caches to compare."""
    import redis as redis_py
    from django.conf import settings

    from socialsite.core import redis
    from socialsite.core.cache_servers import several
    from socialsite.core.redis.sharded.client import Sharded

    default: Any = settings.CACHES["default"]
    options = default["OPTIONS"]["CONNECTION_POOL_KWARGS"]
    one = redis.client()
    port: Any = one.config_get("port")
    password = one.connection_pool.connection_kwargs["password"]
    by_tcp = redis_py.Redis(host="127.0.0.1", port=int(port["port"]), password=password, **options)
    servers: Any = several(cluster_url)
    spread = Sharded(servers, options)
    while not spread.is_trusted():
        time.sleep(0.1)
    return {
        "one, by its socket": Served(one, None),
        "one, by TCP": Served(by_tcp, None),
        "cluster of three": Served(spread, servers),
    }


def works_of(world: parts.World) -> dict[str, Callable[[], Any]]:
    """Return what is measured."""
    from feeds import cache
    from socialsite.core.positions import Position

    owners = [*range(10**18, 10**18 + INBOXES)]

    def deliver() -> None:
        cache.deliver(owners, Position(10**12, 10**18))

    return {
        "feed by API": partial(world.page, f"/api/v1/feed?size={parts.SIZE}"),
        "home page": partial(world.page, "/"),
        "page of a post": partial(world.page, f"/posts/{world.post}"),
        "20 people": partial(world.page, "/search?tab=people&q=b"),
        "delivery": deliver,
    }


def fill_inboxes() -> None:
    """Cache an inbox for each reader of the delivery."""
    from feeds import cache
    from feeds.cache.timeline import entry_of
    from socialsite.core.positions import Position
    from socialsite.core.redis import Batch

    for owner in range(10**18, 10**18 + INBOXES):
        batch = Batch()
        lease = cache.INBOX.lease(batch, [owner])
        batch.run()
        places = [Position(10**12 - n, 10**18 - n) for n in range(20)]
        cache.INBOX.fill(owner, lease, (0, [entry_of(place) for place in places]))


def main() -> int:
    """Measure."""
    options = harness.arguments(__doc__ or "", {"--rounds": 200})
    harness.setup()

    from django.core.management import call_command

    from bench.support import people

    call_command("collectstatic", interactive=False, verbosity=0)
    people.be_patient()
    report = harness.Report("cache_servers", options)
    with tempfile.TemporaryDirectory(prefix="socialsite-redis-") as name:
        Path(name).chmod(0o711)  # Redis may run under another account
        with throw_away_cluster(Path(name)) as cluster:
            caches = clients(cluster.url())
            world = parts.World(options.seed)
            compare(caches, world, report)
    return report.finish()


def compare(caches: Mapping[str, Served], world: parts.World, report: harness.Report) -> None:
    """Measure each work with each cache, in turns; print times and ratios."""
    for cache in caches.values():
        cache.run(fill_inboxes)
    rows = []
    for title, work in works_of(world).items():
        world.sign_in()
        cases = {name: partial(cache.run, work) for name, cache in caches.items()}
        for case in cases.values():
            case()
        times = harness.interleave(cases, rounds=report.options.rounds)
        first = times[next(iter(caches))]
        rows.append([title, *(f"{times[name].over(first):.2f}" for name in caches)])
    report.rows(rows, ["times one Redis by its socket", *caches])


if __name__ == "__main__":
    raise SystemExit(main())
