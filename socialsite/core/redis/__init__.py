"""The only package that talks to Redis: short timeouts, no retries, a circuit breaker, `Batch`.

Keys and their contents belong to the `cache` modules of the apps and to `core.cache`.

Redis is disposable. Every caller must be right without it: it catches `RedisDown` and reads the
database. After a failure the circuit breaker raises `RedisDown` at once for BREAK_SECONDS.

`invalidate` deletes keys that a commit made outdated; `publish` sends messages to subscribers.
While Redis is down, both add to a backlog that a thread works off: the keys are deleted before any
other command of this process, the messages are sent a moment after Redis is back.
"""

import contextlib
import functools
import hashlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import redis
from django_redis import get_redis_connection
from redis.exceptions import NoScriptError

from socialsite.core import db
from socialsite.core.redis.along import along, taken
from socialsite.core.redis.circuit_breaker import RedisDown, breaker
from socialsite.core.redis.wire import wire_of

__all__ = [
    "Batch",
    "Promise",
    "RedisDown",
    "Script",
    "along",
    "backlog",
    "breaker",
    "bypassed",
    "call",
    "client",
    "gathered",
    "invalidate",
    "publish",
    "script",
    "send_later",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")

LUA_DIRS = "lua"


@functools.cache
def client() -> "redis.Redis":
    """Return the client of django-redis' default cache."""
    return cast("redis.Redis", get_redis_connection("default"))


class _Backlog:
    """Keys to delete and messages to send as soon as Redis answers.

    Above LIMIT keys the whole database is flushed; messages above MESSAGES_LIMIT are dropped. Equal
    messages are sent once.
    """

    LIMIT = 50_000
    MESSAGES_LIMIT, MESSAGES_EACH = 10_000, 1_000
    PAUSE_SECONDS = 0.5
    # Subscribers reconnect later than clients: the channel layer sleeps for a second.
    LISTENERS_SECONDS = 2.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: set[str] = set()
        self._messages: dict[Sequence[Any], None] = {}
        self._thread: threading.Thread | None = None

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, keys: Iterable[str] = (), messages: Iterable[Sequence[Any]] = ()) -> None:
        with self._lock:
            self._keys.update(keys)
            for message in messages:
                if len(self._messages) < self.MESSAGES_LIMIT:
                    self._messages[message] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._collect, daemon=True)
                self._thread.start()

    def settle(self, connection: "redis.Redis") -> None:
        with self._lock:
            keys = list(self._keys)
            if len(keys) > self.LIMIT:
                connection.flushdb()
            elif keys:
                connection.delete(*keys)
            self._keys.clear()

    def clear(self) -> None:
        """Drop everything; the thread ends by itself."""
        with self._lock:
            self._keys.clear()
            self._messages.clear()
            self._thread = None

    def _collect(self) -> None:
        while True:
            time.sleep(self.PAUSE_SECONDS)
            if self._is_over():
                return
            with contextlib.suppress(RedisDown):
                call(lambda connection: connection.ping())
                if self._messages:
                    time.sleep(self.LISTENERS_SECONDS)
                    self._send_messages()

    def _is_over(self) -> bool:
        with self._lock:
            if self._thread is threading.current_thread() and not (self._keys or self._messages):
                self._thread = None
            return self._thread is not threading.current_thread()

    def _send_messages(self) -> None:
        while some := list(itertools.islice(self._messages, self.MESSAGES_EACH)):
            call(functools.partial(_replies, commands=some))
            with self._lock:
                for message in some:
                    self._messages.pop(message, None)


backlog = _Backlog()


def invalidate(keys: Sequence[str]) -> None:
    """Delete keys that a commit made outdated; if Redis is down, later. Never raises."""
    if not keys:
        return
    try:
        call(lambda connection: connection.delete(*keys))
    except RedisDown as error:
        logger.warning("%d keys are deleted when Redis is back: %s", len(keys), error)
        backlog.add(keys)


def publish(messages: Sequence[Sequence[Any]]) -> None:
    """Send messages to subscribers; if Redis is down, late, twice or never. Never raises."""
    if not messages:
        return
    try:
        call(functools.partial(_replies, commands=messages))
    except RedisDown as error:
        logger.warning("%d messages are sent when Redis is back: %s", len(messages), error)
        backlog.add(messages=messages)


_is_bypassed: ContextVar[bool] = ContextVar("is_bypassed", default=False)


@contextlib.contextmanager
def bypassed() -> Iterator[None]:
    """Make Redis appear down inside the block, so that only the database is read."""
    token = _is_bypassed.set(True)
    try:
        yield
    finally:
        _is_bypassed.reset(token)


def call(function: Callable[["redis.Redis"], T]) -> T:
    """Run a function on the client; RedisDown instead of any Redis error."""
    if _is_bypassed.get():
        raise RedisDown("bypassed")
    breaker.check()
    try:
        connection = client()
        _settle(connection)
        if backlog:
            backlog.settle(connection)
        answer = function(connection)
    except redis.RedisError as error:
        if isinstance(error, redis.ConnectionError | redis.TimeoutError):
            breaker.trip()
        else:
            breaker.reset()
        raise RedisDown(str(error)) from error
    breaker.reset()
    return answer


class _Later(threading.local):
    """Commands of this thread whose replies nobody awaits, while they are gathered."""

    commands: list[Sequence[Any]] | None = None


_later = _Later()


@contextlib.contextmanager
def gathered() -> Iterator[None]:
    """Send the `send_later` commands of the block in one round trip at its end."""
    if _later.commands is not None:
        yield
        return
    _later.commands = []
    try:
        yield
    finally:
        commands, _later.commands = _later.commands, None
        _send_unasked(commands)


def send_later(*command: Any) -> None:
    """Send a command whose reply does not matter, now or when `gathered` ends. Never raises."""
    if _later.commands is None:
        _send_unasked([command])
    else:
        _later.commands.append(command)


def _send_unasked(commands: Sequence[Sequence[Any]]) -> None:
    """Send commands without waiting; the thread's next call to Redis reads the replies."""
    if not commands:
        return
    with contextlib.suppress(RedisDown):
        call(functools.partial(_post, commands=commands))


class Promise(Generic[T]):
    """The value of one read of a Batch, available after the batch has run."""

    __slots__ = ("_ready", "_value")

    def __init__(self) -> None:
        self._ready = False
        self._value: T | None = None

    def set(self, value: T) -> None:
        """Store the value."""
        self._value, self._ready = value, True

    @property
    def value(self) -> T:
        """The value; RedisDown when the batch did not get it."""
        if not self._ready:
            raise RedisDown("no answer")
        return cast("T", self._value)

    @property
    def known(self) -> T | None:
        """The value; None when the batch did not get it."""
        return self._value


class Batch:
    """Commands of several apps, sent in one round trip.

    The keys of all `get` calls go first, in one MGET; the other commands follow in order. The
    `value` of a promise raises RedisDown if Redis was down, or if its own command failed.
    """

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._gets: list[tuple[Promise[Any], int, Callable[[Any], Any]]] = []
        self._commands: list[Sequence[Any]] = []
        self._promises: list[tuple[Promise[Any], Callable[[Any], Any] | None]] = []

    @functools.cached_property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: it must not read caches, which ignore its writes."""
        return db.in_transaction()

    def get(self, keys: Sequence[str], read: Callable[[list[bytes | None]], T]) -> Promise[T]:
        """Read the strings of some keys; None for a missing key or another type."""
        promise: Promise[T] = Promise()
        self._keys += keys
        self._gets.append((promise, len(keys), read))
        return promise

    def add(self, *command: Any, read: Callable[[Any], T] | None = None) -> Promise[T]:
        """Add one command, its name and arguments."""
        promise: Promise[T] = Promise()
        self._commands.append(command)
        self._promises.append((promise, read))
        return promise

    def run(self) -> None:
        """Send the commands added since the last run; never raises RedisDown."""
        join = taken() if self._keys or self._commands else None
        receive = join(self) if join else None
        self._run()
        if receive:
            receive()

    def _run(self) -> None:
        keys, gets, self._keys, self._gets = self._keys, self._gets, [], []
        commands, promises, self._commands, self._promises = self._commands, self._promises, [], []
        if keys:
            commands.insert(0, ("MGET", *keys))
        if not commands:
            return
        try:
            replies = call(functools.partial(_send, commands=commands))
        except RedisDown:
            return
        if keys:
            values, start = replies.pop(0), 0
            for got, count, pick in gets:
                got.set(pick(values[start : start + count]))
                start += count
        for (promise, read), reply in zip(promises, replies, strict=True):
            if not isinstance(reply, Exception):
                promise.set(reply if read is None else read(reply))


def _send(connection: "redis.Redis", commands: Sequence[Sequence[Any]]) -> list[Any]:
    replies = _replies(connection, commands)
    unknown = [n for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
    if unknown:  # a new or emptied Redis
        _load_scripts(connection)
        again = _replies(connection, [commands[n] for n in unknown])
        for number, reply in zip(unknown, again, strict=True):
            replies[number] = reply
    return replies


def _post(connection: "redis.Redis", commands: Sequence[Sequence[Any]]) -> None:
    wire_of(connection.connection_pool).post(commands)


def _replies(connection: "redis.Redis", commands: Sequence[Sequence[Any]]) -> list[Any]:
    """Send commands together and return their replies; a failed command's reply is its error."""
    return wire_of(connection.connection_pool).ask(commands)


def _settle(connection: "redis.Redis") -> None:
    """Read the replies of posted commands; send those again whose script was not loaded.

    So a thread's reads run after its earlier writes. A broken wire has no replies.
    """
    wire = wire_of(connection.connection_pool)
    if not wire.posted:
        return
    posted, wire.posted = wire.posted, ()
    try:
        replies = wire.read(len(posted))
    except redis.ConnectionError:
        return
    again = [posted[n] for n, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
    if again:
        _load_scripts(connection)
        wire.ask(again)


@functools.cache
def script(module_file: str, name: str) -> "Script":
    """Return the Lua script `lua/<name>.lua` beside a module (pass its `__file__`)."""
    return Script(Path(module_file).parent / LUA_DIRS / f"{name}.lua")


_scripts: list["Script"] = []


def _load_scripts(connection: "redis.Redis") -> None:
    for one in _scripts:
        connection.script_load(one.text)


class Script:
    """A Lua script kept in a file, run by its SHA with a fallback to its text."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()
        self._sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        _scripts.append(self)

    def __call__(self, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run it now; RedisDown when Redis does not answer."""

        batch = Batch()
        reply: Promise[Any] = batch.add(*self.command(keys, args))
        batch.run()
        return reply.value

    def command(self, keys: Sequence[str], args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the script as a command for a Batch, which loads missing scripts."""
        return ("EVALSHA", self._sha, len(keys), *keys, *args)
