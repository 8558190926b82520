"""The cache with Sentinels: one master at a time, and another one when it fails."""

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.services import sentinel
from socialsite.core.cache_servers import several
from socialsite.core.redis import circuit_breaker
from socialsite.core.redis.sharded import client
from socialsite.core.redis.sharded.client import Sharded
from socialsite.core.tests.redis_servers.acts import ask, put, seen_until
from socialsite.core.tests.redis_servers.conftest import OPTIONS
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def group() -> Iterator[sentinel.Group]:
    with tempfile.TemporaryDirectory(prefix="socialsite-redis-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # Redis may run under another account
        password, places = secrets.token_hex(16), sentinel.on_loopback()
        found = sentinel.Group(folder, places, password, options=sentinel.CACHE)
        try:
            found.start()
            yield found
        finally:
            found.stop()


def url(group: sentinel.Group) -> str:
    places = ",".join(f"{host}:{port}" for host, port in group.sentinels)
    return f"redis+sentinel://:{group.password}@{places}/{group.name}"


def test_the_next_master_is_empty_before_it_is_read_and_the_old_one_is_not_read(
    group: sentinel.Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "BREAK_SECONDS", 0.5)
    monkeypatch.setattr(client, "THREAD_SECONDS", 5.0)
    servers = several(url(group))
    assert servers is not None
    writer, reader = (Sharded(servers, OPTIONS) for _ in range(2))
    for one in (writer, reader):
        eventually(one.is_trusted)
    put(writer, "a", "b")
    eventually(lambda: ask(reader, ("MGET", "a", "b")), lambda found: found == [[b"old", b"old"]])
    before = group.master()
    assert before is not None
    first: Any = group.connect(before)
    eventually(lambda: first.wait(2, 100), lambda count: count == 2)
    # What is deleted from now on reaches no replica.
    first.config_set("repl-timeout", 1000)
    for number in {0, 1, 2} - {before}:
        group.connect(number).config_set("masterauth", "wrong")
    first.execute_command("CLIENT", "KILL", "TYPE", "replica")
    writer.delete_everywhere(["a", "b"])
    assert b"old" not in seen_until(reader, "a", None)
    group.nodes[before].kill()
    group.wait_for_master(other_than=before)
    assert b"old" not in seen_until(reader, "a", None)
    for one in (writer, reader):
        one.trust.end()
