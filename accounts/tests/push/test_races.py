"""Subscribing in real threads, against what ends the sign-in and against another person."""

import itertools
from functools import partial
from typing import Any

import pytest

from accounts import actions, tokens
from accounts.models import PushSubscription, User
from accounts.push import actions as push_actions
from accounts.push import queries as push_queries
from accounts.tests.push.endpoint import Browser
from relations.tests.helpers import at_once
from socialsite.core.errors import BannedAccessToken, NotFound
from socialsite.core.runtime import vapid

ROUNDS = 12
PASSWORD, NEW_PASSWORD = "right.pass1", "other.pass2"
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def _loopback(settings: Any) -> None:
    settings.OUTGOING_LOOPBACK = True
    settings.VAPID_PRIVATE_KEY = vapid.new()


def person() -> User:
    """Create a person with a new name."""
    number = next(_numbers)
    return actions.register(f"pusher{number}", f"Pusher{number}", PASSWORD)


def subscribing(user: User, client: str, endpoint: str = "") -> Any:
    """Return a function that subscribes a device that is signed in now."""
    principal = tokens.decode_access(actions.sign_in(user, client).access)
    address = endpoint or f"http://127.0.0.1:9/{next(_numbers)}"
    return lambda: push_actions.subscribe(user, principal, address, **Browser().keys)


def kick(user: User) -> None:
    actions.kick(user, "chrome")


def password(user: User) -> None:
    actions.set_password(user, NEW_PASSWORD)


def sign_in_again(user: User) -> None:
    actions.sign_in(user, "chrome")


ENDS = [kick, password, sign_in_again, actions.ban, actions.force_offline]


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_no_subscription_outlives_its_sign_in(end: Any) -> None:
    for _ in range(ROUNDS):
        user = person()
        subscribe = subscribing(user, "chrome")
        results = at_once([subscribe, partial(end, user)])
        wrong = [one for one in results if isinstance(one, Exception)]
        assert all(isinstance(one, BannedAccessToken | NotFound) for one in wrong), wrong
        assert not PushSubscription.objects.filter(user=user).exists()
        assert not push_queries.live(user.pk).exists()


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_who_changes_the_password_keeps_a_subscription_that_works() -> None:
    for _ in range(ROUNDS):
        user = person()
        subscribe = subscribing(user, "chrome")
        change = partial(actions.change_password, user, "chrome", PASSWORD, NEW_PASSWORD)
        results = at_once([subscribe, change])
        assert not [one for one in results if isinstance(one, Exception)]
        assert push_queries.live(user.pk).count() == 1


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_an_endpoint_belongs_to_one_device_whoever_subscribes_at_once() -> None:
    for number in range(ROUNDS):
        endpoint = f"http://127.0.0.1:9/shared{number}"
        works = [subscribing(person(), "chrome", endpoint) for _ in range(4)]
        results = at_once(works)
        assert not [one for one in results if isinstance(one, Exception)], results
        assert PushSubscription.objects.filter(endpoint=endpoint).count() == 1
