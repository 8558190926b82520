"""Requests are counted by route, method and status, and by nothing that a client may choose."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from prometheus_client import Metric

from accounts.models import User
from socialsite.core.telemetry.instruments import HTTP_REQUESTS
from socialsite.metrics.middleware import route_text

pytestmark = pytest.mark.django_db


def counts() -> dict[tuple[str, str, str], float]:
    """Return the number of requests by route, method and status."""
    found: list[Metric] = list(HTTP_REQUESTS.collect())
    return {
        (one.labels["route"], one.labels["method"], one.labels["status"]): one.value
        for one in found[0].samples
        if one.name.endswith("_count")
    }


def added(before: dict[Any, float]) -> dict[tuple[str, str, str], float]:
    after = counts()
    return {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key)}


def test_a_thousand_made_up_addresses_are_one_series() -> None:
    before = counts()
    for number in range(1000):
        Client().get(f"/{number}/nothing/{number}")
    assert added(before) == {("none", "GET", "4xx"): 1000}


def test_a_thousand_made_up_methods_are_one_series() -> None:
    before = counts()
    for number in range(1000):
        Client().generic(f"MADE{number}", "/nothing/here")
    assert added(before) == {("none", "other", "4xx"): 1000}


def test_addresses_of_a_route_are_one_series(make_user: Callable[..., User]) -> None:
    before = counts()
    for number in range(20):
        Client().get(f"/api/v1/posts/{number}")
    assert added(before) == {("api/v1/posts/{post_id}", "GET", "4xx"): 20}


def test_probes_are_not_counted() -> None:
    before = counts()
    Client().get("/healthz")
    assert added(before) == {}


@pytest.mark.parametrize(
    ("route", "text"),
    [
        ("", "/"),
        ("api/v1/posts/<str:post_id>", "api/v1/posts/{post_id}"),
        ("accent/<colour>.css", "accent/{colour}.css"),
    ],
)
def test_routes_are_written_as_in_openapi(route: str, text: str) -> None:
    assert route_text(route) == text
