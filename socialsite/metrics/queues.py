"""Messages that wait in the queues of the broker."""

from collections.abc import Iterator

from celery import current_app
from django.conf import settings
from prometheus_client import Metric

from socialsite.core.redis import RedisDown
from socialsite.core.redis.servers import connected, is_redis
from socialsite.metrics import figures

# As Kombu names the list of a queue and a priority; the first has the name of the queue itself.
_SEPARATOR = "\x06\x16"
_PRIORITIES = ("", *(f"{_SEPARATOR}{priority}" for priority in (3, 6, 9)))
TIMEOUT_SECONDS = 1.0


def collect() -> Iterator[Metric]:
    """Yield the lengths of queues; nothing without a broker of Redis, or if it does not answer."""
    if settings.EMBEDDED or not is_redis(settings.CELERY_BROKER_URL):
        return
    try:
        with connected(settings.CELERY_BROKER_URL, TIMEOUT_SECONDS) as connection:
            lengths = {
                queue: sum(connection.llen(f"{queue}{end}") for end in _PRIORITIES)
                for queue in names()
            }
    except RedisDown:
        return
    text = "tasks that wait in a queue of the broker"
    yield figures.labelled("socialsite_queue_messages", text, "queue", lengths)


def names() -> list[str]:
    """Return the names of all queues."""
    routes = settings.CELERY_TASK_ROUTES.values()
    return sorted({current_app.conf.task_default_queue, *(route["queue"] for route in routes)})
