"""A broker of several servers: which answer, whether they are one, and whether one may die."""

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

import amqp
from celery import current_app
from django.conf import settings
from django.utils.translation import gettext as _

from socialsite.core.events import brokers
from socialsite.core.redis import RedisDown
from socialsite.core.runtime.redaction import redact
from socialsite.doctor.findings import Finding, error, ok, warning

TIMEOUT_SECONDS = 2.0


def servers() -> Iterator[Finding]:
    """Ask each server of RabbitMQ, or each Sentinel."""
    if settings.EMBEDDED or not (brokers.has_sentinels() or len(brokers.addresses()) > 1):
        yield ok(_("The broker is one server."))
    elif brokers.has_sentinels():
        yield from _sentinels()
    else:
        yield from _rabbitmq()


def _rabbitmq() -> Iterator[Finding]:
    lost = list[Finding]()
    strangers = list[int]()
    # Seen from all nodes of a cluster, and gone with its connection.
    mark = f"doctor-{secrets.token_hex(8)}"
    is_marked = False
    with contextlib.ExitStack() as stack:
        for number, server in enumerate(brokers.addresses(), start=1):
            connection = brokers.rabbitmq(server, TIMEOUT_SECONDS)
            stack.callback(connection.collect)
            try:
                channel: Any = connection.default_channel
                # RabbitMQ refuses if the queue is there with another type.
                for name in brokers.queue_names():
                    current_app.amqp.queues[name](channel).declare()
                channel.queue_declare(mark, passive=is_marked, exclusive=True)
                is_marked = True
            except amqp.ResourceLocked:
                continue  # the mark belongs to the connection to another node
            except amqp.NotFound:
                strangers.append(number)
            except brokers.trouble(connection) as reason:
                lost.append(_lost(number, reason))
    yield from _judged(lost, len(brokers.addresses()))
    for number in strangers:
        yield error(
            _("Server %(number)d of BROKER_URL belongs to another cluster.") % {"number": number},
            _("Let it join: workers of one cluster do not see what is sent to another."),
        )


def _sentinels() -> Iterator[Finding]:
    masters = set[tuple[str, int]]()
    lost = list[Finding]()
    replicas = 0
    for number, sentinel in enumerate(brokers.addresses(), start=1):
        try:
            found = brokers.master_of(sentinel, TIMEOUT_SECONDS)
        except RedisDown as reason:
            lost.append(_lost(number, reason))
            continue
        masters.add((str(found["ip"]), int(found["port"])))
        replicas = max(replicas, int(found["num-slaves"]))
    yield from _judged(lost, len(brokers.addresses()))
    if len(masters) > 1:
        yield error(
            _("The Sentinels of the broker name %(number)d masters.") % {"number": len(masters)},
            _("Look at the network between them, and at SENTINEL MASTERS on each."),
        )
    if masters and not replicas:
        yield warning(
            _("The Redis of the broker has no replica."),
            _("Start one: there is nothing that could become the master."),
        )


def _lost(number: int, reason: BaseException) -> Finding:
    return warning(
        _("Server %(number)d of BROKER_URL does not answer as it should: %(reason)s")
        % {"number": number, "reason": redact(str(reason))},
        _("Start it, or correct its address; the others do its work meanwhile."),
    )


def _judged(lost: list[Finding], number: int) -> Iterator[Finding]:
    yield from lost
    if number - len(lost) <= number // 2:
        yield error(
            _("Fewer than a majority of the servers of the broker answer."),
            _("Start the others: background work waits for the sweeps, or stands still."),
        )
    elif not lost:
        yield ok(_("All %(number)d servers of the broker answer.") % {"number": number})
