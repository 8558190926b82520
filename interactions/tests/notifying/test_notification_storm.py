"""A short run of the storm: real threads on MariaDB; notifications match the facts."""

import threading
from typing import Any

import pytest
from django.db import connection

from interactions import actions
from interactions.kinds import COMMENTED, LIKED_POST
from interactions.models import Like, Notification, NotificationCause, SubjectType
from interactions.notifying import cause_rows, causes, fold
from interactions.tests.notifying import notification_storm
from interactions.tests.notifying.notification_storm import Scene, differences, scene, storm
from relations.tests.helpers import at_once
from socialsite.core import db
from socialsite.core.events import enqueue
from socialsite.tests.support import locks

pytestmark = [
    pytest.mark.full,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "mysql", reason="needs row locks"),
]


def test_a_storm_leaves_notifications_that_match_the_facts(
    make_user: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(causes, "STEP", 3)
    found = storm(
        scene(make_user(), [make_user() for _ in range(4)], make_user()),
        threads=6,
        operations=300,
    )
    assert found.errors == []
    assert found.differences == []
    assert found.unseen == []
    # The storm must have done something.
    assert found.compared > 5
    assert found.looked > 10
    _damage_is_found()


def test_the_later_of_two_relays_reads_the_current_state(make_user: Any, make_post: Any) -> None:
    """The relay of the like stops between reading and writing while the like is removed."""
    author, fan = make_user(), make_user()
    post = make_post(author)
    actions.like(fan, SubjectType.POST, post.pk)
    likes = Like.objects.filter(user=fan.pk)
    cause = cause_rows.Cause(author.pk, LIKED_POST, post.pk, post.pk, fan.pk)
    has_read, is_done = threading.Event(), threading.Event()

    def slow() -> bool:
        found = likes.exists()
        has_read.set()
        # Until the relay of the unlike waits for this one, or did not have to.
        locks.waits_or(is_done.is_set)
        return found

    def of_the_like() -> None:
        db.atomic(cause_rows.sync)([cause], slow)

    def of_the_unlike() -> None:
        has_read.wait()
        actions.unlike(fan, SubjectType.POST, post.pk)
        db.atomic(cause_rows.sync)([cause], likes.exists)
        is_done.set()

    with enqueue.paused():
        assert at_once([of_the_like, of_the_unlike]) == [None, None]
    assert not NotificationCause.objects.filter(stands=True).exists()
    fold.sweep()
    assert differences(author) == []


def test_one_folds_and_nobody_waits(make_user: Any, make_post: Any, monkeypatch: Any) -> None:
    """A running fold includes causes that become due meanwhile."""
    author, *fans = [make_user() for _ in range(3)]
    post = make_post(author)
    rows = [cause_rows.Cause(author.pk, LIKED_POST, post.pk, post.pk, fan.pk) for fan in fans]
    folding, may_go_on = threading.Event(), threading.Event()
    write = fold._write_groups

    def slow(*args: Any) -> Any:
        folding.set()
        assert may_go_on.wait(60)
        return write(*args)

    monkeypatch.setattr(fold, "_write_groups", slow)

    def first() -> int:
        return fold.fold(author.pk)

    def second() -> int:
        assert folding.wait(60)
        db.atomic(cause_rows.sync)([rows[1]], lambda: True)
        try:
            return fold.fold(author.pk)
        finally:
            may_go_on.set()

    db.atomic(cause_rows.sync)([rows[0]], lambda: True)
    assert at_once([first, second]) == [2, 0]
    assert Notification.objects.get().actor_count == 2


def _damage_is_found() -> None:
    """Check that the oracle detects damage."""
    group = Notification.objects.filter(actor_count__gt=0, kind=COMMENTED.value).latest("position")
    on = Scene(group.user, [], None, [], [], group.subject_id)
    assert notification_storm._unseen(on, [(group.position, group.position - 1)])
    assert not notification_storm._unseen(on, [(group.position, group.position)])
    Notification.objects.filter(pk=group.pk).update(actor_count=99)
    assert [one[1] for one in differences(group.user)] == [("commented", "post", group.subject_id)]
    NotificationCause.objects.filter(user=group.user, kind=COMMENTED.value).delete()
    Notification.objects.filter(pk=group.pk).delete()
    assert "groups" in [one[1] for one in differences(group.user)]
