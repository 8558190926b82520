"""The change stream: other systems read every domain event of the site from a broker.

- `waiting` writes a record beside each event, in the transaction of the fact; `publisher` appends
  the records to the stream in the order of their ids and deletes them once the broker confirmed
  them. So no record is lost. A publisher that dies in between repeats records with the same ids.
- If a fact was committed before the record of another one was written, its record has the lower id
  and comes first in the stream. Facts of one aggregate that depend on each other lock a row, so one
  is committed before the other is written. `docs/scaling.md` lists the locks.
- A `Stream` is one kind of broker: `redis_streams`, `rabbitmq`. With `binlog:` there is no broker,
  as Debezium reads the records from the log of the database.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from django.conf import settings

from socialsite.core.runtime.stream_settings import StreamAddress


class StreamDown(Exception):
    """The broker of the stream does not answer, or refuses."""


class Missed(Exception):
    """Records after the position are not in the stream any more, or the stream is another one."""


class BadPosition(ValueError):
    """No stream of this kind has such a position."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as other systems read it."""

    id: int
    type: str
    aggregate_type: str
    aggregate_id: int
    time: datetime
    payload: dict[str, Any]

    def to_json(self) -> str:
        """Return the JSON text of the record; `docs/scaling.md` documents it."""
        body = {
            "id": self.id,
            "type": self.type,
            "aggregateType": self.aggregate_type,
            "aggregateId": self.aggregate_id,
            "time": self.time.astimezone(UTC).isoformat(timespec="milliseconds"),
            "payload": self.payload,
        }
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """Read what `to_json` wrote."""
        body = json.loads(text)
        return cls(
            body["id"],
            body["type"],
            body["aggregateType"],
            body["aggregateId"],
            datetime.fromisoformat(body["time"]),
            body["payload"],
        )


class Stream(Protocol):
    """A stream in a broker. All methods raise StreamDown."""

    def append(self, records: Sequence[Record]) -> None:
        """Append records in their order; return when the broker has stored all of them.

        After an error any number of the first records may be in the stream, and no others.
        """

    def read(self, after: str, *, wait: bool = True) -> Iterator[tuple[str, Record]]:
        """Yield the records after a position, each with its own; "" is before the oldest one.

        At the end of the stream it waits for more, or ends. Raises Missed and BadPosition.
        """

    def close(self) -> None:
        """Close the connection."""


def of_site() -> Stream | None:
    """Return the stream of the site; None if it has none in a broker."""
    address = settings.EVENT_STREAM
    if address is None or not address.has_publisher:
        return None
    return connect(address, settings.EVENT_STREAM_HOURS)


def connect(address: StreamAddress, hours: int) -> Stream:
    """Return the stream of an address; it keeps its records for so many hours."""
    # Each with the library of its broker, which a site without a stream does not load.
    if address.scheme.startswith("redis"):
        from socialsite.core.events.stream.redis_streams import RedisStream

        return RedisStream(address, hours)
    if address.scheme.startswith("amqp"):
        from socialsite.core.events.stream.rabbitmq import RabbitStream

        return RabbitStream(address, hours)
    raise ValueError(f"a stream of {address.scheme} has no broker")
