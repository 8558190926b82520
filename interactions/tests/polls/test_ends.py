"""The end of a poll: told once to its author and to those who voted."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds.content.polls import actions as polls
from feeds.models import OpenPoll, Post
from interactions import actions, queries
from interactions.models import NotificationCause, ReportedKind
from interactions.notifying import causes, wording
from interactions.tests.polls.counts_and_ends import read
from relations import actions as relations_actions
from socialsite.core.errors import PollClosed
from socialsite.core.models import Event
from socialsite.tests.support.polls import given

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("asker")


@pytest.fixture
def post(author: User) -> Post:
    return feeds_actions.publish(author, content="Which?", poll=given())


def end(*posts: Post) -> int:
    """Let polls be past their end, and run the task once."""
    OpenPoll.objects.filter(pk__in=[post.pk for post in posts]).update(ends_at=1)
    return polls.end_due()


def told(user: User) -> list[tuple[str, list[str], str]]:
    """Return the sentences of notifications about polls, who is named, and their subject."""
    items = queries.notifications(user, None, 20, "poll").items
    return [
        (
            str(wording.sentence(item)),
            [actor["username"] for actor in item["actors"]],
            item["subject"]["id"],
        )
        for item in items
    ]


def test_the_author_and_those_who_voted_are_told_once(
    author: User, post: Post, make_user: Make, drain: Make
) -> None:
    voters, other = [make_user() for _ in range(3)], make_user()
    for voter in [*voters, author]:
        actions.vote(voter, post.pk, [0])
    assert polls.end_due() == 0
    drain()
    assert told(author) == []
    assert end(post) == 1
    for _ in range(2):
        drain()
        assert told(author) == [("Your poll has ended", [], str(post.pk))]
        sentence = "A poll of <b>@asker</b> in which you voted has ended"
        for voter in voters:
            ((words, actors, subject),) = told(voter)
            assert (actors, subject) == (["asker"], str(post.pk))
            assert words == sentence.replace("@asker", author.nickname or author.username)
        assert told(other) == []
        assert queries.unread_count(author) == (1, False)
        assert end(post) == 0
        causes.of_poll(post.pk)  # an event may come twice


def test_many_voters_are_told_in_steps(
    author: User, post: Post, make_user: Make, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causes, "VOTERS", 2)
    voters = [make_user() for _ in range(5)]
    for voter in voters:
        actions.vote(voter, post.pk, [1])
    end(post)
    drain()
    assert all(len(told(person)) == 1 for person in [author, *voters])


def test_blocks_bans_settings_and_deletion_are_respected(
    author: User, post: Post, make_user: Make, drain: Make
) -> None:
    blocked, muted, strange, follower = (make_user() for _ in range(4))
    people = (blocked, muted, strange, follower)
    for voter in people:
        actions.vote(voter, post.pk, [0])
    relations_actions.block(author, blocked)
    actions.choose_notifications(muted, {"poll": "nobody"})
    for person in (strange, follower, author):
        actions.choose_notifications(person, {"poll": "following"})
    relations_actions.follow(follower, author)
    drain()
    end(post)
    drain()
    assert [len(told(voter)) for voter in people] == [0, 0, 0, 1]
    assert len(told(author)) == 1
    feeds_actions.delete(author, post.pk)
    assert told(follower) == told(author) == []


def test_an_author_can_mute_the_end_of_their_polls(author: User, post: Post, drain: Make) -> None:
    actions.choose_notifications(author, {"poll": "nobody"})
    end(post)
    drain()
    assert told(author) == []


def test_a_deleted_poll_ends_silently(
    author: User, post: Post, make_user: Make, drain: Make
) -> None:
    voter = make_user()
    actions.vote(voter, post.pk, [0])
    feeds_actions.delete(author, post.pk)
    assert not OpenPoll.objects.exists()
    OpenPoll.objects.create(post=post, ends_at=1)  # as if the deletion had come in between
    assert polls.end_due() == 1
    drain()
    assert told(voter) == told(author) == []
    assert not NotificationCause.objects.filter(kind__in=(11, 12)).exists()


def test_voters_of_a_banned_author_are_told_nothing(
    author: User, post: Post, make_user: Make, drain: Make
) -> None:
    voter = make_user()
    actions.vote(voter, post.pk, [0])
    accounts_actions.ban(author)
    end(post)
    drain()
    assert told(voter) == []


def test_the_poll_notification_of_the_api(
    author: User, post: Post, drain: Make, api_for: Make
) -> None:
    end(post)
    drain()
    (item,) = api_for(author).get("/api/v1/notifications?kind=poll").json()["items"]
    assert (item["kind"], item["actors"], item["actor_count"]) == ("poll", [], 0)
    assert item["subject"] == {"type": "post", "id": str(post.pk), "preview": "Which?"}


def test_the_options_stand_for_a_poll_without_words(
    author: User, drain: Make, make_user: Make
) -> None:
    wordless = feeds_actions.publish(author, poll=given("Tea", "Coffee"))
    end(wordless)
    drain()
    (item,) = queries.notifications(author, None, 20, "poll").items
    assert item["subject"]["preview"] == "Tea / Coffee"
    found = queries.reported(make_user(), ReportedKind.POST, wordless.pk)
    assert "Tea / Coffee" in str(found)


CRASH = "import django; django.setup(); from feeds.content.polls import actions; actions.end_due()"


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_sweep_that_is_killed_ends_no_poll_and_the_next_one_ends_it_once(
    author: User, post: Post, make_user: Make, drain: Make
) -> None:
    voter = make_user()
    actions.vote(voter, post.pk, [0])
    drain()
    OpenPoll.objects.update(ends_at=1)
    url = os.environ["DATABASE_URL"]
    name = str(connection.settings_dict["NAME"])
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "socialsite.settings",
        "DATABASE_URL": f"{url.rpartition('/')[0]}/{name}",
        "FAILPOINT": "poll-ended",
    }
    killed = subprocess.run([sys.executable, "-c", CRASH], env=env, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert OpenPoll.objects.exists()
    assert not Event.objects.filter(type="PollEnded").exists()
    assert polls.end_due() == 1
    drain()
    assert len(told(voter)) == len(told(author)) == 1


def test_the_end_waits_for_no_vote_and_refuses_later_ones(
    author: User, post: Post, make_user: Make
) -> None:
    OpenPoll.objects.update(ends_at=post.position)
    with pytest.raises(PollClosed):
        actions.vote(make_user(), post.pk, [0])
    assert read(author, post)[0] == 0
