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
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import redis
from django.conf import settings
from django_redis import get_redis_connection

from socialsite.core import db
from socialsite.core.redis.along import along, taken
from socialsite.core.redis.backlogs import Backlog
from socialsite.core.redis.circuit_breaker import RedisDown, breaker
from socialsite.core.redis.promises import Promise
from socialsite.core.redis.scripts import SCRIPTS, Split
from socialsite.core.redis.wire import wire_of

if TYPE_CHECKING:
    from socialsite.core.redis.sharded.client import Sharded

__all__ = [
    "IS_SPREAD",
    "SCANNED",
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
    "keys",
    "publish",
    "script",
    "send_later",
    "tag",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")

LUA_DIRS = "lua"
# Keys that one call of SCAN looks at.
SCANNED = 1000


# Whether the keys of the cache are spread over several servers, by hash slots.
IS_SPREAD = settings.CACHE_SERVERS is not None and settings.CACHE_SERVERS.is_cluster


@functools.cache
def client() -> "redis.Redis":
    """Return the client of django-redis' default cache, or that of several servers."""
    if settings.CACHE_SERVERS is None:
        return cast("redis.Redis", get_redis_connection("default"))
    from socialsite.core.redis.sharded.client import Sharded

    options = cast("Any", settings.CACHES["default"])["OPTIONS"]["CONNECTION_POOL_KWARGS"]
    return cast("redis.Redis", Sharded(settings.CACHE_SERVERS, options))


def tag(ident: int) -> str:
    """Return an id as a part of keys that one script changes together: they need one slot."""
    return f"{{{ident}}}" if IS_SPREAD else str(ident)


backlog = Backlog(lambda function: call(function), lambda messages: _replies_of(messages))


def invalidate(keys: Sequence[str]) -> None:
    """Delete keys that a commit made outdated; if Redis is down, later. Never raises."""
    if not keys:
        return
    if settings.CACHE_SERVERS is not None:
        cast("Sharded", client()).delete_everywhere(keys)
        return
    try:
        breaker.let_through()
        call(lambda connection: connection.delete(*keys))
    except RedisDown as error:
        logger.warning("%d keys are deleted when Redis is back: %s", len(keys), error)
        backlog.add(keys)


def publish(messages: Sequence[Sequence[Any]]) -> None:
    """Send messages to subscribers; if Redis is down, late, twice or never. Never raises."""
    if not messages:
        return
    try:
        replies = _replies_of(messages)
        error: Any = next((one for one in replies if isinstance(one, redis.ConnectionError)), None)
    except RedisDown as reason:
        error = reason
    if error is not None:
        logger.warning("%d messages are sent when Redis is back: %s", len(messages), error)
        backlog.add(messages=messages)


def keys(pattern: str) -> Iterator[bytes]:
    """Yield all keys like a pattern, on all servers. Raises RedisDown."""
    for connection in call(_masters):
        cursor: Any = 0
        while True:
            scan = functools.partial(connection.scan, cursor, match=pattern, count=SCANNED)
            cursor, some = call(lambda _connection, scan=scan: scan())  # type: ignore[misc]
            yield from (key if isinstance(key, bytes) else key.encode() for key in some)
            if not cursor:
                break


def _masters(connection: "redis.Redis") -> "list[redis.Redis]":
    if settings.CACHE_SERVERS is None:
        return [connection]
    return [*cast("Sharded", connection).masters()]


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
    if settings.CACHE_SERVERS is not None:  # each server has its own breaker, and no backlog
        try:
            return function(client())
        except redis.RedisError as error:
            raise RedisDown(str(error)) from error
    breaker.check()
    try:
        connection = client()
        wire_of(connection.connection_pool).settle()
        if backlog:
            backlog.settle(connection)
        answer = function(connection)
    except redis.RedisError as error:
        if isinstance(error, redis.ConnectionError | redis.TimeoutError):
            breaker.trip(is_slow=isinstance(error, redis.TimeoutError))
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
        # On several servers: how many parts end before the current one, and what runs before it.
        self.part = 0
        self._earlier: list[Batch] = []

    @functools.cached_property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: it must not read caches, which ignore its writes."""
        return db.in_transaction()

    def get(
        self, keys: Sequence[str], read: Callable[[list[bytes | None]], T], *, spotty: bool = False
    ) -> Promise[T]:
        """Read the strings of some keys; None for a missing key or another type.

        If only some servers answer, a `spotty` read takes the keys of the others for missing.
        """
        promise: Promise[T] = Promise()
        self._keys += keys
        if IS_SPREAD:
            read = _spotty(read) if spotty else _whole(read)
        self._gets.append((promise, len(keys), read))
        return promise

    def add(self, *command: Any, read: Callable[[Any], T] | None = None) -> Promise[T]:
        """Add one command, its name and arguments."""
        promise: Promise[T] = Promise()
        self._commands.append(command)
        self._promises.append((promise, read))
        return promise

    def then(self) -> None:
        """Run what is added from now on after all that was added before.

        One server runs commands in their order anyway; for several it is one round trip more.
        """
        if IS_SPREAD and (self._keys or self._commands):
            earlier = Batch()
            earlier._keys, earlier._gets, self._keys, self._gets = self._keys, self._gets, [], []
            earlier._commands, earlier._promises = self._commands, self._promises
            self._commands, self._promises = [], []
            self._earlier.append(earlier)
            self.part += 1

    def run(self) -> None:
        """Send the commands added since the last run; never raises RedisDown."""
        join = taken() if self._keys or self._commands else None
        receive = join(self) if join else None
        earlier, self._earlier = self._earlier, []
        for part in (*earlier, self):
            part._run()
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
            replies = _replies_of(commands)
        except RedisDown:
            return
        if keys:
            values, start = replies.pop(0), 0
            if isinstance(values, Exception):
                gets = []
            for got, count, pick in gets:
                with contextlib.suppress(RedisDown):
                    got.set(pick(values[start : start + count]))
                start += count
        for (promise, read), reply in zip(promises, replies, strict=True):
            if not isinstance(reply, Exception):
                promise.set(reply if read is None else read(reply))


def _post(connection: "redis.Redis", commands: Sequence[Sequence[Any]]) -> None:
    wire_of(connection.connection_pool).post(commands)


def _replies(connection: "redis.Redis", commands: Sequence[Sequence[Any]]) -> list[Any]:
    """Send commands together and return their replies; a failed command's reply is its error."""
    return wire_of(connection.connection_pool).ask(commands)


def _replies_of(commands: Sequence[Sequence[Any]]) -> list[Any]:
    return call(functools.partial(_replies, commands=commands))


def _whole(read: Callable[[list[bytes | None]], T]) -> Callable[[list[Any]], T]:
    """Let a read fail if one of its values is an error."""

    def strict(values: list[Any]) -> T:
        if any(isinstance(one, Exception) for one in values):
            raise RedisDown("a server does not answer")
        return read(values)

    return strict


def _spotty(read: Callable[[list[bytes | None]], T]) -> Callable[[list[Any]], T]:
    """Let a read take values that are errors for missing."""
    return lambda values: read([None if isinstance(one, Exception) else one for one in values])


@functools.cache
def script(module_file: str, name: str, split: Split | None = None) -> "Script":
    """Return the Lua script `lua/<name>.lua` beside a module (pass its `__file__`).

    With several keys that are not of one `tag` it needs a `split`, for several servers.
    """
    return Script(Path(module_file).parent / LUA_DIRS / f"{name}.lua", split)


class Script:
    """A Lua script kept in a file, run by its SHA with a fallback to its text."""

    def __init__(self, path: Path, split: Split | None = None) -> None:
        self.text, self.split = path.read_text(), split
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        SCRIPTS[self.sha] = self

    def __call__(self, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run it now; RedisDown when Redis does not answer."""
        batch = Batch()
        reply: Promise[Any] = batch.add(*self.command(keys, args))
        batch.run()
        return reply.value

    def command(self, keys: Sequence[str], args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the script as a command for a Batch, which loads missing scripts."""
        return ("EVALSHA", self.sha, len(keys), *keys, *args)
