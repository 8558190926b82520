"""The change stream in Redis Streams.

- A script appends a batch, so all of it is stored or nothing. Each entry has a running number,
  by which a reader sees that entries were removed before it came to them.
- A position is `<id of the entry>:<running number>`.
- Older entries are removed as others are appended, by the clock of Redis.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from socialsite.core.events.stream import BadPosition, Missed, Record, StreamDown
from socialsite.core.redis import RedisDown, servers
from socialsite.core.runtime.stream_settings import StreamAddress

TIMEOUT_SECONDS = 5.0
READ, WAIT_MS = 200, 1000
_APPEND = """
local id
for i = 2, #ARGV do
  local number = redis.call('INCR', KEYS[2])
  id = redis.call('XADD', KEYS[1], '*', 'n', number, 'record', ARGV[i])
end
local oldest = tonumber(string.match(id, '^%d+')) - tonumber(ARGV[1]) * 3600000
if oldest > 0 then
  redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', oldest))
end
return id
"""
_POSITION = re.compile(r"([0-9]{1,20}-[0-9]{1,20}):([0-9]{1,19})", re.ASCII)


class RedisStream:
    """A stream in Redis; connects for each batch and each reader."""

    def __init__(self, address: StreamAddress, hours: int) -> None:
        """Connect to nothing yet."""
        self._url, self._name, self._hours = address.url, address.name, hours

    def append(self, records: Sequence[Record]) -> None:
        """Append a batch."""
        try:
            with servers.connected(self._url, TIMEOUT_SECONDS) as redis:
                texts = [record.to_json() for record in records]
                keys = (self._name, f"{self._name}:n")
                redis.register_script(_APPEND)(keys, [self._hours, *texts])
        except RedisDown as error:
            raise StreamDown(str(error)) from error

    def read(self, after: str, *, wait: bool = True) -> Iterator[tuple[str, Record]]:
        """Yield the records after a position."""
        last, number = _parsed(after)
        try:
            with servers.connected(self._url, TIMEOUT_SECONDS) as redis:
                while True:
                    found = _entries(redis, self._name, last, wait)
                    if not found and not wait:
                        return
                    for key, fields in found:
                        count = int(fields[b"n"])
                        if number is not None and count != number + 1:
                            raise Missed(f"the stream goes on with record number {count}")
                        last, number = key.decode(), count
                        yield f"{last}:{number}", Record.from_json(fields[b"record"])
        except RedisDown as error:
            raise StreamDown(str(error)) from error

    def close(self) -> None:
        """Do nothing: no connection stays open."""


def _entries(redis: Any, name: str, last: str, wait: bool) -> list[tuple[bytes, dict[bytes, Any]]]:
    """Return the next entries; wait a moment for them if there are none."""
    found = redis.xread({name: last}, count=READ, block=WAIT_MS if wait else None)
    return found[0][1] if found else []


def _parsed(position: str) -> tuple[str, int | None]:
    if not position:
        return "0-0", None
    found = _POSITION.fullmatch(position)
    if found is None:
        raise BadPosition("a position looks like 1700000000000-0:1")
    return found[1], int(found[2])
