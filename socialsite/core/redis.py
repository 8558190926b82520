"""The only module that talks to Redis: short timeouts, no retries, a circuit breaker, `Batch`.

Redis is disposable. Every caller must be right without it: it catches `RedisDown` and asks the
database. After a failure the breaker answers `RedisDown` at once for BREAK_SECONDS.
"""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import redis
from django_redis import get_redis_connection

T = TypeVar("T")

BREAK_SECONDS = 2.0
LUA_DIRS = "lua"


class RedisDown(Exception):
    """Redis does not answer, answers with an error, or was found so a moment ago."""


class _Breaker:
    """Opens for BREAK_SECONDS after a failure; then one caller tries, and the others stay out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open_until = 0.0

    def check(self) -> None:
        if not self._open_until:
            return
        with self._lock:
            now = time.monotonic()
            if now < self._open_until:
                raise RedisDown("circuit open")
            if self._open_until:
                self._open_until = now + BREAK_SECONDS  # ours to try; its success resets

    def trip(self) -> None:
        with self._lock:
            self._open_until = time.monotonic() + BREAK_SECONDS

    def reset(self) -> None:
        self._open_until = 0.0


breaker = _Breaker()


def client() -> "redis.Redis":
    """Return the client of django-redis' default cache."""
    return cast("redis.Redis", get_redis_connection("default"))


def call(function: Callable[["redis.Redis"], T]) -> T:
    """Run a function on the client; RedisDown instead of any Redis error."""
    breaker.check()
    try:
        answer = function(client())
    except redis.RedisError as error:
        if isinstance(error, redis.ConnectionError | redis.TimeoutError):
            breaker.trip()
        else:
            breaker.reset()
        raise RedisDown(str(error)) from error
    breaker.reset()
    return answer


class Promise(Generic[T]):
    """The value of one read of a Batch, there after the batch was run."""

    __slots__ = ("_ready", "_value")

    def __init__(self) -> None:
        self._ready = False
        self._value: T | None = None

    def set(self, value: T) -> None:
        """Keep the value."""
        self._value, self._ready = value, True

    @property
    def value(self) -> T:
        """The value; RedisDown when the batch did not get it."""
        if not self._ready:
            raise RedisDown("no answer")
        return cast("T", self._value)


class Batch:
    """One pipeline, filled by several apps, sent in one round trip.

    `add` takes a function that puts exactly one command on the pipeline, and one that reads the
    reply. Without Redis the promises raise RedisDown when their value is asked for.
    """

    def __init__(self) -> None:
        self._commands: list[Callable[[Any], Any]] = []
        self._promises: list[tuple[Promise[Any], Callable[[Any], Any]]] = []

    def add(
        self, command: Callable[[Any], Any], read: Callable[[Any], T] = lambda reply: reply
    ) -> Promise[T]:
        """Put one command into the batch and return the promise of its value."""
        promise: Promise[T] = Promise()
        self._commands.append(command)
        self._promises.append((promise, read))
        return promise

    def run(self) -> None:
        """Send what was added since the last run; never raises for Redis."""
        commands, self._commands = self._commands, []
        promises, self._promises = self._promises, []
        if not commands:
            return

        def send(connection: "redis.Redis") -> Sequence[Any]:
            pipeline = connection.pipeline(transaction=False)
            for command in commands:
                command(pipeline)
            return pipeline.execute(raise_on_error=False)

        try:
            replies = call(send)
        except RedisDown:
            return
        for (promise, read), reply in zip(promises, replies, strict=True):
            if not isinstance(reply, Exception):
                promise.set(read(reply))


@functools.cache
def _script_text(path: Path) -> str:
    return path.read_text()


@functools.cache
def script(module_file: str, name: str) -> "Script":
    """Return the Lua script `lua/<name>.lua` beside a module (pass its `__file__`)."""
    return Script(Path(module_file).parent / LUA_DIRS / f"{name}.lua")


class Script:
    """A Lua script kept in a file, run by its SHA with a fallback to its text."""

    def __init__(self, path: Path) -> None:
        self._script = redis.Redis().register_script(_script_text(path))

    def __call__(self, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Run it now; RedisDown when Redis does not answer."""
        return call(lambda connection: self._script(keys=keys, args=args, client=connection))

    def on(self, pipeline: Any, keys: Sequence[str], args: Sequence[Any]) -> Any:
        """Put it on a pipeline (for Batch)."""
        return self._script(keys=keys, args=args, client=pipeline)
