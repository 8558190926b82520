"""The environment variables of the change stream, a part of `socialsite.env`."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

BINLOG = "binlog:"
DEFAULT_NAME = "socialsite-events"
_PORTS = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671}
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class StreamAddress:
    """Where the change stream is; printing it shows no password.

    `scheme` is redis, rediss, amqp, amqps or binlog; `place` is the number of the database of
    Redis, or the virtual host of RabbitMQ.
    """

    scheme: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    place: str = ""
    name: str = DEFAULT_NAME
    # The address without its query, for libraries that read it themselves.
    url: str = field(default="", repr=False)

    @property
    def has_publisher(self) -> bool:
        """True if the site itself brings the records to a broker."""
        return self.scheme != "binlog"


def parse(text: str) -> StreamAddress | None:
    """Return the address that a setting gives; None if it is empty. Raises ValueError."""
    if not text:
        return None
    if text == BINLOG:
        return StreamAddress("binlog")
    parts = urlsplit(text)
    if parts.scheme not in _PORTS or not parts.hostname or parts.fragment:
        raise ValueError("must be redis://…, rediss://…, amqp://…, amqps://… or binlog:")
    return StreamAddress(
        parts.scheme,
        parts.hostname,
        parts.port or _PORTS[parts.scheme],
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        _place(parts.scheme, parts.path),
        _name(parts.query),
        parts._replace(query="").geturl(),
    )


def _place(scheme: str, path: str) -> str:
    place = unquote(path.removeprefix("/"))
    if scheme.startswith("redis") and not re.fullmatch(r"\d{0,4}", place, re.ASCII):
        raise ValueError("the path must be the number of a database of Redis")
    return place or ("0" if scheme.startswith("redis") else "/")


def _name(query: str) -> str:
    """Return the name of the stream in a query `name=…`, the only one that is allowed."""
    if not query:
        return DEFAULT_NAME
    given = parse_qs(query, keep_blank_values=True, strict_parsing=True)
    names = given.pop("name", [])
    if given or len(names) != 1 or not _NAME.fullmatch(names[0]):
        raise ValueError("after ? only name=… is possible, of a-z, 0-9 and . _ -")
    return names[0]


class StreamSettings(BaseSettings):
    """Where other systems read the events of the site, and how long."""

    EVENT_STREAM_URL: str = Field(
        "",
        description="change stream: redis://, rediss://, amqp:// or amqps:// of a broker of its"
        " own, or binlog: for Debezium; empty: none",
    )
    EVENT_STREAM_HOURS: int = Field(
        72, ge=2, le=8760, description="hours for which the change stream keeps a record"
    )

    @field_validator("EVENT_STREAM_URL")
    @classmethod
    def _event_stream(cls, value: str) -> str:
        parse(value)
        return value

    @property
    def event_stream(self) -> StreamAddress | None:
        """The address of the change stream; None if there is none."""
        return parse(self.EVENT_STREAM_URL)


def is_same_server(address: StreamAddress, url: str) -> bool:
    """Return whether a Redis URL is of the server in which a stream of Redis would be."""
    parts = urlsplit(url)
    if not address.scheme.startswith("redis") or parts.scheme not in ("redis", "rediss"):
        return False
    return (parts.hostname, parts.port or 6379) == (address.host, address.port)
