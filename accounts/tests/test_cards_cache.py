"""Cached cards of people, and the epoch of everyone's standing: no reader sees an old one."""

import pytest

from accounts import actions, queries
from accounts.events import UserBanned, UserUnbanned
from socialsite.core import redis
from socialsite.core.registry import Stage, handlers

pytestmark = pytest.mark.django_db


def standing() -> bytes | None:
    batch = redis.Batch()
    token = queries.STANDING.ask(batch)
    batch.run()
    return token.value


@pytest.mark.parametrize("act", [actions.ban, actions.unban])
def test_a_ban_and_its_end_renew_the_standing(make_user, act) -> None:
    user = make_user()
    if act is actions.unban:
        actions.ban(user)
    queries.STANDING.start()
    act(user)
    assert standing() is None
    token = queries.STANDING.start()
    act(user)  # changes nothing
    assert standing() == token


@pytest.mark.parametrize("event", [UserBanned, UserUnbanned])
def test_the_event_renews_the_standing_once_more(event) -> None:
    queries.STANDING.start()
    for handler in handlers(event, Stage.AFTER):
        handler(event(1))
    assert standing() is None
