"""`/metrics` in Prometheus' text format, for operators.

Any process of the site may answer. A scraper always sends METRICS_TOKEN as a Bearer token, even
from this machine: behind a plain proxy every client looks local.
"""

import itertools
import secrets
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from socialsite.core import errors
from socialsite.core.telemetry import instruments, processes, storage
from socialsite.metrics import figures, queues


def metrics(request: HttpRequest) -> HttpResponse:
    """Return the figures; raises NotFound for requests without the token."""
    if not _may_read(request):
        raise errors.NotFound
    registry = CollectorRegistry()
    registry.register(_Read())
    answer = generate_latest(registry) + measured()
    return HttpResponse(answer, content_type=CONTENT_TYPE_LATEST)


class _Read:
    """A collector of what is read now, whichever process answers."""

    def collect(self) -> Iterable[Metric]:
        """Return the figures of the database and of the broker."""
        return itertools.chain(figures.collect(), queues.collect())


def measured() -> bytes:
    """Return what the processes of this machine measured, or this process if it shares nothing."""
    processes.note()
    directory: Path | None = settings.METRICS_DIR
    if directory is None or not instruments.IS_SHARED:
        return generate_latest(instruments.REGISTRY)
    shared = CollectorRegistry()
    storage.Shared(directory, shared)
    return generate_latest(shared)


def _may_read(request: HttpRequest) -> bool:
    """Return whether a request sends the token."""
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    shown, wanted = token.strip().encode(), settings.METRICS_TOKEN.encode()
    return bool(wanted) and scheme.lower() == "bearer" and secrets.compare_digest(shown, wanted)
