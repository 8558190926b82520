"""Cost of authentication for a request, through all of the middleware: one round trip, no query."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.crypto import get_random_string
from rest_framework.test import APIClient

from accounts import actions
from relations import queries as relations_queries
from socialsite.core import redis

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.urls("accounts.tests.tiny_urls"),
    pytest.mark.embedded,
]

TINY, PAGE = "/api/v1/tiny", "/tiny"


@pytest.fixture
def pair(user):
    found = actions.sign_in(user, "chrome")
    redis.call(lambda connection: connection.flushdb())
    return found


@pytest.fixture
def bearer(pair) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
    return client


@pytest.fixture
def browser(pair) -> APIClient:
    client = APIClient(enforce_csrf_checks=True)
    client.cookies["access"], client.cookies["refresh"] = pair
    return client


@pytest.fixture
def cost(round_trips):
    """Return a function that calls another and returns its Redis round trips and queries."""

    def run(function) -> tuple[int, int]:
        round_trips.clear()
        with CaptureQueriesContext(connection) as queries:
            function()
        return len(round_trips), len(queries)

    return run


@pytest.mark.parametrize(("who", "path"), [("bearer", TINY), ("browser", TINY), ("browser", PAGE)])
def test_a_signed_in_request_costs_one_round_trip_and_no_query(
    who, path, user, cost, request
) -> None:
    client = request.getfixturevalue(who)

    def ask() -> None:
        response = client.get(path)
        assert response.status_code == 200
        assert str(user.pk).encode() in response.content

    assert cost(ask) == (2, 1)  # MySQL answers and the cache is filled
    assert [cost(ask) for _ in range(3)] == [(1, 0)] * 3


def test_a_write_by_cookie_costs_one_round_trip_and_no_query(browser, cost) -> None:
    browser.cookies["csrf"] = secret = get_random_string(32)
    browser.get(TINY)

    def write() -> None:
        assert browser.post(TINY, HTTP_X_CSRFTOKEN=secret).status_code == 200

    assert cost(write) == (1, 0)
    assert browser.post(TINY).json()["code"] == 19


def test_a_guest_costs_nothing(db, cost) -> None:
    client = APIClient()
    assert cost(lambda: client.get(PAGE)) == (0, 0)
    assert cost(lambda: client.get(TINY)) == (0, 0)


@pytest.mark.parametrize("who", ["bearer", "browser"])
def test_a_real_view_costs_that_and_its_own_reads(who, user, make_user, cost, request) -> None:
    client, other = request.getfixturevalue(who), make_user()
    address = f"/api/v1/relations?ids={other.pk}"
    client.get(address)
    round_trips, queries = cost(lambda: relations_queries.relations_of(user.pk, [other.pk]))
    assert cost(lambda: client.get(address)) == (round_trips + 1, queries)
