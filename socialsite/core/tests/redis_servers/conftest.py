"""A Redis Cluster, and clients of it that act like the processes of a site."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.services.redis_cluster import Cluster, throw_away_cluster
from socialsite.core.cache_servers import several
from socialsite.core.redis import circuit_breaker
from socialsite.core.redis.sharded import client
from socialsite.core.redis.sharded.client import Sharded
from socialsite.tests.support.waiting import eventually

OPTIONS: dict[str, Any] = {
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
    "retry": Retry(NoBackoff(), 0),
    "protocol": 2,
}

Process = Callable[[], Sharded]


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="socialsite-redis-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # Redis may run under another account
        with throw_away_cluster(folder) as found:
            yield found


@pytest.fixture
def cluster(running: Cluster) -> Iterator[Cluster]:
    """The cluster, whole at the beginning and at the end."""
    yield running
    for node in running.nodes.values():
        if node.frozen:
            running.thaw(node)
        if not node.service.running:
            running.restart(node)
    running.wait()


@pytest.fixture
def process(
    cluster: Cluster, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Process]:
    """Make clients that trust all masters, each with a thread of its own, as in a process."""
    monkeypatch.setattr(circuit_breaker, "BREAK_SECONDS", 0.5)
    monkeypatch.setattr(client, "THREAD_SECONDS", 5.0)
    made: list[Sharded] = []

    def make() -> Sharded:
        servers = several(cluster.url())
        assert servers is not None
        found = Sharded(servers, OPTIONS)
        made.append(found)
        eventually(found.is_trusted)
        return found

    yield make
    for one in made:
        one.trust.end()
