"""Spans of the round trips to Redis, for processes that collect traces."""

import functools
from collections.abc import Callable
from typing import Any

import redis

from socialsite.core.redis.wire import Wire
from socialsite.core.telemetry import tracing

NAMES_MAX = 10


def install() -> None:
    """Trace all round trips of this process from now on."""
    Wire.ask = _traced(Wire.ask, _names)  # type: ignore[method-assign]
    ask = _traced(redis.Redis.execute_command, str)
    redis.Redis.execute_command = ask  # type: ignore[method-assign]


def _names(commands: Any) -> str:
    return " ".join(str(command[0]) for command in commands[:NAMES_MAX])


def _traced(ask: Callable[..., Any], name_of: Callable[[Any], str]) -> Callable[..., Any]:
    """Return a method of a client that traces its calls: names of commands, never their keys."""

    @functools.wraps(ask)
    def traced(client: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
        with tracing.span(f"Redis {name_of(command)}", "CLIENT", db_system_name="redis"):
            return ask(client, command, *args, **kwargs)

    return traced
