"""A scraper of `/metrics`, which sends the token as Prometheus does."""

from django.conf import settings
from django.test import Client


def scrape() -> str:
    """Return the response of `/metrics` for a request with the token."""
    answer = Client(HTTP_AUTHORIZATION=f"Bearer {settings.METRICS_TOKEN}").get("/metrics")
    assert answer.status_code == 200
    return answer.content.decode()
