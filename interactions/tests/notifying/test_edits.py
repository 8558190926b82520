"""Notifications follow from the present words of a post or comment, whoever was named before."""

from typing import Any

import pytest

from feeds import actions as feeds_actions
from interactions import actions, queries
from interactions.models import Notification, NotificationCause
from interactions.notifying import causes
from interactions.subscribers import notify_of_post
from relations import actions as relations_actions
from socialsite.core.events import registry
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db


def kinds_of(user: Any) -> list[tuple[str, bool]]:
    return [(one["kind"], one["read"]) for one in queries.notifications(user, None, 100).items]


def unread(user: Any) -> int:
    return queries.unread_count(user)[0]


@pytest.fixture
def anna(make_user: Any) -> Any:
    return make_user("anna")


@pytest.fixture
def bert(make_user: Any) -> Any:
    return make_user("bert")


NAMED = [("mentioned", False)]


def test_an_edit_notifies_those_whom_it_names_and_takes_it_back_from_the_others(
    me: Any, anna: Any, bert: Any, make_post: Any, drain: Any
) -> None:
    post = make_post(me, "hello @anna")
    drain()
    assert (kinds_of(anna), kinds_of(bert)) == (NAMED, [])
    feeds_actions.edit(me, post.pk, 1, content="hello @bert")
    drain()
    assert (kinds_of(anna), kinds_of(bert)) == ([], NAMED)
    assert (unread(anna), unread(bert)) == (0, 1)


def test_people_who_stay_named_are_not_notified_again(
    me: Any, anna: Any, make_post: Any, drain: Any
) -> None:
    post = make_post(me, "hello @anna")
    drain()
    actions.read_notifications(anna)
    for version, words in ((1, "dear @anna"), (2, "nobody"), (3, "dear @anna again")):
        feeds_actions.edit(me, post.pk, version, content=words)
        drain()
    assert kinds_of(anna) == [("mentioned", True)]
    assert unread(anna) == 0


@pytest.mark.parametrize("order", ["id", "-id"])
def test_the_order_of_the_events_makes_no_difference(
    me: Any, anna: Any, bert: Any, make_post: Any, drain: Any, order: str
) -> None:
    post = make_post(me, "hello @anna")
    feeds_actions.edit(me, post.pk, 1, content="hello @bert")
    feeds_actions.edit(me, post.pk, 2, content="hello @anna again")
    feeds_actions.edit(me, post.pk, 3, content="hello")
    for event in list(Event.objects.order_by(order)):
        kind = registry.event_types[event.type]
        found: Any = kind.from_payload(event.payload)
        for handler in registry.handlers(kind, registry.Stage.RELAY):
            if handler.__module__ == notify_of_post.__module__:
                handler(found)
    drain()
    assert (kinds_of(anna), kinds_of(bert)) == ([], [])


def test_an_edit_notifies_only_those_who_may_see_the_post(
    me: Any, anna: Any, bert: Any, make_user: Any, make_post: Any, drain: Any
) -> None:
    relations_actions.follow(anna, me)
    relations_actions.block(me, bert)
    post = make_post(me, "hello", visibility="followers")
    stranger = make_user("carl")
    feeds_actions.edit(me, post.pk, 1, content="hello @anna @bert @carl")
    drain()
    assert kinds_of(anna) == NAMED
    assert [kinds_of(one) for one in (bert, stranger)] == [[], []]
    assert NotificationCause.objects.filter(stands=True, subject_id=post.pk).count() == 1


def test_a_narrower_audience_ends_notifications_and_unread_marks_at_once(
    me: Any, anna: Any, bert: Any, make_post: Any, drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causes, "STEP", 1)
    relations_actions.follow(bert, me)
    post = make_post(me, "hello @anna @bert")
    comment = actions.comment(anna, post.pk, "yes?")
    actions.comment(me, post.pk, "nothing", comment.pk)
    drain()
    assert (unread(anna), unread(bert)) == (2, 1)
    monkeypatch.setattr(causes, "STEP", 500)
    feeds_actions.edit(me, post.pk, 1, visibility="followers")
    assert (kinds_of(anna), unread(anna)) == ([], 0)
    assert (kinds_of(bert), unread(bert)) == (NAMED, 1)
    relations_actions.follow(anna, me)
    assert len(kinds_of(anna)) == 2


def test_many_unread_marks_are_corrected_in_steps(
    me: Any, anna: Any, make_user: Any, make_post: Any, drain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [anna, *(make_user() for _ in range(4))]
    post = make_post(me, " ".join(f"@{one.username}" for one in people))
    drain()
    assert [unread(one) for one in people] == [1] * 5
    monkeypatch.setattr(causes, "STEP", 2)
    feeds_actions.edit(me, post.pk, 1, visibility="followers")
    drain()
    assert [unread(one) for one in people] == [0] * 5


def test_an_edited_quote_does_not_notify_the_author_of_the_post_twice(
    me: Any, anna: Any, make_post: Any, drain: Any
) -> None:
    source = make_post(anna)
    quote, _ = feeds_actions.repost(me, source.pk, "look")
    feeds_actions.edit(me, quote.pk, 1, content="look, @anna")
    drain()
    assert kinds_of(anna) == [("reposted", False)]
    assert Notification.objects.filter(user=anna).count() == 1
