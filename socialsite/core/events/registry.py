"""Handlers of each event, in three stages.

WITHIN the transaction of the fact (database only, cheap); RELAY: database effects, committed
together with the mark that they are applied; AFTER: idempotent effects outside the database, after
that commit.
"""

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

Handler = Callable[[Any], None]
H = TypeVar("H", bound=Handler)


class Stage(enum.Enum):
    """When a handler runs."""

    WITHIN = "within"
    RELAY = "relay"
    AFTER = "after"


event_types: dict[str, Any] = {}
_handlers: dict[tuple[str, Stage], list[Handler]] = defaultdict(list)


def on(*types: type[Any], within: bool = False, after: bool = False) -> Callable[[H], H]:
    """Register a handler for event types; the default stage is RELAY."""
    if within and after:
        raise ValueError("a handler runs at one stage")
    stage = Stage.WITHIN if within else Stage.AFTER if after else Stage.RELAY

    def register(handler: H) -> H:
        for event_type in types:
            _handlers[event_type.__name__, stage].append(handler)
        return handler

    return register


def handlers(event_type: type[Any], stage: Stage) -> list[Handler]:
    """Return the handlers of one type and stage in the order of registration."""
    return _handlers.get((event_type.__name__, stage), [])
