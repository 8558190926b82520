"""`/metrics` in Prometheus' text format: what an operator watches about work that is not done.

Figures are read from the database at each scrape, so any process may answer. Only a scraper on
this machine is answered.
"""

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from accounts.devices import address_of
from feeds.models import FanOut, FanOutChunk
from socialsite.core import errors, relay
from socialsite.core.models import Event

LOCAL = ("127.0.0.1", "::1")


def metrics(request: HttpRequest) -> HttpResponse:
    """Return the figures; NotFound to anybody but a scraper on this machine."""
    if address_of(request) not in LOCAL:
        raise errors.NotFound
    registry = CollectorRegistry()
    figures = {
        "socialsite_event_lag_seconds": (
            "age of the oldest event that is not delivered",
            relay.lag_ms() / 1000,
        ),
        "socialsite_events_waiting": (
            "events that are not delivered",
            Event.objects.filter(dead=False).count(),
        ),
        "socialsite_events_dead": (
            "events that failed too often and wait for a person",
            Event.objects.filter(dead=True).count(),
        ),
        "socialsite_fanouts_open": (
            "posts that are not in all inboxes yet",
            FanOut.objects.filter(state__lt=FanOut.State.DONE).count(),
        ),
        "socialsite_fanout_chunks_open": (
            "chunks of fan-outs that are not delivered",
            FanOutChunk.objects.filter(done=False).count(),
        ),
    }
    for name, (text, value) in figures.items():
        Gauge(name, text, registry=registry).set(value)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
