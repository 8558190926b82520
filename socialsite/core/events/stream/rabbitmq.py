"""The change stream in a stream of RabbitMQ, by AMQP 0-9-1.

- Of messages that are under way together, RabbitMQ may refuse one and store a later one. So no two
  of them are of one aggregate: `append` waits for the confirmations before the next one of it.
- A position is the offset of a message. Offsets have small gaps, where RabbitMQ stores data of its
  own, and a large gap where it removed a part of the stream.
- RabbitMQ removes whole segments, those with no record younger than the limit, and never the one in
  which it writes.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import amqp
from amqp import exceptions

from socialsite.core.events.stream import BadPosition, Missed, Record, StreamDown
from socialsite.core.runtime.stream_settings import StreamAddress

TIMEOUT_SECONDS = 5
WAIT_SECONDS = 1
PREFETCH = 200
SEGMENT_BYTES = 20_000_000
# Fewer offsets than a segment has records, and more than RabbitMQ takes for itself in a row.
GAP = 1000
_PERSISTENT = 2


class RabbitStream:
    """A stream in RabbitMQ; keeps its connection for appending."""

    def __init__(self, address: StreamAddress, hours: int) -> None:
        """Connect to nothing yet."""
        self._address, self._hours = address, hours
        self._channel: Any = None
        self._waiting: set[int] = set()
        self._tag = 0
        self._is_refused = False

    def append(self, records: Sequence[Record]) -> None:
        """Append a batch."""
        with _translated():
            if self._channel is None:
                self._open()
            for part in _apart(records):
                self._append(part)

    def _open(self) -> None:
        self._channel = _connected(self._address, self._hours)
        self._waiting, self._tag, self._is_refused = set(), 0, False
        self._channel.confirm_select()
        self._channel.events["basic_ack"].add(self._confirm)
        self._channel.events["basic_nack"].add(self._refuse)

    def _append(self, records: Sequence[Record]) -> None:
        """Send records of different aggregates, and wait until RabbitMQ has stored all of them."""
        for record in records:
            message = amqp.Message(
                record.to_json(),
                content_type="application/json",
                delivery_mode=_PERSISTENT,
                message_id=str(record.id),
            )
            self._tag += 1
            self._waiting.add(self._tag)
            # Without a queue of this name RabbitMQ returns the message, and confirms it then.
            self._channel.basic_publish(message, routing_key=self._address.name, mandatory=True)
        while self._waiting:
            self._channel.connection.drain_events(timeout=TIMEOUT_SECONDS)
        if self._is_refused:
            raise StreamDown("RabbitMQ did not store a record")

    def _confirm(self, tag: int, multiple: bool) -> None:
        if multiple:
            self._waiting = {other for other in self._waiting if other > tag}
        else:
            self._waiting.discard(tag)

    def _refuse(self, tag: int, multiple: bool) -> None:
        self._is_refused = True
        self._confirm(tag, multiple)

    def read(self, after: str, *, wait: bool = True) -> Iterator[tuple[str, Record]]:
        """Yield the records after a position."""
        last = _parsed(after)
        with _translated():
            channel = _connected(self._address, self._hours)
        try:
            for offset, record in _messages(channel, self._address.name, last, wait):
                _check(last, offset)
                last = offset
                yield str(offset), record
        finally:
            _close(channel)

    def close(self) -> None:
        """Close the connection."""
        channel, self._channel = self._channel, None
        if channel is not None:
            _close(channel)


def _messages(
    channel: Any, name: str, last: int | None, wait: bool
) -> Iterator[tuple[int, Record]]:
    arrived: deque[Any] = deque()
    with _translated():
        channel.basic_qos(0, PREFETCH, False)
        offset: int | str = "first" if last is None else last + 1
        channel.basic_consume(name, callback=arrived.append, arguments={"x-stream-offset": offset})
    while True:
        while arrived:
            message = arrived.popleft()
            body, number = message.body, int(message.headers["x-stream-offset"])
            yield number, Record.from_json(body)
            with _translated():
                channel.basic_ack(message.delivery_tag)
        with _translated():
            has_more = _drain(channel)
        if not (has_more or wait):
            return


def _drain(channel: Any) -> bool:
    """Wait a moment for messages; return False if none arrived."""
    try:
        channel.connection.drain_events(timeout=WAIT_SECONDS)
    except TimeoutError:
        return False
    return True


def _check(last: int | None, offset: int) -> None:
    if last is not None and not last < offset <= last + GAP:
        raise Missed(f"the stream goes on with offset {offset}")


def _apart(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Cut records into parts in which no aggregate appears twice."""
    part: list[Record] = []
    seen: set[tuple[str, int]] = set()
    for record in records:
        key = (record.aggregate_type, record.aggregate_id)
        if key in seen:
            yield part
            part, seen = [], set()
        part.append(record)
        seen.add(key)
    if part:
        yield part


def _connected(address: StreamAddress, hours: int) -> Any:
    """Return a channel; the stream is created if it is missing, and stays as it is otherwise."""
    connection = amqp.Connection(
        host=f"{address.host}:{address.port}",
        userid=address.user or "guest",
        password=address.password or "guest",
        virtual_host=address.place,
        ssl=address.scheme == "amqps",
        connect_timeout=TIMEOUT_SECONDS,
        read_timeout=TIMEOUT_SECONDS,
        write_timeout=TIMEOUT_SECONDS,
    )
    connection.connect()
    try:
        return _declared(connection, address.name, hours)
    except BaseException:
        connection.collect()
        raise


def _declared(connection: Any, name: str, hours: int) -> Any:
    try:
        channel = connection.channel()
        channel.queue_declare(name, passive=True)
    except exceptions.NotFound:
        channel = connection.channel()
        channel.queue_declare(
            name,
            durable=True,
            auto_delete=False,
            arguments={
                "x-queue-type": "stream",
                "x-max-age": f"{hours}h",
                "x-stream-max-segment-size-bytes": SEGMENT_BYTES,
            },
        )
    return channel


def _close(channel: Any) -> None:
    """Close a connection; one that is lost needs no more than its socket closed."""
    connection = channel.connection
    if connection is None:
        return
    with suppress(OSError, exceptions.AMQPError):
        connection.close()
    connection.collect()


@contextmanager
def _translated() -> Iterator[None]:
    """Raise StreamDown for errors of the connection and of RabbitMQ."""
    try:
        yield
    except (OSError, exceptions.AMQPError) as error:
        raise StreamDown(f"{type(error).__name__}: {error}") from error


def _parsed(position: str) -> int | None:
    if not position:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", position, re.ASCII):
        raise BadPosition("a position looks like 17")
    return int(position)
