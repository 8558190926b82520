"""Follow, unfollow, block, unblock on the database: rows, events, log, refusals, threads."""

import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from relations import actions
from relations.models import Relation, RelationCount, RelationLog, Relationship
from relations.pairs import locks, states
from relations.pairs.states import Action
from relations.tests.helpers import (
    ROUTES,
    at_once,
    bring,
    counted,
    pair,
    pending_events,
    row,
    stored,
)
from relations.tests.transitions import CELLS, REFUSED
from socialsite.core import events
from socialsite.core.errors import Blacklisted, FollowLimit, SelfRelation, UserBanned, UserNotFound
from socialsite.core.ids import MAX_ID
from socialsite.core.models import Event

ALL = [actions.follow, actions.unfollow, actions.block, actions.unblock]

pytestmark = pytest.mark.django_db


def close(user, field: str) -> None:
    """Ban or close an account."""
    type(user).objects.filter(pk=user.pk).update(**{field: timezone.now()})


@pytest.mark.parametrize("lower_acts", [True, False])
@pytest.mark.parametrize(("before", "action", "after"), CELLS)
def test_each_cell_changes_both_rows_and_publishes_only_real_transitions(
    people, before, action, after, lower_acts
) -> None:
    a, b = people if lower_acts else reversed(people)
    assert (a.pk < b.pk) == lower_acts
    bring(a, b, before[0])
    version = max((found.version for found in (row(a, b),) if found), default=0)
    Event.objects.all().delete()
    log = RelationLog.objects.count()
    act = getattr(actions, action)
    if after == REFUSED:
        with pytest.raises(Blacklisted):
            act(a, b)
        after = before
    else:
        assert act(a, b) is after[0]
    assert pair(a, b) == after
    changed = after != before
    assert bool(pending_events()) == changed
    assert RelationLog.objects.count() - log == changed
    if row(a, b):
        assert stored(a, b).version == stored(b, a).version == version + changed


def test_a_block_between_friends_ends_two_follows(people) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    Event.objects.all().delete()
    actions.block(a, b)
    assert sorted(pending_events()) == sorted(
        [
            ("FollowCanceled", a.pk, b.pk),
            ("FollowCanceled", b.pk, a.pk),
            ("Blocked", a.pk, b.pk),
        ]
    )


def test_an_unblock_does_not_restore_follows(people) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    actions.block(a, b)
    assert actions.unblock(a, b) is None
    assert pair(a, b) == (None, None)
    assert counted(a)["following"] == counted(b)["following"] == 0


def test_the_event_carries_the_payload_of_the_specification(people) -> None:
    a, b = people
    actions.follow(a, b)
    event = Event.objects.get()
    assert event.aggregate_type == "following"
    assert event.aggregate_id == stored(a, b).pk
    assert event.payload == {
        "type": "FollowCreated",
        "fromUserId": a.pk,
        "toUserId": b.pk,
        "id": stored(a, b).pk,
        "version": 1,
    }


def test_following_again_reuses_the_row_and_publishes_it_again(people) -> None:
    a, b = people
    actions.follow(a, b)
    first = stored(a, b).pk
    actions.unfollow(a, b)
    actions.follow(a, b)
    assert stored(a, b).pk == first
    assert stored(a, b).version == 3
    published = Event.objects.order_by("pk").values_list("aggregate_id", "payload__id")
    assert list(published) == [(first, first)] * 3
    assert [name for name, _, _ in pending_events()] == [
        "FollowCreated",
        "FollowCanceled",
        "FollowCreated",
    ]


def test_unfollowing_a_stranger_leaves_nothing_behind(people) -> None:
    a, b = people
    assert actions.unfollow(a, b) is None
    assert actions.unblock(a, b) is None
    assert not Relationship.objects.exists()
    assert not RelationCount.objects.exists()


def test_unfollowing_a_friend_does_not_remove_the_follower(people) -> None:
    a, b = people
    bring(a, b, Relation.BI_FOLLOWING)
    assert actions.unfollow(a, b) is Relation.FOLLOWED
    assert stored(b, a).relation == Relation.FOLLOWING


def test_a_follow_back_moves_no_time_of_the_first_follow(people, monkeypatch) -> None:
    a, b = people
    clock = iter([1000, 2000, 3000, 4000])
    monkeypatch.setattr("socialsite.core.db.now_ms", lambda: next(clock))
    actions.follow(a, b)
    actions.follow(b, a)
    mine, other = stored(a, b), stored(b, a)
    assert (mine.followed_at, mine.fan_since) == (1000, 2000)
    assert (other.followed_at, other.fan_since) == (2000, 1000)
    actions.unfollow(a, b)
    mine, other = stored(a, b), stored(b, a)
    assert (mine.followed_at, mine.fan_since) == (None, 2000)
    assert (other.followed_at, other.fan_since) == (2000, None)
    actions.block(b, a)
    mine, other = stored(a, b), stored(b, a)
    assert (other.followed_at, other.fan_since, other.blocked_at) == (None, None, 4000)
    assert (mine.followed_at, mine.fan_since, mine.blocked_at) == (None, None, None)


def test_the_log_has_every_transition_in_an_unbroken_chain(people) -> None:
    a, b = people
    actions.follow(a, b)
    actions.follow(b, a)
    actions.block(a, b)
    actions.unblock(a, b)
    lines = RelationLog.objects.order_by("version").values_list(
        "version", "actor_id", "action", "before", "after"
    )
    assert list(lines) == [
        (1, a.pk, Action.FOLLOW, None, Relation.FOLLOWING),
        (2, b.pk, Action.FOLLOW, Relation.FOLLOWED, Relation.BI_FOLLOWING),
        (3, a.pk, Action.BLOCK, Relation.BI_FOLLOWING, Relation.BLACKLISTING),
        (4, a.pk, Action.UNBLOCK, Relation.BLACKLISTING, None),
    ]


@pytest.mark.parametrize("act", ALL)
def test_nobody_relates_to_themselves(people, act) -> None:
    with pytest.raises(SelfRelation):
        act(people[0], people[0])


@pytest.mark.parametrize(
    ("field", "error"), [("banned_at", UserBanned), ("deleted_at", UserNotFound)]
)
def test_a_closed_account_cannot_be_followed_even_through_an_old_instance(
    people, field, error
) -> None:
    a, b = people
    close(b, field)
    with pytest.raises(error):
        actions.follow(a, b)
    assert not Relationship.objects.exists()


@pytest.mark.parametrize("act", ALL)
def test_an_unknown_person_is_not_found(people, act) -> None:
    with pytest.raises(UserNotFound):
        act(people[0], User(pk=MAX_ID))
    assert not Relationship.objects.exists()


@pytest.mark.parametrize("field", ["banned_at", "deleted_at"])
@pytest.mark.parametrize("before", ROUTES)
@pytest.mark.parametrize("action", [Action.UNFOLLOW, Action.BLOCK, Action.UNBLOCK])
def test_a_closed_account_can_be_left_and_blocked_like_any_other(
    people, field, before, action
) -> None:
    a, b = people
    bring(a, b, before)
    close(b, field)
    getattr(actions, action)(a, b)
    assert pair(a, b) == states.transition(before, action)


def test_leaving_a_banned_account_makes_room_below_the_cap(make_user, monkeypatch) -> None:
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", 1)
    a, b, c = (make_user() for _ in range(3))
    actions.follow(a, b)
    close(b, "banned_at")
    assert counted(a)["following"] == 1
    with pytest.raises(FollowLimit):
        actions.follow(a, c)
    actions.unfollow(a, b)
    assert counted(a)["following"] == 0
    assert actions.follow(a, c) is Relation.FOLLOWING


def test_following_someone_i_block_changes_nothing_and_returns_the_state(people) -> None:
    a, b = people
    actions.block(a, b)
    Event.objects.all().delete()
    assert actions.follow(a, b) is Relation.BLACKLISTING
    assert pending_events() == []


def test_the_cap_refuses_the_next_follow_and_an_unfollow_makes_room(make_user, monkeypatch) -> None:
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", 2)
    a, b, c, d = (make_user() for _ in range(4))
    actions.follow(a, b)
    actions.follow(a, c)
    with pytest.raises(FollowLimit):
        actions.follow(a, d)
    assert pair(a, d) == (None, None)
    assert actions.follow(a, b) is Relation.FOLLOWING
    actions.unfollow(a, b)
    assert actions.follow(a, d) is Relation.FOLLOWING


def test_a_block_by_the_other_side_makes_room_below_the_cap(make_user, monkeypatch) -> None:
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", 1)
    a, b, c = (make_user() for _ in range(3))
    actions.follow(a, b)
    actions.block(b, a)
    assert counted(a)["following"] == 0
    assert actions.follow(a, c) is Relation.FOLLOWING


def test_follows_above_a_lowered_cap_survive(make_user, monkeypatch) -> None:
    a, b, c = (make_user() for _ in range(3))
    actions.follow(a, b)
    monkeypatch.setattr(settings, "FOLLOW_LIMIT", 1)
    actions.follow(b, a)
    with pytest.raises(FollowLimit):
        actions.follow(a, c)
    assert pair(a, b) == (Relation.BI_FOLLOWING, Relation.BI_FOLLOWING)


def test_a_rolled_back_follow_stores_and_publishes_nothing(people) -> None:
    a, b = people

    with transaction.atomic():
        actions.follow(a, b)
        transaction.set_rollback(True)
    assert pair(a, b) == (None, None)
    assert pending_events() == []


@pytest.mark.parametrize("act", [actions.follow, actions.block])
def test_a_change_whose_event_fails_is_rolled_back(people, monkeypatch, act) -> None:
    """An outbox error rolls the change back."""
    a, b = people
    monkeypatch.setattr(events, "Event", fail)
    with pytest.raises(DatabaseError):
        act(a, b)
    assert pair(a, b) == (None, None)
    assert counted(a)["following"] == 0
    assert not RelationLog.objects.exists()


def fail(**fields: object) -> None:
    raise DatabaseError


def test_the_table_itself_takes_a_pair_once_and_nobody_with_themselves(people) -> None:
    a, b = people
    actions.follow(a, b)
    for one, two in ((a, b), (a, a)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Relationship.objects.create(from_user=one, to_user=two)


@pytest.mark.parametrize(
    ("meanwhile", "after"),
    [
        (lambda a, b: actions.follow(a, b), Relation.FOLLOWING),
        (lambda a, b: actions.follow(b, a), Relation.BI_FOLLOWING),
        (lambda a, b: actions.block(a, b), Relation.BLACKLISTING),
        (lambda a, b: actions.block(b, a), REFUSED),
    ],
)
def test_a_change_between_the_read_and_the_lock_counts(
    people, monkeypatch, meanwhile, after
) -> None:
    a, b = people
    real = locks.counters

    def late(ids):
        monkeypatch.undo()
        meanwhile(a, b)
        return real(ids)

    monkeypatch.setattr(locks, "counters", late)
    if after == REFUSED:
        with pytest.raises(Blacklisted):
            actions.follow(a, b)
        return
    assert actions.follow(a, b) is after
    changes = RelationLog.objects.count()
    assert stored(a, b).version == stored(b, a).version == changes == len(pending_events())
    assert counted(a)["following"] == (after is not Relation.BLACKLISTING)


def test_locks_are_taken_in_one_order_whoever_acts(people) -> None:
    """Retries hide the deadlocks of a wrong order from people, and from most tests."""
    a, b = people
    actions.follow(a, b)
    actions.follow(b, a)
    orders = []
    for ids in ((a.pk, b.pk), (b.pk, a.pk)):
        with CaptureQueriesContext(connection) as found, transaction.atomic():
            locks.counters(ids)
            locks.pair(*ids, make=True)
        orders.append([query["sql"] for query in found if "SAVEPOINT" not in query["sql"]])
    assert orders[0] == orders[1]
    assert len(orders[0]) == 5


# --- real transactions in real threads ----------------------------------------------------------
full = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks"),
]


# A process for each list of people: it prints that it is ready, waits for the start signal, and
# follows one person after another.
FOLLOWERS = """
import json, os, signal, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "socialsite.settings"
import django
django.setup()
from accounts.models import User
from relations import actions
from socialsite.core.events import enqueue
from socialsite.core.errors import AppError
shot, me, lists = sys.argv[1], User(pk=int(sys.argv[2])), json.loads(sys.argv[3])

def say(word):
    os.write(1, (word + "\\n").encode())  # at once, as others speak too

def follow(others):
    signal.alarm(60)
    User.objects.exists()
    say("ready")
    while not os.path.exists(shot):
        time.sleep(0.001)
    with enqueue.paused():
        for other in others:
            try:
                say(actions.follow(me, User(pk=other)).name)
            except AppError as error:
                say(type(error).__name__)

children = []
for others in lists:
    if not (child := os.fork()):
        follow(others)
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def database_of_the_tests() -> str:
    """Return the URL of the database that the tests use."""
    url = urlsplit(os.environ["DATABASE_URL"])
    return url._replace(path="/" + connection.settings_dict["NAME"]).geturl()


class TestAtOnce:
    """Races on MariaDB."""

    pytestmark = full

    @pytest.mark.parametrize("_round", range(5))
    def test_two_who_follow_each_other_at_once_are_friends(self, people, _round) -> None:
        a, b = people
        results = at_once([lambda: actions.follow(a, b), lambda: actions.follow(b, a)])
        assert set(results) == {Relation.BI_FOLLOWING, Relation.FOLLOWING}
        assert pair(a, b) == (Relation.BI_FOLLOWING, Relation.BI_FOLLOWING)
        assert sorted(pending_events()) == sorted(
            [("FollowCreated", a.pk, b.pk), ("FollowCreated", b.pk, a.pk)]
        )

    def test_one_follow_sent_many_times_at_once_is_published_once(self, people) -> None:
        a, b = people
        results = at_once([lambda: actions.follow(a, b)] * 6)
        assert results == [Relation.FOLLOWING] * 6
        assert pending_events() == [("FollowCreated", a.pk, b.pk)]
        assert counted(a)["following"] == 1

    def test_the_cap_is_never_exceeded(self, make_user, monkeypatch) -> None:
        monkeypatch.setattr(settings, "FOLLOW_LIMIT", 3)
        a = make_user()
        others = [make_user() for _ in range(8)]
        results = at_once([lambda b=b: actions.follow(a, b) for b in others])
        assert results.count(Relation.FOLLOWING) == 3
        assert sum(isinstance(result, FollowLimit) for result in results) == 5
        following = Relationship.objects.filter(from_user=a, relation=Relation.FOLLOWING)
        assert following.count() == counted(a)["following"] == 3

    def test_eight_processes_at_once_never_follow_past_the_cap(
        self, make_user, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.setattr(settings, "FOLLOW_LIMIT", 5)
        a = make_user()
        others = [make_user() for _ in range(16)]
        shot = tmp_path / "shot"
        ids = [other.pk for other in others]
        lists = [ids[number::8] + ids[(number + 3) % 8 :: 8] for number in range(8)]
        with subprocess.Popen(
            [sys.executable, "-c", FOLLOWERS, str(shot), str(a.pk), json.dumps(lists)],
            env={**os.environ, "DATABASE_URL": database_of_the_tests(), "FOLLOW_LIMIT": "5"},
            cwd=settings.BASE_DIR,
            stdout=subprocess.PIPE,
            text=True,
        ) as processes:
            assert processes.stdout is not None
            ready = [processes.stdout.readline() for _ in lists]
            shot.touch()
            words = processes.communicate(timeout=60)[0].split()
        assert ready == ["ready\n"] * 8
        assert len(words) == 32
        assert set(words) == {"FOLLOWING", "FollowLimit"}
        following = Relationship.objects.filter(from_user=a, relation=Relation.FOLLOWING)
        assert following.count() == counted(a)["following"] == 5
