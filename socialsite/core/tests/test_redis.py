"""The Redis client: circuit breaker, batches, scripts, a server that hangs."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis as redis_py
from channels_redis.utils import create_pool
from django.conf import settings
from fakeredis import FakeServer
from redis import asyncio as aioredis

from socialsite.core import redis
from socialsite.core.redis import Promise, circuit_breaker, wire
from socialsite.core.redis import backlog as backlogs
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.embedded


@pytest.fixture(autouse=True)
def _closed_breaker():
    redis.breaker.reset()
    yield
    redis.breaker.reset()


@pytest.fixture
def broken(monkeypatch):
    """A client whose every command fails to connect; the list counts the attempts."""
    attempts: list[str] = []

    def fail():
        attempts.append("try")
        raise redis_py.ConnectionError("no route")

    monkeypatch.setattr(redis, "client", fail)
    return attempts


def test_a_failure_opens_the_breaker_and_the_next_call_fails_at_once(broken) -> None:
    for _ in range(5):
        with pytest.raises(redis.RedisDown):
            redis.call(lambda connection: connection.ping())
    assert len(broken) == 1


@pytest.fixture
def breaker_clock() -> Iterator[SimpleNamespace]:
    """The clock of the breaker, which stands still unless the test moves its `now` (seconds)."""
    clock = SimpleNamespace(now=1000.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(circuit_breaker, "time", SimpleNamespace(monotonic=lambda: clock.now))
        yield clock
    redis.breaker.reset()


def test_the_breaker_closes_after_its_time(broken, breaker_clock, monkeypatch) -> None:
    for moment in (0.0, circuit_breaker.BREAK_SECONDS - 0.01):
        breaker_clock.now = 1000 + moment
        with pytest.raises(redis.RedisDown):
            redis.call(lambda connection: connection.ping())
    assert len(broken) == 1
    breaker_clock.now = 1000 + circuit_breaker.BREAK_SECONDS
    monkeypatch.undo()
    assert redis.call(lambda connection: connection.ping())


def test_redis_appears_down_only_inside_bypassed() -> None:
    others: list[object] = []

    def another() -> None:
        others.append(redis.call(lambda connection: connection.ping()))

    with redis.bypassed():
        batch = redis.Batch()
        asked: Promise[Any] = batch.add("GET", "x")
        batch.run()
        with pytest.raises(redis.RedisDown):
            asked.value  # noqa: B018
        with pytest.raises(redis.RedisDown, match="bypassed"):
            redis.call(lambda connection: connection.ping())
        thread = threading.Thread(target=another)
        thread.start()
        thread.join()
    assert others == [True]
    assert redis.call(lambda connection: connection.ping())


def test_after_its_time_one_caller_tries_and_the_others_stay_out(
    broken, breaker_clock, monkeypatch
) -> None:
    with pytest.raises(redis.RedisDown):
        redis.call(lambda connection: connection.ping())
    breaker_clock.now += circuit_breaker.BREAK_SECONDS
    monkeypatch.undo()

    def another_caller_meanwhile(connection):
        with pytest.raises(redis.RedisDown, match="circuit open"):
            redis.call(lambda connection: connection.ping())
        return connection.ping()

    assert redis.call(another_caller_meanwhile)
    assert redis.call(lambda connection: connection.ping())


def test_a_wrong_command_is_redis_down_but_opens_no_breaker() -> None:
    redis.call(lambda connection: connection.set("text", "x"))
    with pytest.raises(redis.RedisDown):
        redis.call(lambda connection: connection.lpush("text", "y"))
    assert redis.call(lambda connection: connection.get("text")) == b"x"


def test_a_batch_answers_each_promise_in_one_round_trip(monkeypatch) -> None:
    redis.call(lambda connection: connection.mset({"a": "1", "b": "2"}))
    trips = []
    real = redis.call
    monkeypatch.setattr(redis, "call", lambda function: trips.append(1) or real(function))
    batch = redis.Batch()
    first = batch.add("GET", "a", read=int)
    second: Promise[Any] = batch.add("GET", "b")
    with pytest.raises(redis.RedisDown):
        _ = first.value
    batch.run()
    assert (first.value, second.value) == (1, b"2")
    assert len(trips) == 1
    batch.run()
    assert len(trips) == 1


def test_one_failed_command_of_a_batch_spoils_no_other() -> None:
    redis.call(lambda connection: connection.set("text", "x"))
    batch = redis.Batch()
    bad: Promise[Any] = batch.add("LPUSH", "text", "y")
    good: Promise[Any] = batch.add("GET", "text")
    batch.run()
    assert good.value == b"x"
    with pytest.raises(redis.RedisDown):
        _ = bad.value


def test_a_batch_without_redis_does_not_raise_until_a_value_is_read(broken) -> None:
    batch = redis.Batch()
    promise: Promise[Any] = batch.add("GET", "a")
    batch.run()
    with pytest.raises(redis.RedisDown):
        _ = promise.value


def test_all_keys_that_several_apps_read_are_one_command(monkeypatch) -> None:
    redis.call(lambda connection: connection.mset({"a": "1", "b": "2"}))
    redis.call(lambda connection: connection.lpush("list", "x"))
    sent: list[object] = []
    real = redis._replies
    monkeypatch.setattr(
        redis,
        "_replies",
        lambda wire, commands: sent.append(list(commands)) or real(wire, commands),
    )
    batch = redis.Batch()
    counted: Promise[Any] = batch.add("INCR", "a")
    both = batch.get(["b", "a"], lambda values: values)
    one = batch.get(["a"], lambda values: int(values[0] or 0))
    none = batch.get(["nothing", "list"], lambda values: values)
    batch.run()
    assert sent == [[("MGET", "b", "a", "a", "nothing", "list"), ("INCR", "a")]]
    assert (both.value, one.value, none.value) == ([b"2", b"1"], 1, [None, None])
    assert counted.value == 2


def test_a_batch_can_be_filled_and_run_again() -> None:
    redis.call(lambda connection: connection.set("a", "1"))
    batch = redis.Batch()
    first: Promise[Any] = batch.add("GET", "a")
    batch.run()
    second: Promise[Any] = batch.add("INCR", "a")
    batch.run()
    assert (first.value, second.value) == (b"1", 2)


@pytest.fixture
def script(tmp_path):
    """A script file that returns its key's value and its argument."""
    folder = tmp_path / "lua"
    folder.mkdir()
    (folder / "look.lua").write_text("return {redis.call('GET', KEYS[1]), ARGV[1]}")
    return redis.script(str(tmp_path / "cache.py"), "look")


def test_a_script_is_loaded_again_after_redis_lost_it(script) -> None:
    redis.call(lambda connection: connection.set("a", "1"))
    assert script(["a"], ["x"]) == [b"1", b"x"]
    redis.call(lambda connection: connection.script_flush())
    assert script(["a"], ["y"]) == [b"1", b"y"]


def test_a_script_runs_inside_a_batch(script) -> None:
    redis.call(lambda connection: connection.set("a", "1"))
    batch = redis.Batch()
    before: Promise[Any] = batch.add("GET", "a")
    found: Promise[Any] = batch.add(*script.command(["a"], ["x"]))
    after: Promise[Any] = batch.add("INCR", "a")
    batch.run()
    assert (before.value, found.value, after.value) == (b"1", [b"1", b"x"], 2)


def test_a_script_without_redis_is_redis_down(script, broken) -> None:
    with pytest.raises(redis.RedisDown):
        script(["a"], [])


@pytest.fixture
def hanging():
    """A server that accepts but never answers: its port, and its connections."""
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def accept() -> None:
        try:
            while True:
                held.append(server.accept()[0])
        except OSError:
            return

    threading.Thread(target=accept, daemon=True).start()
    yield SimpleNamespace(port=server.getsockname()[1], held=held)
    server.close()
    for connection in held:
        connection.close()


@pytest.mark.full
@pytest.mark.skipif(settings.EMBEDDED, reason="the embedded Redis has no socket")
def test_a_server_that_hangs_costs_one_short_wait(hanging, monkeypatch) -> None:
    caches: Any = settings.CACHES
    options = caches["default"]["OPTIONS"]["CONNECTION_POOL_KWARGS"]
    client = redis_py.Redis(host="127.0.0.1", port=hanging.port, **options)
    monkeypatch.setattr(redis, "client", lambda: client)
    assert options["socket_timeout"] == options["socket_connect_timeout"] == 0.2
    start = time.monotonic()
    with pytest.raises(redis.RedisDown):
        redis.call(lambda connection: connection.get("a"))
    assert time.monotonic() - start >= 0.2
    for _ in range(100):
        with pytest.raises(redis.RedisDown, match="circuit open"):
            redis.call(lambda connection: connection.get("a"))
    # Retries would be more connections, each with the same wait. They are accepted in their order,
    # so none is left before the last one.
    with socket.create_connection(("127.0.0.1", hanging.port)) as last:
        ours = last.getsockname()
        eventually(lambda: [one.getpeername() for one in hanging.held], lambda has: ours in has)
    assert len(hanging.held) == 2


def test_the_backlog_thread_ends_without_commands_after_a_clear(round_trips, monkeypatch) -> None:
    """A thread that outlives its test would make a round trip in the next one."""
    sleeps, cleared = threading.Event(), threading.Event()

    def sleep(seconds: float) -> None:
        sleeps.set()
        assert cleared.wait(60)

    monkeypatch.setattr(backlogs, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic))
    redis.backlog.add(["a"])
    thread = redis.backlog._thread
    assert sleeps.wait(60)
    redis.backlog.clear()
    cleared.set()
    assert thread is not None
    thread.join(60)
    assert round_trips == []


# --- deferred commands --------------------------------------------------------------------------
def test_later_commands_are_sent_at_once_or_gathered_in_one_round_trip(round_trips) -> None:
    def value() -> bytes | str | None:
        return redis.call(lambda connection: connection.get("a"))

    redis.send_later("SET", "a", "1")
    assert value() == b"1"
    round_trips.clear()
    with redis.gathered():
        redis.send_later("SET", "a", "2")
        with redis.gathered():
            redis.send_later("LPUSH", "a", "wrong")  # its error affects no other command
        redis.send_later("INCR", "a")
        assert round_trips == []
    assert len(round_trips) == 1
    assert value() == b"3"


def test_gathered_commands_are_sent_after_an_error_and_never_raise(
    dead_redis,
) -> None:
    def fail() -> None:
        with redis.gathered():
            redis.send_later("SET", "a", "1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with dead_redis(), redis.gathered():
        redis.send_later("SET", "a", "2")
    assert redis.call(lambda connection: connection.get("a")) == b"1"


def test_posted_commands_run_before_the_next_read_of_the_thread() -> None:
    for number in range(50):
        redis.send_later("SET", "later", number)
        redis.send_later("NO-SUCH-COMMAND")
        assert redis.call(lambda client: client.get("later")) == b"%d" % number
        batch = redis.Batch()
        promise: redis.Promise[bytes] = batch.add("GET", "later")
        redis.send_later("SET", "later", "again")
        batch.run()
        assert promise.value == b"again"


def test_posted_commands_run_after_redis_lost_its_scripts(tmp_path: Path) -> None:
    (tmp_path / "set.lua").write_text("return redis.call('SET', KEYS[1], ARGV[1])")
    script = redis.Script(tmp_path / "set.lua")
    redis.call(lambda client: client.script_flush())
    redis.send_later(*script.command(["scripted"], ["yes"]))
    assert redis.call(lambda client: client.get("scripted")) == b"yes"


@pytest.mark.parametrize("cut_off", ["read", "_send"])
def test_answers_that_an_interrupt_left_unread_are_nobody_elses(
    monkeypatch: pytest.MonkeyPatch, cut_off: str
) -> None:
    """A signal's exception can arise anywhere, also between sending and reading."""
    redis.call(lambda client: client.mset({"a": "1", "b": "2"}))

    def ask(key: str) -> bytes:
        batch = redis.Batch()
        promise: redis.Promise[bytes] = batch.add("GET", key)
        batch.run()
        return promise.value

    whole = getattr(wire.Wire, cut_off)

    def interrupted(self: wire.Wire, *args: Any) -> Any:
        if cut_off == "_send":
            whole(self, *args)
        raise KeyboardInterrupt

    send = {"read": ask, "_send": lambda key: redis.send_later("GET", key)}
    with monkeypatch.context() as patch:
        patch.setattr(wire.Wire, cut_off, interrupted)
        with pytest.raises(KeyboardInterrupt):
            send[cut_off]("a")
    assert ask("b") == b"2"


@pytest.mark.skipif(not settings.EMBEDDED, reason="the full stack has a server with an address")
def test_threads_and_sockets_of_the_embedded_mode_share_one_server(monkeypatch) -> None:
    """The library may create one server for each concurrent look-up."""

    def another(key: str, version: Any, server_type: Any) -> FakeServer:
        return FakeServer(version=version, server_type=server_type)

    monkeypatch.setattr(FakeServer, "get_server", another)
    redis.call(lambda connection: connection.set("shared", "yes"))
    found: list[object] = []

    def ask() -> None:
        batch = redis.Batch()
        answer: Promise[Any] = batch.add("GET", "shared")
        batch.run()
        found.append(answer.value)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    async def ask_as_the_channel_layer_does() -> None:
        layers: Any = settings.CHANNEL_LAYERS
        (host,) = layers["default"]["CONFIG"]["hosts"]
        async with aioredis.Redis(connection_pool=create_pool(host)) as connection:
            found.append(await connection.get("shared"))

    asyncio.run(ask_as_the_channel_layer_does())
    assert found == [b"yes", b"yes"]
