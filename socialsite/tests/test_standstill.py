"""Time stands still for cached entries during a test, and advances where a test asks for it."""

import time

import pytest
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from socialsite.core.rate_limits import buckets
from socialsite.core.rate_limits.budget import Budget
from socialsite.tests import standstill

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def after_a_request(user) -> dict[str, int]:
    """Return the keys left in Redis by a signed-in request that could expire during a test."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {accounts_actions.sign_in(user).access}")
    for path in ("users/me", "feed", "notifications"):
        assert client.get(f"/api/v1/{path}").status_code == 200
    return standstill.short_lived()


def is_refilled() -> bool:
    # Its key lives for 20 s.
    budget = Budget("standstill", "Of this test.", capacity=10**6, hourly=3600 * 10**5)
    assert buckets.take(budget, 1, cost=10**6).allowed
    time.sleep(0.01)
    return buckets.take(budget, 1).allowed


def test_nothing_expires_and_no_bucket_refills_during_a_test(make_user) -> None:
    assert after_a_request(make_user()) == {}
    assert not is_refilled()


def test_tests_of_time_see_it_advance(make_user, real_lifetimes) -> None:
    user = make_user()
    assert {f"fence:{user.pk}", f"reader:{user.pk}"} <= set(after_a_request(user))
    assert is_refilled()
