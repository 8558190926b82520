"""Domain events: declared as dataclasses, published with the fact, handled at least once.

The events themselves and their handlers belong to the `events` and `subscribers` of the apps.

`publish()` writes a row of the transactional outbox in the transaction of the fact and runs the
`within` handlers there. `core.events.relay` runs the other handlers later. An event is only a
trigger: a handler reads the fact again and brings its own table in line, so repeats and reordering
are harmless (T22).

During an update processes of two versions share the outbox. An event that a process does not know,
or knows in an older format only, stays there for the other ones (`UnknownEvent`).
"""

import dataclasses
from datetime import timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from socialsite.core import db
from socialsite.core.events import enqueue, registry
from socialsite.core.events.stream import waiting
from socialsite.core.models import Event
from socialsite.core.runtime import request_ids
from socialsite.core.runtime.failpoints import failpoint

# Its key in a payload cannot be that of a field, which begins with a letter.
_FORMAT = "@format"


class UnknownEvent(Exception):
    """Only a newer version of the site knows this event."""


@dataclasses.dataclass(frozen=True, slots=True)
class DomainEvent:
    """Base of all events. Fields become the payload under lowerCamelCase names."""

    aggregate_type: ClassVar[str]
    # Name of the field with the id of the aggregate.
    aggregate_field: ClassVar[str]
    # Raised when the meaning changes: new fields with defaults do not need it.
    format: ClassVar[int] = 1
    # Whether the change stream has it: orders of the site to itself stay inside.
    streamed: ClassVar[bool] = True
    # Fields that do not leave the site with the change stream.
    withheld: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # dataclass(slots=True) creates the class again: the later one, with its fields, wins.
        registry.event_types[cls.__name__] = cls

    @property
    def aggregate_id(self) -> int:
        """Id of the object that the event is about."""
        return int(getattr(self, self.aggregate_field))

    def payload(self) -> dict[str, Any]:
        """Return the JSON object stored in the outbox."""
        body: dict[str, Any] = {"type": type(self).__name__}
        if self.format > 1:
            body[_FORMAT] = self.format
        for field in dataclasses.fields(self):
            body[_camel(field.name)] = getattr(self, field.name)
        return body

    def stream_payload(self) -> dict[str, Any]:
        """Return the payload that other systems read."""
        body = self.payload()
        for name in self.withheld:
            del body[_camel(name)]
        return body

    @classmethod
    def from_payload(cls, body: dict[str, Any]) -> "DomainEvent":
        """Rebuild an event from its payload; missing fields get their defaults.

        Raises UnknownEvent if it is newer than this code.
        """
        if body.get(_FORMAT, 1) > cls.format:
            raise UnknownEvent(f"{cls.__name__} in format {body[_FORMAT]}")
        names = {field.name: _camel(field.name) for field in dataclasses.fields(cls)}
        return cls(**{name: body[key] for name, key in names.items() if key in body})


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def publish(event: DomainEvent, *, after_seconds: int = 0) -> None:
    """Publish an event in the transaction that writes the fact (T18); wake the relay on commit.

    With `after_seconds` the event becomes due only then, and does not count as lag before.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("publish() needs the transaction of the fact")
    db.insert(
        Event(
            aggregate_type=event.aggregate_type,
            aggregate_id=event.aggregate_id,
            type=type(event).__name__,
            payload=_stored(event),
            created_at=timezone.now() + timedelta(seconds=after_seconds),
            available_at=db.now_ms() + after_seconds * 1000 if after_seconds else 0,
        )
    )
    if settings.EVENT_STREAM is not None and event.streamed:
        waiting.write(event, is_read_by_publisher=settings.EVENT_STREAM.has_publisher)
    for handler in registry.handlers(type(event), registry.Stage.WITHIN):
        handler(event)
    failpoint("event-written")
    # Robust: the fact is committed, so a failing hint must not fail the request.
    if not after_seconds:
        transaction.on_commit(_hurry, robust=True)


def _stored(event: DomainEvent) -> dict[str, Any]:
    """Return the payload with the id of the present request, under which its handlers log."""
    ident = request_ids.current()
    return event.payload() | ({request_ids.PAYLOAD: ident} if ident else {})


def _hurry() -> None:
    failpoint("event-committed")
    enqueue.send("core.relay_events")
