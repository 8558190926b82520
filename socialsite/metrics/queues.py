"""Messages that wait in the queues of the broker."""

from collections.abc import Iterator

from django.conf import settings
from prometheus_client import Metric

from socialsite.core.events import brokers
from socialsite.core.redis import RedisDown
from socialsite.core.redis.servers import connected
from socialsite.metrics import figures

# As Kombu names the list of a queue and a priority; the first has the name of the queue itself.
_SEPARATOR = "\x06\x16"
_PRIORITIES = ("", *(f"{_SEPARATOR}{priority}" for priority in (3, 6, 9)))
TIMEOUT_SECONDS = 1.0


def collect() -> Iterator[Metric]:
    """Yield the lengths of queues; nothing in the embedded mode, or if no broker answers."""
    if settings.EMBEDDED:
        return
    try:
        lengths = _lengths()
    except (RedisDown, brokers.BrokerDown):
        return
    if lengths:
        text = "tasks that wait in a queue of the broker"
        yield figures.labelled("socialsite_queue_messages", text, "queue", lengths)


def _lengths() -> dict[str, int]:
    if brokers.is_rabbitmq():
        return brokers.lengths(brokers.queue_names(), TIMEOUT_SECONDS)
    url = brokers.redis_url(TIMEOUT_SECONDS)
    if not url:
        return {}
    with connected(url, TIMEOUT_SECONDS) as connection:
        return {
            queue: sum(connection.llen(f"{queue}{end}") for end in _PRIORITIES)
            for queue in brokers.queue_names()
        }
