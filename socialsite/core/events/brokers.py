"""Questions about the broker's servers, for an operator: which answer, and what waits there."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from kombu import Connection
from kombu.exceptions import KombuError

from socialsite.core.redis import RedisDown
from socialsite.core.redis.servers import connected, is_redis
from socialsite.core.runtime.broker_settings import AMQP, QUORUM, SENTINEL


class BrokerDown(Exception):
    """No server of the broker answers."""


def addresses() -> list[str]:
    """Return the address of each server, or of each Sentinel."""
    return str(settings.CELERY_BROKER_URL).split(";")


def is_rabbitmq() -> bool:
    """Return True if the broker is RabbitMQ."""
    return addresses()[0].startswith(tuple(f"{scheme}://" for scheme in AMQP))


def has_sentinels() -> bool:
    """Return True if Sentinels know where the broker is."""
    return addresses()[0].startswith(f"{SENTINEL}://")


def master_of(sentinel: str, timeout: float) -> dict[str, Any]:
    """Return what one Sentinel knows of the broker's Redis. Raises RedisDown."""
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    parts = urlsplit(sentinel)
    password = options["sentinel_kwargs"]["password"]
    account = f":{password}@" if password else ""
    with connected(
        f"redis://{account}{_place(parts.hostname, parts.port or 26379)}", timeout
    ) as it:
        found: Any = it.sentinel_master(options["master_name"])
        return dict(found)


def redis_url(timeout: float) -> str:
    """Return the address of the Redis that has the queues; "" if they are elsewhere.

    Raises RedisDown if no Sentinel knows it.
    """
    if not has_sentinels():
        return settings.CELERY_BROKER_URL if is_redis(settings.CELERY_BROKER_URL) else ""
    problem = RedisDown("no Sentinel")
    for sentinel in addresses():
        try:
            found = master_of(sentinel, timeout)
        except RedisDown as reason:
            problem = reason
            continue
        parts = urlsplit(sentinel)
        account = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        place = _place(str(found["ip"]), int(found["port"]))
        return f"redis://{account}{place}{parts.path or '/0'}"
    raise problem


def rabbitmq(server: str, timeout: float) -> Connection:
    """Return a connection to one server of RabbitMQ that waits so many seconds for each answer."""
    short = {"socket_timeout": timeout, "socket_connect_timeout": timeout, "max_retries": 0}
    return current_app.connection_for_read(server, transport_options=short)


def trouble(connection: Connection) -> tuple[type[BaseException], ...]:
    """Return the errors of a connection."""
    return (KombuError, OSError, *connection.connection_errors, *connection.channel_errors)


def queue_names() -> list[str]:
    """Return the names of all queues, as the option `-Q` of a worker takes them."""
    default = current_app.conf.task_default_queue.removesuffix(QUORUM)
    routes = settings.CELERY_TASK_ROUTES.values()
    return sorted({default, *(route["queue"] for route in routes)})


def lengths(queues: Iterable[str], timeout: float) -> dict[str, int]:
    """Return how many messages wait in queues of RabbitMQ. Raises BrokerDown."""
    problem: BaseException | None = None
    for server in addresses():
        connection = rabbitmq(server, timeout)
        try:
            channel: Any = connection.default_channel
            return {
                name: channel.queue_declare(
                    current_app.amqp.queues[name].name, passive=True
                ).message_count
                for name in queues
            }
        except trouble(connection) as reason:
            problem = reason
        finally:
            connection.collect()
    raise BrokerDown(str(problem))


def _place(host: str | None, port: int) -> str:
    return f"[{host}]:{port}" if host and ":" in host else f"{host}:{port}"
