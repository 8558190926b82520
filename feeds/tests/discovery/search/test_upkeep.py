"""The search index is rebuilt by a command, checked every night, and shown in the metrics."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from feeds import actions as feeds_actions
from feeds import tasks
from feeds.discovery.search import drift
from feeds.models import PostContent, PostTerm, SearchCheck, SearchedPost
from feeds.tests.discovery.search.results import results

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
Make = Callable[..., Any]


@pytest.fixture
def posts(me: User, drain: Make, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Posts whose events were delivered; all posts count as settled."""
    monkeypatch.setattr(drift, "SETTLED_MS", -60_000)
    made = [feeds_actions.publish(me, content=f"tea number{one}").pk for one in range(4)]
    feeds_actions.delete(me, made.pop())
    drain()
    return made


def rebuild() -> str:
    out = StringIO()
    call_command("rebuild_search", stdout=out)
    return out.getvalue().split(", people")[0]


def test_a_rebuild_corrects_what_is_lost_wrong_or_surplus(posts: list[int]) -> None:
    lost, wrong, gone = posts
    SearchedPost.objects.filter(pk=lost).delete()
    PostTerm.objects.filter(object_id=lost).delete()
    PostTerm.objects.filter(object_id=wrong).first().delete()  # type: ignore[union-attr]
    PostContent.objects.filter(pk=gone).update(content="coffee")
    assert rebuild() == "posts 4, repaired 3"
    assert rebuild() == "posts 4, repaired 0"
    assert results(None, "tea") == [str(wrong), str(lost)]
    assert results(None, "coffee") == [str(gone)]


def test_the_nightly_check_is_in_the_metrics(posts: list[int], caplog: Any) -> None:
    assert figures() == {}
    tasks.check_search()
    assert figures() == {"socialsite_search_drift": 0, "socialsite_search_posts_checked": 4}
    PostTerm.objects.filter(object_id=posts[0]).delete()
    tasks.check_search()
    assert figures() == {"socialsite_search_drift": 1, "socialsite_search_posts_checked": 4}
    assert f"search index of 4 posts, wrong 1: [{posts[0]}]" in caplog.text
    assert settings.CELERY_BEAT_SCHEDULE["check-search"]["task"] == tasks.check_search.name


def test_recent_posts_are_no_drift_and_old_checks_are_deleted(
    posts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    SearchedPost.objects.all().delete()
    monkeypatch.setattr(drift, "SETTLED_MS", 3_600_000)
    assert drift.check().posts == 0
    monkeypatch.setattr(drift, "SETTLED_MS", -60_000)
    monkeypatch.setattr(drift, "KEPT_CHECKS", 2)
    assert drift.check(2).posts <= 3
    drift.check()
    assert SearchCheck.objects.count() == 2


def figures() -> dict[str, float]:
    """Return the metrics of the search but for the time of the check."""
    token = settings.METRICS_TOKEN
    text = Client().get("/metrics", HTTP_AUTHORIZATION=f"Bearer {token}").content.decode()
    lines = [line.split() for line in text.splitlines() if line.startswith("socialsite_search_")]
    return {name: float(value) for name, value in lines if "seconds" not in name}
