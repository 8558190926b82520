"""Cache, broker and channel layer: real servers whose settings are changed, and dead ones."""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer

from socialsite.core.redis import servers as redis_servers
from socialsite.doctor.checks import servers
from socialsite.doctor.findings import ERROR, OK, WARNING, Finding, worst

pytestmark = pytest.mark.django_db
full = pytest.mark.full


def texts(findings: Iterable[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


@contextmanager
def configured(url: str, name: str, value: str) -> Iterator[None]:
    """Change a setting of a Redis server."""
    with redis_servers.connected(url) as redis:
        before: Any = redis.config_get(name)
        redis.config_set(name, value)
        try:
            yield
        finally:
            redis.config_set(name, before[name])


class Forgetful(InMemoryChannelLayer):
    """A channel layer that loses what it is given."""

    async def group_send(self, group: str, message: Any) -> None:
        """Lose it."""


@pytest.fixture
def dead() -> str:
    """The URL of a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"redis://:password@127.0.0.1:{server.getsockname()[1]}/0"


@full
def test_two_servers_with_their_policies_are_fine(settings: Any) -> None:
    assert worst(servers.eviction()) == OK


@full
@pytest.mark.parametrize(
    ("name", "value", "level", "words"),
    [
        ("maxmemory-policy", "noeviction", ERROR, "its maxmemory-policy is noeviction"),
        ("maxmemory", "0", WARNING, "no limit of memory"),
        ("save", "900 1", WARNING, "stores its data on the disk"),
    ],
)
def test_wrong_settings_of_the_cache_are_found(
    settings: Any, name: str, value: str, level: str, words: str
) -> None:
    with configured(settings.REDIS_URL, name, value):
        assert words in texts(servers.eviction(), level)


@full
def test_a_broker_that_evicts_is_a_warning(settings: Any) -> None:
    with configured(settings.CELERY_BROKER_URL, "maxmemory-policy", "allkeys-lru"):
        assert "The broker evicts" in texts(servers.eviction(), WARNING)


@full
def test_one_server_for_both_is_a_warning(settings: Any) -> None:
    settings.CELERY_BROKER_URL = settings.REDIS_URL
    assert "the same Redis server" in texts(servers.eviction(), WARNING)


@full
def test_dead_servers_are_errors(settings: Any, dead: str) -> None:
    settings.REDIS_URL = settings.CELERY_BROKER_URL = dead
    found = texts(servers.eviction(), ERROR)
    assert "The server of REDIS_URL does not answer" in found
    assert "The server of BROKER_URL does not answer" in found


@full
def test_a_broker_of_another_kind_is_left_alone(settings: Any) -> None:
    settings.CELERY_BROKER_URL = "amqp://127.0.0.1"
    assert worst(servers.eviction()) == OK


@pytest.mark.embedded
def test_slow_answers_are_reported_with_their_time() -> None:
    assert worst(servers.latency(slow_ms=1e9)) == OK
    found = list(servers.latency(slow_ms=0.0))
    assert {one.level for one in found} == {WARNING}
    assert all("answered 95 % of small questions within" in one.text for one in found)


@pytest.mark.embedded
def test_a_message_passes_the_channel_layer() -> None:
    assert worst(servers.channel_layer()) == OK


@full
def test_a_channel_layer_without_its_server_is_an_error(settings: Any, dead: str) -> None:
    layer = settings.CHANNEL_LAYERS["default"]
    config = layer["CONFIG"] | {"hosts": [{"address": dead}]}
    settings.CHANNEL_LAYERS = {"default": layer | {"CONFIG": config}}
    assert texts(servers.channel_layer(), ERROR)


@pytest.mark.embedded
def test_a_message_that_is_lost_is_an_error(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "socialsite.doctor.tests.test_servers.Forgetful"}
    }
    monkeypatch.setattr(servers, "MESSAGE_SECONDS", 0.05)
    assert "did not arrive" in texts(servers.channel_layer(), ERROR)
