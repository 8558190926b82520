"""After the database was restored: tokens that it does not know have numbers it gives out again."""

import pytest
from django.core.management import call_command

from accounts import actions
from accounts.models import PushSubscription, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication
from accounts.tokens import TokenPair
from socialsite.core import redis
from socialsite.core.errors import BannedAccessToken, BannedRefreshToken

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(make_user) -> User:
    return make_user("alice1", nickname="Alice")


def alive(pair: TokenPair) -> tuple[bool, bool]:
    """Return whether the access token and the refresh token are accepted."""
    try:
        authentication.by_access(pair.access)
        access = True
    except BannedAccessToken:
        access = False
    try:
        actions.refresh(pair.refresh)
        refresh = True
    except BannedRefreshToken:
        refresh = False
    return access, refresh


def restored(rows: list) -> None:
    """Put the token numbers back, as a restored database does; Redis begins empty."""
    TokenVersion.objects.all().delete()
    TokenBatch.objects.all().delete()
    for row in rows:
        type(row).objects.bulk_create([row])
    redis.call(lambda connection: connection.flushdb())


def test_no_token_from_before_or_from_the_lost_time_is_accepted(alice) -> None:
    before = actions.sign_in(alice, "chrome")
    rows = [*TokenVersion.objects.all(), *TokenBatch.objects.all()]
    lost = actions.sign_in(alice, "chrome")
    other = actions.sign_in(alice, "android")
    actions.set_password(alice, "other.pass2")
    latest = actions.sign_in(alice, "chrome")
    restored(rows)
    assert alive(lost)[0], "without the step a lost token is accepted again"
    restored(rows)
    call_command("end_sign_ins")
    assert [alive(pair) for pair in (before, lost, other, latest)] == [(False, False)] * 4
    fresh = [actions.sign_in(alice, name) for name in ("chrome", "android")]
    assert [alive(pair) for pair in (before, lost, other, latest)] == [(False, False)] * 4
    assert alive(fresh[0]) == alive(fresh[1]) == (True, True)


def test_a_person_without_numbers_gets_floors_too(alice) -> None:
    """Their first sign-in may have been in the lost time."""
    lost = actions.sign_in(alice, "chrome")
    restored([])
    call_command("end_sign_ins")
    actions.sign_in(alice, "chrome")
    assert alive(lost) == (False, False)


def test_pushes_end_with_the_sign_ins(alice) -> None:
    actions.sign_in(alice, "chrome")
    assert actions.end_all_sign_ins() == 1
    assert not PushSubscription.objects.exists()
    assert TokenBatch.objects.get(pk=alice.pk).ended == "forced"
