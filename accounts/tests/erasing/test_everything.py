"""A person who did everything is erased; nothing is left, and nothing of others is wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts import actions, erasing
from accounts.actions import erasing as erasing_actions
from accounts.erasing import verifying
from accounts.models import AuditEntry, Closing, KeptName, SignUpRequest, User
from accounts.tests.erasing.worlds import EMAIL, Everything, close, erase
from feeds.audit import verify
from feeds.delivery.fanout import sweep
from feeds.models import Post, PostContent
from interactions.actions import recount as interactions_recount
from interactions.models import Comment, Notification, Tally, Vote
from interactions.notifying import fold
from relations import actions as relations_actions
from relations.counters import recount as relations_recount
from socialsite.core import erasing as registry
from socialsite.core import redis
from socialsite.core.errors import DuplicatedUser, UserNotFound
from socialsite.core.events import relay
from socialsite.core.models import Event

# Columns that have a person only for a moment.
RARE = {
    "accounts.SignUpRequest.id",
    "core.Event.aggregate_id",
    "core.Event.payload",
    "interactions.NotificationCause.due",
}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media_root")]


def settle() -> None:
    """Deliver all events, also those that wait for a later try."""
    for _ in range(50):
        Event.objects.update(available_at=0)
        while relay.relay() + sweep.run() + fold.sweep():
            pass
        if not Event.objects.exists():
            return


@pytest.fixture
def world(make_user: Callable[..., User]) -> Everything:
    """The person and the others, with all events delivered."""
    found = Everything(make_user)
    settle()
    return found


def wrong(others: list[int]) -> dict[str, Any]:
    """Return what is wrong in the feeds, counts and search of others."""
    report = verify.verify(viewer_ids=others)
    found = {
        "feeds": report.differences,
        "counts": dict(interactions_recount.run().drift),
        "relations": relations_recount.run().wrong,
    }
    return {name: value for name, value in found.items() if value}


def left(person: verifying.Person) -> list[verifying.Found]:
    return [found for found in verifying.verify(person) if not found.reason]


def test_nothing_is_left_of_a_person_who_did_everything(
    world: Everything, media_root: Path
) -> None:
    who = world.hidden
    assert [path for path in media_root.rglob("*") if path.is_file()]
    others = list(User.objects.exclude(pk=who.pk).values_list("pk", flat=True))
    person = verifying.Person(who.pk, who.username, EMAIL)
    places = {found.place for found in left(person)}
    assert registry.erased_columns.keys() - places - RARE == set()
    close(who)
    assert wrong(others) == {}
    erase(who, settle)
    assert [*map(str, left(person))] == []
    assert wrong(others) == {}
    assert not [path for path in media_root.rglob("*") if path.is_file()]
    shell = User.objects.get(pk=who.pk)
    assert (shell.nickname, shell.email, shell.bio) == ("", "", "")
    assert shell.deleted_at is not None
    assert Closing.objects.get(pk=who.pk).erased_at is not None


def test_the_rows_of_others_stay_and_tombstones_are_empty(world: Everything) -> None:
    who = world.hidden
    votes = Tally.objects.get(pk=world.poll)
    assert (votes.people, votes.option_0, votes.option_1) == (2, 1, 1)
    close(who)
    erase(who, settle)
    votes.refresh_from_db()
    assert (votes.people, votes.option_0, votes.option_1) == (1, 0, 1)
    assert Vote.objects.filter(post_id=world.poll).count() == 1
    assert not Post.objects.filter(pk=world.plain).exists()
    assert not Comment.objects.filter(pk=world.lonely).exists()
    tombstone = Comment.objects.get(pk=world.answered)
    assert (tombstone.deleted, tombstone.content_row.content) == (True, "")
    assert Comment.objects.get(parent=tombstone).content_row.content == "an answer"
    shells = Post.objects.filter(author=who)
    assert shells.exists()
    assert not shells.filter(is_deleted=False).exists()
    words = PostContent.objects.filter(post__in=shells)
    assert set(words.values_list("content", "title", "poll")) == {("", "", None)}
    assert SignUpRequest.objects.get(username="waiter").invite is None
    assert AuditEntry.objects.filter(actor=who).exclude(address="").count() == 0


def test_it_may_stop_after_each_chunk_and_begins_again(world: Everything) -> None:
    who = world.hidden
    person = verifying.Person(who.pk, who.username, EMAIL)
    close(who)
    steps = 0
    while not erasing.erase(who.pk, lambda: False, limit=2):
        steps += 1
        assert steps < 1000
        if steps % 7 == 0 or registry.is_awaited(who.pk):
            settle()
    erasing_actions.finish(who.pk)
    settle()
    assert steps > 30
    assert [*map(str, left(person))] == []
    assert wrong(list(User.objects.exclude(pk=who.pk).values_list("pk", flat=True))) == {}


CRASH = "import django; django.setup(); from accounts import erasing; erasing.work_off(600)"


@pytest.mark.full
def test_processes_that_are_killed_at_ten_points_lose_nothing(
    world: Everything, media_root: Path
) -> None:
    who = world.hidden
    others = list(User.objects.exclude(pk=who.pk).values_list("pk", flat=True))
    person = verifying.Person(who.pk, who.username, EMAIL)
    close(who)
    url, name = os.environ["DATABASE_URL"], str(connection.settings_dict["NAME"])
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "socialsite.settings",
        "DATABASE_URL": f"{url.rpartition('/')[0]}/{name}",
        "FAILPOINT": "erasure-chunk:2",
    }
    for _ in range(10):
        killed = subprocess.run([sys.executable, "-c", CRASH], env=env, check=False, timeout=60)
        assert killed.returncode in (-signal.SIGKILL, 0)  # 0: it waits for events
        settle()
        assert wrong(others) == {}
        Closing.objects.filter(pk=who.pk).update(lease=0)
    assert Closing.objects.get(pk=who.pk).erased_at is None
    erase(who, settle)
    assert [*map(str, left(person))] == []
    assert wrong(others) == {}


def test_the_name_is_taken_for_a_year(world: Everything, make_user: Any) -> None:
    who = world.hidden
    close(who)
    erase(who, settle)
    for name in (who.username, who.username.upper()):
        with pytest.raises(DuplicatedUser):
            make_user(name)
    KeptName.objects.update(until=timezone.now() + timedelta(seconds=60))
    assert actions.forget_names() == 0
    KeptName.objects.update(until=timezone.now())
    assert actions.forget_names() == 1
    assert make_user(who.username).pk != who.pk


def test_an_erased_person_can_be_neither_followed_nor_blocked(world: Everything) -> None:
    close(world.hidden)
    erase(world.hidden, settle)
    for act in (relations_actions.follow, relations_actions.block):
        with pytest.raises(UserNotFound):
            act(world.third, world.hidden)


def test_an_account_whose_time_has_not_come_is_not_erased(world: Everything) -> None:
    close(world.hidden)
    Closing.objects.update(erase_at=timezone.now() + timedelta(minutes=5))
    assert erasing.work_off(60) == 0
    assert Closing.objects.get(pk=world.hidden.pk).erasing_at is None
    assert Post.objects.filter(author=world.hidden, is_deleted=False).exists()


def test_an_account_that_fails_waits_and_holds_up_no_other(
    world: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = registry.erasers()[0]
    erase_rightly = broken.erase

    def fail(user_id: int, limit: int) -> int:
        if user_id == world.hidden.pk:
            raise ValueError
        return erase_rightly(user_id, limit)

    object.__setattr__(broken, "erase", fail)
    try:
        close(world.hidden)
        close(world.gone)
        for _ in range(5):
            erasing.work_off(600)
            settle()
    finally:
        object.__setattr__(broken, "erase", erase_rightly)
    erased = Closing.objects.filter(erased_at__isnull=False)
    assert list(erased.values_list("pk", flat=True)) == [world.gone.pk]
    assert Post.objects.filter(author=world.hidden, is_deleted=False).exists()


def test_two_workers_do_not_take_one_account(world: Everything) -> None:
    close(world.hidden)
    assert erasing._take(world.hidden.pk)
    assert not erasing._take(world.hidden.pk)
    assert erasing.work_off(60) == 0


def test_the_command_says_what_is_left(world: Everything, tmp_path: Path) -> None:
    who = world.hidden
    log = tmp_path / "site.log"
    log.write_text(f"user {who.pk} signed in\n")
    arguments = [str(who.pk), "--name", who.username, "--email", EMAIL, "--logs", str(tmp_path)]
    out = StringIO()
    with pytest.raises(CommandError, match="left in"):
        call_command("verify_erased", *arguments, stdout=out)
    assert "feeds.Draft.author: 2 (LEFT)" in out.getvalue()
    close(who)
    erase(who, settle)
    out = StringIO()
    call_command("verify_erased", *arguments, stdout=out)
    assert "Nothing is left." in out.getvalue()
    assert f"log: {log}: 1 (stays: an id without a name)" in out.getvalue()
    log.write_text(f"mail to {EMAIL}\n")
    with pytest.raises(CommandError):
        call_command("verify_erased", *arguments, stdout=StringIO())
    log.unlink()
    redis.call(lambda connection: connection.set("cards", f"x{who.pk}"))
    with pytest.raises(CommandError):
        call_command("verify_erased", *arguments, stdout=StringIO())


def test_what_comes_back_within_a_day_is_erased_again(world: Everything) -> None:
    who = world.hidden
    close(who)
    erase(who, settle)
    Notification.objects.create(user=who, kind=1, subject_id=5, touched_at=0)
    assert erasing.work_off(60) == 0  # not before an hour
    Closing.objects.update(lease=0)
    assert erasing.work_off(60) == 1
    assert not Notification.objects.filter(user=who).exists()
    Closing.objects.update(lease=0, erased_at=timezone.now() - timedelta(days=2))
    assert erasing.work_off(60) == 0
