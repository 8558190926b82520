"""The change stream: every event once or more, in the order of its aggregate, and never lost."""

import contextlib
import dataclasses
import itertools
import json
import os
import random
import secrets
import signal
import subprocess
import tempfile
import threading
import types
import typing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from deploy.services import databases, streams
from deploy.services.service import Service, free_port
from deploy.services.site_processes import PROJECT_DIR, python
from feeds import actions as feeds_actions
from relations import actions as relations_actions
from socialsite.core import db
from socialsite.core.events import publish, registry, stream
from socialsite.core.events.stream import publisher, rabbitmq, redis_streams
from socialsite.core.models import StreamRecord
from socialsite.core.runtime.stream_settings import StreamAddress, parse
from socialsite.core.tests.events.test_relay import Rang
from socialsite.doctor.checks import work
from socialsite.metrics import figures

pytestmark = pytest.mark.django_db(transaction=True)
_numbers = itertools.count(1)


@dataclasses.dataclass
class Broker:
    """A running broker, and the address of a stream of its own."""

    service: Service
    address: StreamAddress
    url: str

    def read(self, after: str = "") -> list[tuple[str, stream.Record]]:
        """Return everything after a position."""
        return list(self.stream().read(after, wait=False))

    def stream(self) -> stream.Stream:
        """Return a new connection."""
        return stream.connect(self.address, 2)


class Servers:
    """The brokers of this file, each started when a test asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, tuple[Service, str]] = {}

    def broker(self, kind: str) -> Broker:
        """Return a broker with an empty stream."""
        if kind not in self.running:
            self.running[kind] = self._make(kind)
        service, base = self.running[kind]
        service.start()
        url = f"{base}?name=test-{next(_numbers)}"
        address = parse(url)
        assert address is not None
        return Broker(service, address, url)

    def _make(self, kind: str) -> tuple[Service, str]:
        port, password = free_port(), secrets.token_hex(8)
        if kind == "redis":
            service = streams.redis_stream(self.folder, port, password)
            return service, databases.redis_url(port, password)
        service = streams.rabbitmq(self.folder, port, free_port(), free_port())
        return service, f"amqp://guest:guest@127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """The brokers of this file."""
    with tempfile.TemporaryDirectory(prefix="socialsite-stream-") as folder:
        Path(folder).chmod(0o711)  # services may run under another account
        found = Servers(Path(folder))
        yield found
        for service, _ in found.running.values():
            service.kill()


@contextlib.contextmanager
def used_by_the_site(found: Broker, settings: Any) -> Iterator[Broker]:
    settings.EVENT_STREAM = found.address
    publisher._quiet_until = 0
    yield found
    publisher._disconnect()


@pytest.fixture(params=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest, servers: Servers, settings: Any) -> Iterator[Broker]:
    """A broker with an empty stream, which the site uses."""
    if request.param == "rabbitmq" and not streams.has_rabbitmq():
        pytest.skip("needs rabbitmq-server")
    with used_by_the_site(servers.broker(request.param), settings) as found:
        yield found


@pytest.fixture
def only_redis(servers: Servers, settings: Any) -> Iterator[Broker]:
    """A stream of Redis, where the kind of broker makes no difference."""
    with used_by_the_site(servers.broker("redis"), settings) as found:
        yield found


def ring(bell: int = 1) -> None:
    with transaction.atomic():
        publish(Rang(bell_id=bell))


def record(ident: int, aggregate: int = 1) -> stream.Record:
    return stream.Record(ident, "Rang", "bell", aggregate, datetime.now(UTC), {"bellId": aggregate})


# --- writing ------------------------------------------------------------------------------------
def queries_of_a_ring() -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as found:
        ring()
    return [query["sql"].split()[0] for query in found if "SAVEPOINT" not in query["sql"]]


def test_without_a_stream_an_event_costs_not_one_query_more(settings) -> None:
    assert settings.EVENT_STREAM is None
    without = queries_of_a_ring()
    assert without.count("INSERT") == 1
    assert not StreamRecord.objects.exists()
    settings.EVENT_STREAM = parse("redis://127.0.0.1:1")
    assert sorted(queries_of_a_ring()) == sorted([*without, "INSERT"])
    assert StreamRecord.objects.count() == 1


def test_a_stream_by_the_binlog_writes_the_row_and_deletes_it(settings) -> None:
    without = queries_of_a_ring()
    settings.EVENT_STREAM = parse("binlog:")
    assert sorted(queries_of_a_ring()) == sorted([*without, "INSERT", "DELETE"])
    assert not StreamRecord.objects.exists()
    assert publisher.publish_waiting() == 0


def test_a_record_of_a_fact_that_is_rolled_back_is_not_written(only_redis: Broker) -> None:
    with transaction.atomic():
        publish(Rang(bell_id=1))
        transaction.set_rollback(True)
    assert publisher.publish_waiting() == 0
    assert only_redis.read() == []


def test_a_commit_sends_a_hint_to_the_publisher(only_redis: Broker, monkeypatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr("socialsite.core.events.enqueue.send", sent.append)
    ring()
    assert sorted(sent) == ["core.publish_stream", "core.relay_events"]


def test_only_two_fields_that_leave_the_site_are_texts_and_their_words_are_fixed() -> None:
    texts = set()
    for name, kind in registry.event_types.items():
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            leaves = kind.streamed and field.name not in kind.withheld
            if leaves and kind.__module__.endswith("events") and _has_text(hints[field.name]):
                texts.add(f"{name}.{field.name}")
    assert texts == {"TokensRevoked.reason", "CommentSettingsChanged.status"}


def _has_text(hint: Any) -> bool:
    if typing.get_origin(hint) in (types.UnionType, list, typing.Union):
        return any(map(_has_text, typing.get_args(hint)))
    return hint is str or hint is Any or hint is dict


# --- publishing ---------------------------------------------------------------------------------
def test_a_record_arrives_with_its_documented_form(broker: Broker, author) -> None:
    feeds_actions.publish(author, content="words that stay here")
    publisher.publish_waiting()
    found = [one for _, one in broker.read() if one.type == "PostPublished"]
    body = json.loads(found[0].to_json())
    assert set(body) == {"id", "type", "aggregateType", "aggregateId", "time", "payload"}
    assert body["aggregateType"] == "post"
    assert body["aggregateId"] == body["payload"]["id"]
    assert body["payload"]["authorId"] == author.pk
    assert "@request" not in str(body)
    assert "words" not in str([one.to_json() for _, one in broker.read()])
    assert not StreamRecord.objects.exists()


def test_facts_of_a_pair_that_many_threads_change_arrive_in_their_order(
    broker: Broker, make_user
) -> None:
    people = [make_user() for _ in range(3)]
    pairs = [(a, b) for a in people for b in people if a != b]
    start = threading.Barrier(7)
    is_over = threading.Event()

    def change(seed: int) -> None:
        dice = random.Random(seed)
        start.wait()
        for _ in range(30):
            act = dice.choice([relations_actions.follow, relations_actions.unfollow])
            act(*dice.choice(pairs))
        connection.close()

    def send() -> None:
        start.wait()
        while not is_over.is_set():
            publisher.publish_waiting()
        publisher.publish_waiting()
        connection.close()

    with ThreadPoolExecutor(7) as pool:
        sender = pool.submit(send)
        for change_of_one in [pool.submit(change, seed) for seed in range(6)]:
            change_of_one.result()
        is_over.set()
        sender.result()
    found = [one for _, one in broker.read() if one.aggregate_type == "following"]
    assert len(found) > 20
    for pair in {one.aggregate_id for one in found}:
        own = [one for one in found if one.aggregate_id == pair]
        assert [one.id for one in own] == sorted(one.id for one in own)
        versions = [one.payload["version"] for one in own]
        assert versions == sorted(set(versions))
        assert [one.type for one in own[::2]] == ["FollowCreated"] * len(own[::2])
        assert [one.type for one in own[1::2]] == ["FollowCanceled"] * len(own[1::2])


def test_a_publisher_killed_after_the_broker_confirmed_repeats_the_same_ids(
    broker: Broker,
) -> None:
    for bell in range(5):
        ring(bell)
    idents = list(StreamRecord.objects.order_by("pk").values_list("pk", flat=True))
    assert _publish_elsewhere(broker, FAILPOINT="stream-appended") == -signal.SIGKILL
    assert StreamRecord.objects.count() == 5
    ring(9)
    assert publisher.publish_waiting() == 6
    found = [one.id for _, one in broker.read()]
    assert found[:5] == found[5:10] == idents
    assert len(found) == 11


def _publish_elsewhere(broker: Broker, **env: str) -> int:
    """Publish in another process; return its exit code."""
    address = os.environ["DATABASE_URL"].rpartition("/")[0]
    code = (
        "import django; django.setup(); from socialsite.core.events.stream import publisher;"
        "publisher.publish_waiting()"
    )
    own = {
        "DJANGO_SETTINGS_MODULE": "socialsite.settings",
        "DATABASE_URL": f"{address}/{connection.settings_dict['NAME']}",
        "EVENT_STREAM_URL": broker.url,
    }
    return subprocess.run(
        python("-c", code), cwd=PROJECT_DIR, env=os.environ | own | env, check=False
    ).returncode


def test_while_the_broker_is_down_facts_are_written_and_wait(broker: Broker, caplog) -> None:
    ring(1)
    publisher.publish_waiting()
    broker.service.kill()
    ring(2)
    assert publisher.publish_waiting() == 0
    assert "change stream unavailable" in caplog.text
    assert StreamRecord.objects.count() == 1
    broker.service.start()
    assert publisher.publish_waiting() == 0, "it pauses after a failure"
    while StreamRecord.objects.exists():
        publisher._quiet_until = 0
        publisher.publish_waiting()
    assert [one.aggregate_id for _, one in broker.read()] == [1, 2]


def test_one_publisher_works_at_a_time(only_redis: Broker) -> None:
    ring()
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with db.named_lock("stream") as is_alone:
            assert is_alone
            inside.set()
            go_on.wait()
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        inside.wait()
        try:
            assert publisher.publish_waiting() == 0
        finally:
            go_on.set()
    assert publisher.publish_waiting() == 1


def test_a_call_is_bounded_and_takes_the_rest_in_the_next_one(
    only_redis: Broker, monkeypatch
) -> None:
    monkeypatch.setattr(publisher, "BATCH", 3)
    for bell in range(8):
        ring(bell)
    assert publisher.publish_waiting(most=5) == 5
    assert publisher.publish_waiting() == 3
    assert [one.aggregate_id for _, one in only_redis.read()] == list(range(8))


def test_after_a_restoration_no_id_is_given_out_twice(only_redis: Broker) -> None:
    ring()
    before = StreamRecord.objects.get().pk
    now = db.now_ms() * 1000
    call_command("end_sign_ins", stdout=StringIO())
    ring()
    first, second = StreamRecord.objects.order_by("pk").values_list("pk", flat=True)
    assert first == before < now <= second < 2**53


def test_the_figures_and_the_doctor_show_what_waits(only_redis: Broker, settings) -> None:
    ring()
    StreamRecord.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    values = {metric.name: metric.samples[0].value for metric in figures.collect()}
    assert values["socialsite_stream_records_waiting"] == 1
    assert values["socialsite_stream_lag_seconds"] >= 300
    assert any("change stream waits" in str(one.text) for one in work.worker())
    settings.EVENT_STREAM = None
    assert any("there is no stream" in str(one.text) for one in work.worker())


# --- brokers ------------------------------------------------------------------------------------
def test_a_consumer_that_was_away_reads_everything_after_its_position(broker: Broker) -> None:
    own = broker.stream()
    own.append([record(1), record(2, 2)])
    position = broker.read()[-1][0]
    assert broker.read(position) == []
    for ident in range(3, 700):
        own.append([record(ident, ident % 5)])
    broker.service.kill()
    broker.service.start()
    _until_it_answers(broker)
    assert [one.id for _, one in broker.read(position)] == list(range(3, 700))
    own.close()


def _until_it_answers(broker: Broker) -> None:
    """RabbitMQ answers before the stream does."""
    while True:
        try:
            broker.read()
        except stream.StreamDown:
            continue
        return


def test_a_waiting_reader_gets_what_is_appended_later(broker: Broker) -> None:
    broker.stream().append([record(1)])
    with ThreadPoolExecutor(1) as pool:
        reader = broker.stream().read("")
        assert next(reader)[1].id == 1
        later = pool.submit(next, reader)
        broker.stream().append([record(2)])
        assert later.result()[1].id == 2
    reader.close()  # type: ignore[attr-defined]


def test_texts_of_any_kind_survive(broker: Broker) -> None:
    one = dataclasses.replace(record(2**63 - 1), payload={"reason": 'a\n"ü 动态\x00'})
    broker.stream().append([one])
    found = broker.read()[0][1]
    assert (found.id, found.payload) == (one.id, one.payload)


@pytest.mark.parametrize("position", ["x", "1-", "-1", "17:x", "１", "9" * 30, "0\n"])
def test_a_position_of_no_stream_is_refused(broker: Broker, position: str) -> None:
    with pytest.raises(stream.BadPosition):
        broker.read(position)


def test_a_wrong_password_is_a_stream_that_is_down(broker: Broker) -> None:
    place = f"127.0.0.1:{broker.address.port}"
    user = "guest" if broker.address.scheme == "amqp" else ""
    address = parse(f"{broker.address.scheme}://{user}:wrong-word@{place}/")
    assert address is not None
    with pytest.raises(stream.StreamDown) as error:
        stream.connect(address, 2).append([record(1)])
    assert "wrong-word" not in str(error.value)


def test_redis_removes_old_entries_and_a_reader_that_missed_some_is_told(
    only_redis: Broker, monkeypatch
) -> None:
    monkeypatch.setattr(redis_streams, "_APPEND", redis_streams._APPEND.replace("'~', ", ""))
    with redis.Redis.from_url(only_redis.address.url) as server:
        old = [record(1), record(2)]
        for number, one in enumerate(old, 1):
            fields = {"n": number, "record": one.to_json()}
            server.xadd(only_redis.address.name, fields, id=f"{number}-0")
        server.set(f"{only_redis.address.name}:n", 2)
    positions = [position for position, _ in only_redis.read()]
    only_redis.stream().append([record(3)])
    assert [one.id for _, one in only_redis.read()] == [3]
    assert [one.id for _, one in only_redis.read(positions[1])] == [3]
    with pytest.raises(stream.Missed):
        only_redis.read(positions[0])


def test_a_batch_that_redis_cannot_hold_is_stored_by_no_part(only_redis: Broker) -> None:
    with redis.Redis.from_url(only_redis.address.url) as server:
        used = server.info("memory")["used_memory"]
        server.config_set("maxmemory", used)
        try:
            with pytest.raises(stream.StreamDown):
                only_redis.stream().append([record(1), record(2)])
        finally:
            server.config_set("maxmemory", 0)
    assert only_redis.read() == []


def test_rabbitmq_never_has_two_records_of_an_aggregate_under_way() -> None:
    records = [record(ident, aggregate) for ident, aggregate in enumerate([1, 2, 1, 1, 3, 2])]
    parts = [[one.id for one in part] for part in rabbitmq._apart(records)]
    assert parts == [[0, 1], [2], [3, 4, 5]]


def test_a_large_gap_of_offsets_is_a_missing_part() -> None:
    rabbitmq._check(5, 6)
    rabbitmq._check(5, 8)
    rabbitmq._check(None, 10**6)
    for offset in (5, 4, 5 + 10**6):
        with pytest.raises(stream.Missed):
            rabbitmq._check(5, offset)


@pytest.mark.slow(reason="starts processes and kills them")
def test_processes_that_are_killed_lose_nothing() -> None:
    """`make chaos ARGS="stream --kills 50"` is longer."""
    command = python("-m", "deploy.dev.trials", "chaos", "stream", "--kills", "6")
    trial = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, text=True, check=False)
    assert trial.returncode == 0, trial.stdout + trial.stderr


# --- the command --------------------------------------------------------------------------------
def follow(*words: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("follow_events", "--stop", *words, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_the_command_prints_records_with_positions(broker: Broker) -> None:
    broker.stream().append([record(1), record(2)])
    lines = follow()
    assert [line["record"]["id"] for line in lines] == [1, 2]
    assert follow("--after", lines[0]["position"]) == lines[1:]
    with pytest.raises(CommandError, match="a position looks like"):
        follow("--after", "yesterday")


def test_the_command_says_that_there_is_no_stream_or_broker(settings) -> None:
    for url in ("", "binlog:"):
        settings.EVENT_STREAM = parse(url)
        with pytest.raises(CommandError, match="names no broker"):
            follow()
    for scheme in ("redis", "amqp"):
        settings.EVENT_STREAM = parse(f"{scheme}://127.0.0.1:1")
        with pytest.raises(CommandError, match="does not answer"):
            follow()
