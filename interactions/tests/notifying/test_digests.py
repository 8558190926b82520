"""Weekly digests: who gets one, when, and what it says."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts import actions as accounts_actions
from accounts.mail import choices
from accounts.models import MailKind, User
from feeds import actions as feeds_actions
from interactions import actions
from interactions.models import Notification, SubjectType
from interactions.notifying import digests
from relations import actions as relations_actions
from relations.models import Relationship
from socialsite.core import db

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
Deliver = Callable[[], list[Any]]
DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def _chosen(choose: Make) -> None:
    choose(MailKind.DIGEST)


@pytest.fixture
def author(make_user: Make, me: User, drain: Make) -> User:
    """Somebody whom the reader follows."""
    found: User = make_user("writer1")
    relations_actions.follow(me, found)
    drain()
    return found


@pytest.fixture
def mails(drain: Make, deliver: Deliver) -> Callable[[], list[Any]]:
    """Return a function that reaches the reader's time of the week and returns the mails."""

    def run() -> list[Any]:
        drain()
        User.objects.filter(digest_due__isnull=False).update(digest_due=db.now_ms())
        while digests.send_due():
            pass
        return [mail for mail in deliver() if mail.subject.startswith("Your week")]

    return run


def test_a_digest_has_what_is_new_and_the_posts_with_the_most_likes(
    me: User, author: User, make_user: Make, mails: Make
) -> None:
    posts = [feeds_actions.publish(author, content=f"post {number}") for number in range(7)]
    for number, post in enumerate(posts[2:5]):
        for _ in range(number + 1):
            actions.like(make_user(), SubjectType.POST, post.pk)
    feeds_actions.publish(me, content="my own")
    feeds_actions.repost(author, posts[0].pk)
    old = db.now_ms() - 8 * DAY_MS
    feeds_actions.publish(author, content="too old", at_ms=old)
    relations_actions.follow(make_user(), me)
    (mail,) = mails()
    assert mail.to == ["reader@example.org"]
    assert mail.subject == "Your week on socialsite"
    assert "1 unread notification:" in mail.body
    assert "1 new follower:" in mail.body
    places = [mail.body.find(f"post {number}\n") for number in (4, 3, 2, 6, 5)]
    assert places == sorted(places)
    assert -1 not in places
    assert f"/posts/{posts[4].pk}" in mail.body
    for words in ("my own", "too old", "post 1\n", "post 0\n"):
        assert words not in mail.body
    assert mail.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_nothing_is_sent_when_there_is_nothing_to_tell(
    me: User, author: User, drain: Make, mails: Make
) -> None:
    drain()
    actions.read_notifications(me)
    assert mails() == []
    assert User.objects.get(pk=me.pk).digest_due is not None


def test_a_digest_comes_once_a_week(me: User, author: User, mails: Make) -> None:
    feeds_actions.publish(author, content="news")
    before = db.now_ms()
    assert len(mails()) == 1
    due = User.objects.get(pk=me.pk).digest_due
    assert due is not None
    assert before < due <= before + 8 * DAY_MS
    assert due % choices.WEEK_MS == me.pk % choices.WEEK_MS
    assert digests.send_due() == 0


def test_people_have_different_times_of_the_week() -> None:
    now = db.now_ms()
    ids = [now * 2**20 + step * 7919 for step in range(100)]
    due = [choices.digest_after(ident, now) for ident in ids]
    assert all(now < one <= now + choices.WEEK_MS for one in due)
    assert len(set(due)) == 100


@pytest.mark.parametrize(
    "what", ["banned", "closed", "no address", "off", "blocked", "author banned"]
)
@pytest.mark.parametrize("when", ["before", "at the last moment"])
def test_who_may_not_get_it_or_see_it_gets_none(
    me: User, author: User, drain: Make, deliver: Deliver, what: str, when: str
) -> None:
    feeds_actions.publish(author, content="news")
    drain()

    def change() -> None:
        if what == "banned":
            accounts_actions.ban(me)
        elif what == "closed":
            User.objects.filter(pk=me.pk).update(deleted_at="2026-01-01T00:00:00Z")
        elif what == "no address":
            User.objects.filter(pk=me.pk).update(email="", email_key="")
        elif what == "off":
            accounts_actions.end_mails(choices.token_of(me, MailKind.DIGEST))
        elif what == "blocked":
            relations_actions.block(author, me)
        else:
            accounts_actions.ban(author)

    if when == "before":
        change()
    User.objects.filter(digest_due__isnull=False).update(digest_due=db.now_ms())
    digests.send_due()
    if when != "before":
        change()
    assert [mail for mail in deliver() if mail.subject.startswith("Your week")] == []
    due = User.objects.get(pk=me.pk).digest_due
    assert due is None if (what, when) == ("off", "before") else due > db.now_ms()


def test_a_content_note_stands_for_the_words(author: User, mails: Make) -> None:
    feeds_actions.publish(author, content="secret", note="The end of the film")
    (mail,) = mails()
    assert "The end of the film" in mail.body
    assert "secret" not in mail.body


def test_choosing_again_and_ending_by_the_link_leave_one_time(me: User) -> None:
    due = User.objects.get(pk=me.pk).digest_due
    accounts_actions.choose_mails(me, MailKind.DIGEST | MailKind.SIGN_INS)
    assert User.objects.get(pk=me.pk).digest_due == due
    accounts_actions.choose_mails(me, MailKind.SIGN_INS)
    assert User.objects.get(pk=me.pk).digest_due is None


def test_old_unread_notifications_alone_are_no_news(
    me: User, author: User, drain: Make, mails: Make
) -> None:
    relations_actions.follow(author, me)
    drain()
    old = db.now_ms() - 9 * DAY_MS
    Notification.objects.update(position=old, newest=[[author.pk, old]])
    Relationship.objects.filter(fan_since__gt=0).update(fan_since=old)
    assert mails() == []
