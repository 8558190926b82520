"""Cached cards of people, and the epoch of everyone's standing: no reader sees an old one."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from django.db import transaction

from accounts import actions, cache, queries
from accounts.events import ProfileChanged, UserBanned, UserRegistered, UserUnbanned
from accounts.models import User
from socialsite.core import redis
from socialsite.core.cache import reads
from socialsite.core.events import relay
from socialsite.core.events.registry import Stage, handlers
from socialsite.core.models import Media
from socialsite.core.tests.cache.loading import load, start

pytestmark = pytest.mark.django_db


def picture(user: User) -> int:
    made = Media.objects.create(
        owner_id=user.pk, name="a.jpg", thumb_name="ta.jpg", width=1, height=1, size=1
    )
    return made.pk


# What there is before, and what is done then: every writer of what a card shows.
Act = Callable[[User], Any]
WRITERS: dict[str, tuple[Act, Act]] = {
    "nickname": (lambda user: None, lambda user: actions.edit_profile(user, nickname="Renamed")),
    "bio": (lambda user: None, lambda user: actions.edit_profile(user, bio="I am here.")),
    "picture": (lambda user: None, lambda user: actions.edit_profile(user, avatar=picture(user))),
    "no picture": (
        lambda user: actions.edit_profile(user, avatar=picture(user)),
        lambda user: actions.edit_profile(user, avatar=0),
    ),
    "ban": (lambda user: None, actions.ban),
    "unban": (actions.ban, actions.unban),
}


@pytest.fixture(params=WRITERS)
def writer(request, make_user) -> tuple[User, Act]:
    """A person whose card is cached, and something that changes it."""
    before, act = WRITERS[request.param]
    user = make_user()
    before(user)
    queries.cards([user.pk])
    assert cached(user.pk) is not None
    return user, act


def cached(user_id: int) -> bytes | None:
    """What Redis holds of a person; None for nothing."""
    batch = redis.Batch()
    asked = cache.PEOPLE.ask(batch, [user_id])
    batch.run()
    return asked.found.get(user_id)


def true(user_id: int) -> dict[int, Any]:
    """The card as the table has it."""
    user = User.objects.get(pk=user_id)
    if not user.is_active:
        return {}
    names = ("username", "nickname", "avatar", "bio")
    return {user.pk: {"id": str(user.pk)} | {name: getattr(user, name) for name in names}}


def standing() -> bytes | None:
    batch = redis.Batch()
    token = queries.STANDING.ask(batch)
    batch.run()
    return token.value


# --- what a warm cache saves --------------------------------------------------------------------
def test_cached_cards_cost_one_round_trip_and_no_query(
    make_user, round_trips, django_assert_num_queries
) -> None:
    ids = [make_user(name).pk for name in ("alice1", "bob001", "carol1")]
    gone = make_user()
    actions.ban(gone)
    cold = queries.cards([*ids, gone.pk, 7])
    assert set(cold) == set(ids)
    round_trips.clear()
    with django_assert_num_queries(0):
        assert queries.cards([*ids, gone.pk, 7]) == cold
    assert len(round_trips) == 1
    assert cold[ids[0]] == true(ids[0])[ids[0]]


def test_several_apps_read_cards_in_one_batch(
    make_user, round_trips, django_assert_num_queries
) -> None:
    one, two, three = (make_user().pk for _ in range(3))
    queries.cards([one, two, three])
    round_trips.clear()
    here, there, nobody = (queries.Cards(ids) for ids in ([one, two, one], [three], []))
    with django_assert_num_queries(0):
        reads.run(here, there, nobody)
        assert set(here.value) == {one, two}
        assert set(there.value) == {three}
        assert nobody.value == {}
    assert len(round_trips) == 1


def test_cache_misses_are_read_in_one_query(make_user, django_assert_num_queries) -> None:
    ids = [make_user().pk for _ in range(6)]
    queries.cards(ids[:3])
    with django_assert_num_queries(1):
        assert set(queries.cards(ids)) == set(ids)


def test_cards_of_closed_accounts_are_never_taken_from_the_cache(make_user) -> None:
    user = make_user()
    actions.edit_profile(user, bio="I am here.")
    queries.cards([user.pk])
    actions.ban(user)
    queries.cards([user.pk])
    named = queries.cards([user.pk], closed=True)[user.pk]
    assert (named["username"], named["bio"]) == (user.username, "")
    assert queries.cards([user.pk]) == {}


# --- every change is seen at once ---------------------------------------------------------------
def test_each_change_invalidates_the_card(writer) -> None:
    user, act = writer
    before = queries.cards([user.pk])
    act(user)
    assert queries.cards([user.pk]) == true(user.pk) != before


def test_a_rollback_leaves_the_cache_unchanged(writer, django_assert_num_queries) -> None:
    user, act = writer
    before = queries.cards([user.pk])
    with transaction.atomic():
        act(user)
        assert queries.cards([user.pk]) == true(user.pk) != before  # within, one's own writes
        transaction.set_rollback(True)
    with django_assert_num_queries(0):
        assert queries.cards([user.pk]) == before


def test_the_event_invalidates_a_card_whose_process_died_after_the_commit(
    writer, django_capture_on_commit_callbacks
) -> None:
    user, act = writer
    with django_capture_on_commit_callbacks():  # nothing runs on commit
        act(user)
    assert queries.cards([user.pk]) != true(user.pk)
    while relay.relay():
        pass
    assert queries.cards([user.pk]) == true(user.pk)


def test_a_new_person_is_found_although_the_id_was_cached_as_missing(
    make_user, django_capture_on_commit_callbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        user = make_user()
        load(cache.PEOPLE, [user.pk], lambda ids: dict.fromkeys(ids, b""))  # before the commit
        assert queries.cards([user.pk]) == {}
    assert queries.cards([user.pk]) == true(user.pk)


@pytest.mark.parametrize("event", [UserRegistered, ProfileChanged, UserBanned, UserUnbanned])
def test_every_event_of_a_person_invalidates_the_card(make_user, event) -> None:
    user = make_user()
    queries.cards([user.pk])
    for handler in handlers(event, Stage.AFTER):
        handler(event(user.pk))
    assert cached(user.pk) is None


# --- races --------------------------------------------------------------------------------------
def test_a_change_between_reading_and_filling_refuses_the_fill(writer, monkeypatch) -> None:
    user, act = writer
    cache.PEOPLE.invalidate([user.pk])
    real = queries._packed_cards

    def read_then_lose(ids: Collection[int]) -> dict[int, bytes]:
        found = real(ids)
        act(user)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(queries, "_packed_cards", read_then_lose)
        before = queries.cards([user.pk])
    assert queries.cards([user.pk]) == true(user.pk) != before


def test_a_fill_between_commit_and_invalidation_does_not_last(
    writer, django_capture_on_commit_callbacks
) -> None:
    user, act = writer
    old = cached(user.pk)
    cache.PEOPLE.invalidate([user.pk])
    assert old is not None

    def read_before(ids: Collection[int]) -> dict[int, bytes]:
        act(user)  # the commit; what follows it runs after the fill
        return {user.pk: old}

    with django_capture_on_commit_callbacks(execute=True):
        load(cache.PEOPLE, [user.pk], read_before)
        assert cached(user.pk) == old
    assert queries.cards([user.pk]) == true(user.pk)


# --- without Redis ------------------------------------------------------------------------------
def test_without_redis_cards_are_right_and_a_later_redis_has_no_old_card(
    writer, dead_redis
) -> None:
    user, act = writer
    with dead_redis():
        act(user)
        assert queries.cards([user.pk]) == true(user.pk)
    assert queries.cards([user.pk]) == true(user.pk)  # Redis is back, with the old card


def test_an_emptied_redis_is_filled_anew(make_user, django_assert_num_queries) -> None:
    user = make_user()
    queries.cards([user.pk])
    redis.call(lambda connection: connection.flushdb())
    with django_assert_num_queries(1):
        found = queries.cards([user.pk])
    with django_assert_num_queries(0):
        assert queries.cards([user.pk]) == found
    assert found == true(user.pk)


# --- standing -----------------------------------------------------------------------------------
@pytest.mark.parametrize("act", [actions.ban, actions.unban])
def test_a_ban_and_its_end_renew_the_standing(make_user, act) -> None:
    user = make_user()
    if act is actions.unban:
        actions.ban(user)
    start(queries.STANDING)
    act(user)
    assert standing() is None
    token = start(queries.STANDING)
    act(user)  # changes nothing
    actions.edit_profile(user, nickname="Renamed")
    assert standing() == token


@pytest.mark.parametrize("event", [UserBanned, UserUnbanned])
def test_the_event_renews_the_standing_once_more(event) -> None:
    start(queries.STANDING)
    for handler in handlers(event, Stage.AFTER):
        handler(event(1))
    assert standing() is None
