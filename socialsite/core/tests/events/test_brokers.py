"""Brokers of three servers: real RabbitMQ and real Sentinels, one server of which is away."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from kombu import Queue

from deploy.services import rabbitmq, sentinel, streams
from socialsite.celery import AMQP
from socialsite.core.events import brokers, enqueue
from socialsite.core.runtime.broker_settings import BrokerSettings, queue_name
from socialsite.doctor.checks import broker as checks
from socialsite.doctor.findings import ERROR, OK, WARNING
from socialsite.metrics import queues
from socialsite.tests.support.waiting import LIMIT, eventually

pytestmark = pytest.mark.full
PASSWORD = "secret"


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="socialsite-brokers-") as name:
        path = Path(name)
        path.chmod(0o711)  # servers run under another account
        yield path


@pytest.fixture
def cluster(folder: Path) -> Iterator[rabbitmq.Cluster]:
    if not streams.has_rabbitmq():
        pytest.skip("rabbitmq-server is not installed")
    found = rabbitmq.Cluster(folder, rabbitmq.on_loopback(), PASSWORD)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def group(folder: Path) -> Iterator[sentinel.Group]:
    found = sentinel.Group(folder, sentinel.on_loopback(), PASSWORD)
    try:
        found.start()
        yield found
    finally:
        found.stop()


@pytest.fixture
def use(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that lets the site use another broker."""

    def use(url: str) -> Celery:
        env = BrokerSettings(BROKER_URL=url, BROKER_SENTINEL_PASSWORD=PASSWORD)
        kind = "quorum" if env.has_quorum_queues else "classic"
        settings.CELERY_BROKER_URL = env.BROKER_URL
        settings.CELERY_BROKER_TRANSPORT_OPTIONS = env.broker_options
        settings.CELERY_TASK_DEFAULT_QUEUE = queue_name("celery", quorum=kind == "quorum")
        settings.CELERY_TASK_DEFAULT_QUEUE_TYPE = kind
        settings.CELERY_TASK_CREATE_MISSING_QUEUE_TYPE = kind
        app = Celery("elsewhere", amqp=AMQP, set_as_current=False)
        app.config_from_object("django.conf:settings", namespace="CELERY")
        for module in (brokers, enqueue, checks):
            monkeypatch.setattr(module, "current_app", app)
        monkeypatch.setattr(enqueue, "_quiet_until", 0.0)
        monkeypatch.setattr(enqueue, "PAUSE_SECONDS", 0.0)
        # What a busy machine needs.
        monkeypatch.setattr(enqueue, "WAIT_SECONDS", 3.0)
        for name in ("socket_timeout", "socket_connect_timeout"):
            monkeypatch.setitem(enqueue._OPTIONS, name, 3.0)
        return app

    return use


def levels() -> list[str]:
    return [one.level for one in checks.servers()]


def lengths() -> dict[str, float]:
    return {
        sample.labels["queue"]: sample.value
        for metric in queues.collect()
        for sample in metric.samples
    }


def test_a_node_of_rabbitmq_may_die(cluster: rabbitmq.Cluster, use: Any) -> None:
    app = use(cluster.url)
    assert enqueue.send("core.nothing", 7)
    assert levels() == [OK]  # declares all queues
    assert lengths() == {"celery": 1.0, "video": 0.0}
    last = cluster.nodes[-1]
    enqueue._next = 2
    last.kill()
    eventually(lambda: enqueue.send("core.nothing", 8))
    assert enqueue._next % 3 != 2
    assert set(levels()) == {WARNING}
    assert eventually(lengths, lambda found: found.get("celery", 0) >= 2)

    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue(app.amqp.queues["celery"])
        first = queue.get(timeout=LIMIT)
        assert first.payload[0] == [7]
        queue.close()

    cluster.nodes[1].kill()
    assert ERROR in levels()
    assert not enqueue.send("core.nothing", 9)


def test_a_frozen_node_of_rabbitmq_costs_one_wait_and_is_left(
    cluster: rabbitmq.Cluster, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(cluster.url)
    tried = list[int]()
    send = enqueue._send
    monkeypatch.setattr(
        enqueue,
        "_send",
        lambda connection, *words: (tried.append(connection.port), send(connection, *words)),
    )
    ports = [node.place.port for node in cluster.nodes]
    enqueue._next = 0
    assert enqueue.send("core.nothing", 1)
    cluster.nodes[0].freeze()
    assert not enqueue.send("core.nothing", 2)
    assert tried == ports[:1] * 2
    eventually(lambda: enqueue.send("core.nothing", 3))
    assert ports[0] not in tried[2:3]


def test_a_queue_with_copies_has_a_name_of_its_own(cluster: rabbitmq.Cluster, use: Any) -> None:
    app = use(cluster.url)
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        old = Queue("celery", routing_key="celery")
        old.exchange = app.amqp.queues.default_exchange.__class__("celery")
        old(channel).declare()  # as a site with one server has left it
        assert enqueue.send("core.nothing", 1)
        found = channel.queue_declare("celery", passive=True)
        assert found.message_count == 0
    assert levels() == [OK]
    assert lengths()["celery"] == 1.0


def test_the_redis_of_sentinels_may_die(group: sentinel.Group, use: Any) -> None:
    use(group.broker_url)
    assert enqueue.send("core.nothing", 7)
    assert levels() == [OK]
    assert lengths() == {"celery": 1.0, "video": 0.0}
    first = group.master()
    assert first is not None
    group.nodes[first].kill()
    assert group.wait_for_master(other_than=first) != first
    eventually(lambda: enqueue.send("core.nothing", 8))
    assert eventually(lengths)["celery"] >= 1.0  # what the replica had is not lost
    assert WARNING in levels()
    assert ERROR not in levels()
