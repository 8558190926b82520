"""The environment variables of the broker of background tasks, a part of `socialsite.env`."""

from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

SENTINEL = "sentinel"
AMQP = ("amqp", "amqps")
LISTED = (*AMQP, SENTINEL)
# Fewer servers of RabbitMQ have no majority without one of them.
FEWEST = 3
# Queues of another type must not have the names of those that a site had before.
QUORUM = ".quorum"
HEARTBEAT_SECONDS = 4
SILENCE_SECONDS = 2
_TIMEOUTS = {"socket_timeout": 5, "socket_connect_timeout": 1}
# A worker says goodbye to each connection to a frozen server, and waits for so long each time.
_OF_SEVERAL = {"socket_timeout": 2, "socket_connect_timeout": 1}


def servers(url: str) -> list[str]:
    """Return the addresses of a BROKER_URL, one for each server. Raises ValueError.

    A single address may be of any broker that Kombu knows. Several are of RabbitMQ or of Sentinels,
    and get the account and the path of the first one.
    """
    parts = [part.strip() for part in url.split(";")]
    if len(parts) == 1 and urlsplit(url).scheme != SENTINEL:
        return parts
    if not all(parts):
        raise ValueError("has an empty address: write one ; between two addresses")
    found = [urlsplit(part) for part in parts]
    first = found[0]
    if first.scheme not in LISTED or any(one.scheme != first.scheme for one in found):
        raise ValueError("several addresses must all be amqp://, all amqps:// or all sentinel://")
    if any(not one.hostname or one.query or one.fragment for one in found):
        raise ValueError("each address must have a host, and nothing after ? or #")
    if len({(one.hostname, one.port) for one in found}) < len(found):
        raise ValueError("no server may be there twice")
    if first.scheme in AMQP and len(found) < FEWEST:
        raise ValueError("must name one server of RabbitMQ, or three or more of a cluster")
    account = first.netloc.rpartition("@")[0]
    for one in found[1:]:
        own = one.netloc.rpartition("@")[0]
        if own not in ("", account) or one.path not in ("", first.path):
            raise ValueError("all addresses must have the same account and the same path")
    return [
        first._replace(
            netloc=f"{account}@{one.netloc.rpartition('@')[2]}" if account else one.netloc
        ).geturl()
        for one in found
    ]


class BrokerSettings(BaseSettings):
    """Where hints that there is work are sent."""

    BROKER_URL: str = Field(
        "",
        description="Celery broker; three or more of RabbitMQ or Sentinels: amqp://…;amqp://…;…"
        " or sentinel://…;sentinel://…;…; empty: REDIS_URL, or inside the process",
    )
    BROKER_SENTINEL_MASTER: str = Field(
        "socialsite", description="name that the Sentinels of BROKER_URL give their Redis"
    )
    BROKER_SENTINEL_PASSWORD: str = Field(
        "", description="password of the Sentinels themselves; empty: they have none"
    )

    @field_validator("BROKER_URL")
    @classmethod
    def _broker(cls, value: str) -> str:
        return ";".join(servers(value))

    @property
    def has_quorum_queues(self) -> bool:
        """True if the broker is a cluster of RabbitMQ."""
        return self.BROKER_URL.startswith(AMQP) and ";" in self.BROKER_URL

    @property
    def broker_options(self) -> dict[str, Any]:
        """What Kombu and our transport take for connections to the broker. Times are in seconds."""
        options: dict[str, Any] = {
            **(_OF_SEVERAL if self.has_quorum_queues else _TIMEOUTS),
            "socket_keepalive": True,
            # Redis keeps no copy of a message in work: losing one does no harm.
            "ack_emulation": False,
        }
        if self.BROKER_URL.startswith(f"{SENTINEL}://"):
            options |= {
                "master_name": self.BROKER_SENTINEL_MASTER,
                # A frozen Redis keeps its connections open: a worker leaves it after this silence.
                "health_check_interval": SILENCE_SECONDS,
                "sentinel_kwargs": {
                    "socket_timeout": 0.5,
                    "socket_connect_timeout": 0.5,
                    "password": self.BROKER_SENTINEL_PASSWORD or None,
                },
            }
        return options


def queue_name(name: str, *, quorum: bool) -> str:
    """Return the name that a queue of Celery has in the broker."""
    return f"{name}{QUORUM}" if quorum else name
