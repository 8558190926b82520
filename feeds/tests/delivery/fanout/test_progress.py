"""The progress of deliveries for staff: the command and the admin."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.sites import site
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from feeds import actions
from feeds.delivery.fanout import deliver, plan, progress, sweep
from feeds.models import FanOut, FanOutChunk, Post
from relations import actions as relations_actions

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

Make = Callable[..., Any]


@pytest.fixture
def author(make_user: Make, drain: Make, settings: LazySettings) -> User:
    """An author with five followers, two of whom have received the post."""
    settings.FANOUT_CHUNK = 2
    found = make_user("writer")
    for _ in range(5):
        relations_actions.follow(make_user(), found)
    drain()
    return found


def planned(author: User) -> tuple[Post, list[int]]:
    post = actions.publish(author, content="hello")
    plan.write(post.pk)
    return post, plan.open_chunks(post.pk)


def output(*words: str) -> str:
    out = StringIO()
    call_command("fanout", *words, stdout=out)
    return out.getvalue()


def test_a_delivery_is_seen_from_its_plan_to_its_end(author: User) -> None:
    post, chunks = planned(author)
    assert deliver.run_chunk(chunks[0])
    FanOutChunk.objects.filter(pk=chunks[1]).update(lease=7, leased_until=2**60)
    FanOutChunk.objects.filter(pk=chunks[2]).update(lease=8, leased_until=1)
    (now,) = progress.read(post.pk)
    assert (now.author, now.mode, now.state) == ("writer", "ALL", "RUNNING")
    assert (now.chunks_done, now.chunks, now.delivered) == (1, 3, 2)
    assert (now.held, now.expired) == (1, 1)
    FanOutChunk.objects.update(leased_until=0)
    while sweep.run():
        pass
    (end,) = progress.read(post.pk)
    assert (end.state, end.chunks_done, end.delivered) == ("DONE", 3, 5)
    assert (end.held, end.expired) == (0, 0)
    row = FanOut.objects.get(pk=post.pk)
    assert end.age_ms == (row.done_at or 0) - row.position


def test_the_command_shows_open_ones_first_and_one_post_alone(author: User, drain: Make) -> None:
    assert output().strip() == "0 open, 0 finished shown"
    done = actions.publish(author, content="done")
    drain()
    post, _ = planned(author)
    lines = output().splitlines()
    assert lines[0] == "1 open, 1 finished shown"
    assert lines[1].split()[:3] == ["post", "author", "mode"]
    assert lines[2].split()[:6] == [str(post.pk), "writer", "ALL", "RUNNING", "0/3", "0"]
    assert lines[3].split()[:6] == [str(done.pk), "writer", "ALL", "DONE", "3/3", "5"]
    assert str(done.pk) not in output("--post", str(post.pk))
    with pytest.raises(CommandError, match="no delivery of post 7"):
        output("--post", "7")


def test_watching_shows_it_again_until_it_is_interrupted(
    author: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(author)
    naps = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("feeds.management.commands.fanout.time.sleep", sleep)
    assert output("--watch").count("1 open") == 3


def test_a_list_costs_the_same_however_many_there_are(author: User, make_user: Make) -> None:
    staff = make_user()
    User.objects.filter(pk=staff.pk).update(roles=7)
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=staff.pk)
    model_admin = site._registry[FanOut]

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            response: Any = model_admin.changelist_view(request)
            page = response.render().content.decode()
        assert "0/3" in page
        return len(captured)

    planned(author)
    queries()  # the settings of the site are cached then
    before = queries()
    for _ in range(5):
        planned(author)
    assert queries() == before


def test_the_page_of_a_delivery_has_its_chunks(author: User, make_user: Make) -> None:
    post, chunks = planned(author)
    deliver.run_chunk(chunks[0])
    staff = make_user()
    User.objects.filter(pk=staff.pk).update(roles=7)
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=staff.pk)
    response: Any = site._registry[FanOut].change_view(request, str(post.pk))
    page = response.render().content.decode()
    assert "1/3" in page
    assert page.count("field-upper") >= 3
