"""`/metrics` in Prometheus' text format, for operators.

Any process of the site may answer. A scraper always sends METRICS_TOKEN as a Bearer token, even
from this machine: behind a plain proxy every client looks local.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from socialsite.core import errors
from socialsite.metrics import figures


def metrics(request: HttpRequest) -> HttpResponse:
    """Return the figures; raises NotFound for requests without the token."""
    if not _may_read(request):
        raise errors.NotFound
    registry = CollectorRegistry()
    figures.add(registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    """Return whether a request sends the token."""
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    shown, wanted = token.strip().encode(), settings.METRICS_TOKEN.encode()
    return bool(wanted) and scheme.lower() == "bearer" and secrets.compare_digest(shown, wanted)
