"""Counters by event: exactly once, if events are repeated, reordered, late or interrupted."""

import itertools

import pytest

from relations import actions
from relations.counters import counts
from relations.models import Relation, RelationCount, Relationship
from relations.tests.helpers import bring, counted, facts
from socialsite.core.events import relay
from socialsite.core.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def drain() -> None:
    while relay.relay():
        pass


def test_all_four_counters_follow_the_facts(people) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    drain()
    friend = {"following": 1, "followers": 1, "friends": 1, "blocked": 0}
    assert counted(a) == counted(b) == friend
    actions.block(a, b)
    drain()
    nothing = dict.fromkeys(friend, 0)
    assert counted(a) == nothing | {"blocked": 1}
    assert counted(b) == nothing


def test_following_counts_at_once_and_followers_after_the_relay(people) -> None:
    a, b = people
    actions.follow(a, b)
    assert counted(a)["following"] == 1
    assert counted(b)["followers"] == 0
    drain()
    assert counted(b)["followers"] == 1


def test_repeated_events_count_once(people) -> None:
    a, b = people
    actions.follow(a, b)
    again = list(Event.objects.all())
    drain()
    for _ in range(3):
        Event.objects.bulk_create(
            Event(
                aggregate_type=event.aggregate_type,
                aggregate_id=event.aggregate_id,
                type=event.type,
                payload=event.payload,
            )
            for event in again
        )
        drain()
    assert counted(b)["followers"] == 1


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_events_out_of_order_never_pass_through_a_wrong_count(people, order) -> None:
    a, b = people
    actions.follow(a, b)
    actions.unfollow(a, b)
    actions.follow(a, b)
    ids = list(Event.objects.order_by("pk").values_list("pk", flat=True))
    now = {ids[number]: place for place, number in enumerate(order)}
    Event.objects.update(available_at=2**60)
    for ident in sorted(ids, key=now.__getitem__):
        Event.objects.filter(pk=ident).update(available_at=0)
        drain()
        assert counted(b)["followers"] == 1


def test_a_cancel_that_arrives_alone_does_not_count_below_zero(people) -> None:
    a, b = people
    actions.follow(a, b)
    actions.unfollow(a, b)
    Event.objects.filter(type="FollowCreated").delete()
    drain()
    assert counted(b)["followers"] == 0
    assert facts(a) == counted(a)


def test_lost_events_are_made_up_by_the_next_one(people) -> None:
    a, b = people
    actions.follow(a, b)
    Event.objects.all().delete()
    actions.follow(b, a)
    drain()
    assert counted(a) == facts(a)
    assert counted(b) == facts(b)


def test_settling_a_settled_pair_writes_nothing(people, django_assert_max_num_queries) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    drain()
    before = (list(RelationCount.objects.values()), list(Relationship.objects.values()))
    counts.settle(a.pk, b.pk)
    with django_assert_max_num_queries(6):  # a savepoint and the four locks
        counts.settle(b.pk, a.pk)
    assert (list(RelationCount.objects.values()), list(Relationship.objects.values())) == before


# --- counters that drifted by what is not ours --------------------------------------------------
@pytest.mark.parametrize("act", ["unfollow", "block"])
def test_a_counter_that_is_too_low_does_not_prevent_unfollows(act, make_user) -> None:
    one, two = make_user(), make_user()
    actions.follow(one, two)
    drain()
    RelationCount.objects.update(following=0, followers=0)
    getattr(actions, act)(one, two)
    drain()
    assert not Event.objects.exists()
    assert list(RelationCount.objects.values_list("following", "followers")) == [(0, 0)] * 2
