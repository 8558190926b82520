"""Mails about mentions: who gets one, when, and that each mention is mailed once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from accounts import actions as accounts_actions
from accounts.models import MailKind, User
from feeds import actions as feeds_actions
from interactions import actions
from interactions.models import Notification, NotificationReader
from interactions.notifying import mention_mails
from relations import actions as relations_actions
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
Deliver = Callable[[], list[Any]]
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def _chosen(choose: Make) -> None:
    choose(MailKind.MENTIONS)


@pytest.fixture
def friend(make_user: Make) -> User:
    return make_user("friend1")


def name(author: User, words: str = "Hello @reader1", **values: Any) -> Any:
    return feeds_actions.publish(author, content=words, **values)


def pass_minutes(minutes: int = 11) -> None:
    """Let time pass: what happened and what was planned are so much earlier."""
    ms = minutes * 60_000
    for row in Notification.objects.all():
        row.position = max(0, row.position - ms)
        row.read_position = max(0, row.read_position - ms)
        row.newest = [[actor, at - ms] for actor, at in row.newest]
        row.save()
    for reader in NotificationReader.objects.all():
        for field in ("mentions_after", "mention_mail_due", "mention_mail_at"):
            setattr(reader, field, max(0, getattr(reader, field) - ms))
        reader.save()
    for event in Event.objects.filter(type="MentionMailDue"):
        Event.objects.filter(pk=event.pk).update(available_at=event.available_at - ms)


@pytest.fixture
def mails(drain: Callable[[], None], deliver: Deliver) -> Callable[..., list[Any]]:
    """Return a function that lets minutes pass and returns the mails of that time."""

    def run(minutes: int = 11) -> list[Any]:
        drain()
        pass_minutes(minutes)
        return deliver()

    return run


def test_an_unread_mention_is_mailed_once_after_some_minutes(
    me: User, friend: User, mails: Make
) -> None:
    post = name(friend)
    assert mails(1) == []
    (mail,) = mails(10)
    assert mail.to == ["reader@example.org"]
    assert mail.subject == "New mentions of you: 1"
    assert "mentioned you in a post:\nHello @reader1" in mail.body
    assert f"/posts/{post.pk}" in mail.body
    assert mail.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mails(600) == []
    assert NotificationReader.objects.get(pk=me.pk).mention_mail_due == 0


def test_several_mentions_are_one_mail_and_the_next_one_waits_for_an_hour(
    me: User, friend: User, make_user: Make, mails: Make
) -> None:
    post = name(friend)
    actions.comment(make_user("other1"), post.pk, "yes @reader1, you")
    (mail,) = mails()
    assert mail.subject == "New mentions of you: 2"
    assert "mentioned you in a comment:\nyes @reader1, you" in mail.body
    name(friend, "again @reader1")
    assert mails(15) == []
    name(friend, "and again @reader1")
    assert mails(15) == []
    (mail,) = mails(40)
    assert mail.body.count("again @reader1") == 2
    assert "yes @reader1" not in mail.body


def test_a_mention_that_is_read_is_not_mailed(me: User, friend: User, drain: Make, mails: Make):
    name(friend)
    drain()
    actions.read_notifications(me)
    assert mails() == []


def undo(what: str, me: User, friend: User, post: Any) -> None:
    if what == "deleted":
        feeds_actions.delete(friend, post.pk)
    elif what == "edited":
        feeds_actions.edit(friend, post.pk, 1, content="Hello nobody")
    elif what == "narrowed":
        feeds_actions.edit(friend, post.pk, 1, visibility="self")
    elif what == "blocked":
        relations_actions.block(me, friend)
    elif what == "blocked me":
        relations_actions.block(friend, me)
    elif what == "banned":
        accounts_actions.ban(friend)
    elif what == "author closed":
        User.objects.filter(pk=friend.pk).update(deleted_at=timezone.now())
    elif what == "I am banned":
        accounts_actions.ban(me)
    elif what == "no address":
        User.objects.filter(pk=me.pk).update(email="", email_key="")
    else:
        accounts_actions.choose_mails(me, MailKind.SIGN_INS)


UNDONE = (
    *("deleted", "edited", "narrowed", "blocked", "blocked me", "banned", "author closed"),
    *("I am banned", "no address", "not chosen any more"),
)


@pytest.mark.parametrize("handled", [True, False], ids=["handled", "at the last moment"])
@pytest.mark.parametrize("what", UNDONE)
def test_what_the_person_may_not_see_or_does_not_want_is_not_mailed(
    me: User, friend: User, drain: Make, mails: Make, deliver: Deliver, what: str, handled: bool
) -> None:
    post = name(friend)
    drain()
    if handled:
        undo(what, me, friend, post)
        drain()
        assert mails() == []
        return
    pass_minutes()
    undo(what, me, friend, post)
    if what == "edited":  # the page lists it too until the edit's event is handled
        drain()
    assert [mail for mail in deliver() if "mentions" in mail.subject] == []


def test_a_content_note_stands_for_the_words(friend: User, mails: Make) -> None:
    name(friend, "secret @reader1", note="The end of the film")
    (mail,) = mails()
    assert "The end of the film" in mail.body
    assert "secret" not in mail.body


def test_mentions_from_before_the_choice_are_not_mailed(
    me: User, friend: User, drain: Make, mails: Make
) -> None:
    accounts_actions.choose_mails(me, 0)
    name(friend, "old @reader1")
    drain()
    accounts_actions.choose_mails(me, MailKind.MENTIONS)
    name(friend, "new @reader1")
    (mail,) = mails(30)
    assert "new @reader1" in mail.body
    assert "old @reader1" not in mail.body


def test_other_notifications_and_muted_mentions_are_not_mailed(
    me: User, post: Any, friend: User, drain: Make, mails: Make
) -> None:
    actions.comment(friend, post.pk, "a comment")
    relations_actions.follow(friend, me)
    actions.choose_notifications(me, {"mentioned": "nobody"})
    name(friend)
    assert mails() == []


def test_many_mentions_are_cut(friend: User, mails: Make) -> None:
    for number in range(mention_mails.SHOWN + 2):
        name(friend, f"number {number} @reader1")
    (mail,) = mails()
    assert mail.body.count("mentioned you") == mention_mails.SHOWN
    assert "There are more:" in mail.body
    assert "number 11" in mail.body


def test_the_mail_is_in_the_language_of_the_person(me: User, friend: User, mails: Make) -> None:
    User.objects.filter(pk=me.pk).update(language="zh-hans")
    name(friend)
    (mail,) = mails()
    assert "提到你的新内容" in mail.subject


def test_a_mail_server_that_fails_gets_the_mail_later(
    me: User, friend: User, drain: Make, deliver: Deliver, mails: Make
) -> None:
    name(friend)
    drain()
    pass_minutes()
    with override_settings(EMAIL_BACKEND="interactions.tests.notifying.failing.Backend"):
        assert deliver() == []
    Event.objects.filter(type="MailWanted").update(available_at=0)
    assert len(deliver()) == 1
    assert mails(600) == []
