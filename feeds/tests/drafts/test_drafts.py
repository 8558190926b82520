"""Drafts: nobody else finds them, each becomes one post at most, and no picture is lost."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions as feeds_actions
from feeds import queries as feeds_queries
from feeds.drafts import actions, queries
from feeds.drafts.queries import DraftCard
from feeds.models import Draft, DraftImage, Post
from feeds.tests.pictures import make_picture
from relations.tests.helpers import at_once
from socialsite.core import db
from socialsite.core.errors import InvalidInput, NotFound
from socialsite.core.media import references
from socialsite.core.models import Media
from socialsite.tests.support.answers import assert_error, ids, walk

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
FULL = pytest.mark.skipif(connection.vendor != "mysql", reason="needs concurrent writers")


def soon(**ahead: int) -> str:
    return (datetime.now(UTC) + timedelta(**ahead or {"hours": 1})).isoformat()


def make_due() -> None:
    """Let the time of all scheduled drafts come."""
    Draft.objects.filter(publish_at__isnull=False).update(publish_at=db.now_ms() - 1)


def scheduled(author: User, **values: Any) -> Draft:
    return actions.create(
        author, {"content": "later", "publish_at": db.now_ms() + 60_000, **values}
    )


# --- API ----------------------------------------------------------------------------------------
def test_a_draft_is_kept_as_it_was_given(mine: APIClient, me: User) -> None:
    picture = make_picture(me)
    body: dict[str, Any] = {
        "kind": "article",
        "title": "A title",
        "content": "not yet",
        "images": [str(picture.pk)],
        "visibility": "followers",
        "publish_at": soon(),
    }
    answer = mine.post(V1 + "drafts", body, format="json")
    assert answer.status_code == 201
    found = answer.json()
    assert set(found) == set(DraftCard.__annotations__)
    for name in ("kind", "title", "content", "visibility"):
        assert found[name] == body[name]
    assert [image["id"] for image in found["images"]] == body["images"]
    moment = datetime.fromisoformat(body["publish_at"])
    assert abs(datetime.fromisoformat(found["publish_at"]) - moment) < timedelta(milliseconds=1)
    assert (found["expires_at"], found["failed_at"]) == (None, None)
    assert mine.get(V1 + f"drafts/{found['id']}").json() == found
    assert mine.get(V1 + "drafts").json() == {"items": [found], "next": None}


def test_a_draft_may_be_empty_and_expires(mine: APIClient) -> None:
    found = mine.post(V1 + "drafts", {}, format="json").json()
    assert (found["content"], found["kind"], found["publish_at"]) == ("", "micro", None)
    left = datetime.fromisoformat(found["expires_at"]) - datetime.fromisoformat(found["updated_at"])
    assert left == timedelta(days=settings.DRAFT_DAYS)


def test_saving_anew_replaces_everything_but_the_age(mine: APIClient, me: User) -> None:
    old, new = make_picture(me, "a"), make_picture(me, "b")
    made = mine.post(
        V1 + "drafts",
        {"kind": "article", "title": "t", "content": "x", "images": [old.pk], "publish_at": soon()},
        format="json",
    ).json()
    body = {"content": "y", "images": [new.pk]}
    answer = mine.put(V1 + f"drafts/{made['id']}", body, format="json")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["kind"], found["title"], found["content"]) == ("micro", "", "y")
    assert [image["id"] for image in found["images"]] == [str(new.pk)]
    assert found["publish_at"] is None
    assert found["created_at"] == made["created_at"]
    assert found["updated_at"] >= made["updated_at"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"kind": "repost"}, ["kind"]),
        ({"visibility": "all"}, ["visibility"]),
        ({"content": "x" * 2001}, ["content"]),
        ({"kind": "article", "content": "x" * 50_001}, ["content"]),
        ({"title": "x" * 121}, ["title"]),
        ({"images": [17]}, ["images"]),
        ({"images": list(range(10))}, ["images"]),
        ({"publish_at": "tomorrow"}, ["publish_at"]),
        ({"publish_at": "2020-01-01T00:00:00Z"}, ["publish_at"]),
        ({"publish_at": "9000-01-01T00:00:00Z"}, ["publish_at"]),
        ({"publish_at": 5}, ["publish_at"]),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_kept(
    mine: APIClient, body: dict[str, Any], fields: list[str]
) -> None:
    answer = mine.post(V1 + "drafts", body, format="json")
    assert_error(answer, 400, "INVALID_INPUT", *fields)
    assert not Draft.objects.exists()


def test_a_refused_change_leaves_the_draft_as_it_was(mine: APIClient) -> None:
    made = mine.post(V1 + "drafts", {"content": "kept"}, format="json").json()
    answer = mine.put(V1 + f"drafts/{made['id']}", {"content": "x" * 2001}, format="json")
    assert_error(answer, 400, "INVALID_INPUT", "content")
    assert mine.get(V1 + f"drafts/{made['id']}").json() == made


def test_publishing_makes_the_post_of_the_draft_and_ends_it(mine: APIClient, me: User) -> None:
    picture = make_picture(me)
    body = {"content": "now", "images": [str(picture.pk)], "visibility": "followers"}
    made = mine.post(V1 + "drafts", body, format="json").json()
    answer = mine.post(V1 + f"drafts/{made['id']}/publish")
    assert answer.status_code == 201
    found = answer.json()
    assert (found["content"], found["visibility"]) == ("now", "followers")
    assert [image["id"] for image in found["images"]] == body["images"]
    assert ids(mine.get(V1 + "feed")) == [found["id"]]
    assert mine.get(V1 + "drafts").json()["items"] == []
    assert_error(mine.post(V1 + f"drafts/{made['id']}/publish"), 404, "NOT_FOUND")
    assert Post.objects.count() == 1


def test_a_repeated_publication_with_its_key_gets_the_same_post(mine: APIClient) -> None:
    made = mine.post(V1 + "drafts", {"content": "once"}, format="json").json()
    key = {"Idempotency-Key": "k1"}
    first = mine.post(V1 + f"drafts/{made['id']}/publish", headers=key)
    again = mine.post(V1 + f"drafts/{made['id']}/publish", headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]


def test_what_cannot_be_a_post_stays_a_draft(mine: APIClient) -> None:
    made = mine.post(V1 + "drafts", {"kind": "article"}, format="json").json()
    answer = mine.post(V1 + f"drafts/{made['id']}/publish")
    assert_error(answer, 400, "INVALID_INPUT", "title", "content")
    assert mine.get(V1 + f"drafts/{made['id']}").json() == made
    assert not Post.objects.exists()


def test_a_draft_of_somebody_else_does_not_exist(
    mine: APIClient, make_user: Make, api_for: Make, api: APIClient
) -> None:
    made = mine.post(V1 + "drafts", {"content": "secret"}, format="json").json()
    other = api_for(make_user(), client="chrome")
    path = V1 + f"drafts/{made['id']}"
    for answer in (
        other.get(path),
        other.put(path, {"content": "mine"}, format="json"),
        other.delete(path),
        other.post(path + "/publish"),
    ):
        assert_error(answer, 404, "NOT_FOUND")
    assert other.get(V1 + "drafts").json()["items"] == []
    assert api.get(path).status_code == 401
    assert mine.get(path).json() == made


def test_drafts_are_listed_by_their_last_change_with_a_cursor(mine: APIClient, me: User) -> None:
    made = [actions.create(me, {"content": str(number)}) for number in range(5)]
    Draft.objects.update(updated_at=db.now_ms() - 1000)  # ties are ordered by id
    actions.replace(me, made[1].pk, {"content": "changed"})
    order = [made[number].pk for number in (1, 4, 3, 2, 0)]
    pages = walk(mine, "drafts", size=2)
    assert [ident for page in pages for ident in page] == [str(ident) for ident in order]


def test_a_person_has_a_limited_number_of_drafts(
    mine: APIClient, me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Draft, "MOST", 2)
    for _ in range(2):
        actions.create(me, {})
    answer = mine.post(V1 + "drafts", {}, format="json")
    assert_error(answer, 409, "QUOTA_EXCEEDED")
    assert answer.json()["code"] == 36


# --- at their time ------------------------------------------------------------------------------
def test_a_scheduled_draft_is_published_at_its_time_and_not_before(me: User) -> None:
    scheduled(me, content="at noon")
    assert actions.publish_due() == 0
    make_due()
    before = db.now_ms()
    assert actions.publish_due() == 1
    post = Post.objects.get()
    assert post.position >= before
    assert post.content_row.content == "at noon"
    assert not Draft.objects.exists()
    assert actions.publish_due() == 0
    assert [card["id"] for card in feeds_queries.home_feed(me, None, 10).items] == [str(post.pk)]


def test_a_draft_without_a_time_waits(me: User) -> None:
    actions.create(me, {"content": "some day"})
    assert actions.publish_due() == 0
    assert not Post.objects.exists()


def test_what_cannot_be_published_says_so_and_holds_up_no_other(me: User) -> None:
    empty = scheduled(me, content="")
    scheduled(me)
    make_due()
    assert actions.publish_due() == 1
    found = queries.draft(me, empty.pk)
    assert found["publish_at"] is None
    assert found["failed_at"] is not None
    assert actions.publish_due() == 0


def test_a_banned_author_publishes_nothing(me: User) -> None:
    draft = scheduled(me)
    make_due()
    accounts_actions.ban(me)
    assert actions.publish_due() == 0
    assert not Post.objects.exists()
    assert Draft.objects.get(pk=draft.pk).failed_at is not None


def test_an_unexpected_error_holds_up_no_other(
    me: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, _other = scheduled(me, content="broken"), scheduled(me, content="fine")
    real = feeds_actions.publish

    def fail(author: User, **values: Any) -> Post:
        if values["content"] == "broken":
            raise ValueError("unexpected")
        return real(author, **values)

    monkeypatch.setattr(feeds_actions, "publish", fail)
    make_due()
    assert actions.publish_due() == 1
    assert Post.objects.get().content_row.content == "fine"
    assert "unexpected" in caplog.text
    assert Draft.objects.get().pk == broken.pk


def test_a_crash_while_publishing_neither_loses_nor_doubles(
    me: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = scheduled(me)
    make_due()

    def die(_draft: Draft) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(actions, "_delete", die)
        with pytest.raises(KeyboardInterrupt):
            actions.publish_due()
    assert not Post.objects.exists()
    assert Draft.objects.get(pk=draft.pk).failed_at is None
    assert actions.publish_due() == 1
    assert Post.objects.count() == 1


@pytest.mark.full
@FULL
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """Races on MariaDB."""

    def test_several_workers_publish_a_draft_once(self, make_user: Make) -> None:
        author = make_user()
        for number in range(5):
            scheduled(author, content=str(number))
        make_due()
        assert sum(at_once([actions.publish_due] * 4)) == 5
        texts = Post.objects.values_list("content_row__content", flat=True)
        assert sorted(texts) == ["0", "1", "2", "3", "4"]

    def test_pressing_publish_often_makes_one_post(self, make_user: Make) -> None:
        author = make_user()
        draft = actions.create(author, {"content": "once"})
        results = at_once([lambda: actions.publish(author, draft.pk)] * 5)
        assert sum(isinstance(result, Post) for result in results) == 1
        assert sum(isinstance(result, NotFound) for result in results) == 4
        assert Post.objects.count() == 1

    def test_a_change_and_the_worker_never_lose_words(self, make_user: Make) -> None:
        author = make_user()
        draft = scheduled(author, content="first")
        make_due()
        later = {"content": "second", "publish_at": db.now_ms() + 60_000}
        changed, done = at_once(
            [lambda: actions.replace(author, draft.pk, later), actions.publish_due]
        )
        if isinstance(changed, NotFound):
            assert done == 1
            assert Post.objects.get().content_row.content == "first"
        else:
            assert done == 0
            assert Draft.objects.get().content == "second"


# --- pictures -----------------------------------------------------------------------------------
def test_a_picture_lives_as_long_as_a_draft_or_post_has_it(
    me: User, drain: Callable[[], None]
) -> None:
    kept, dropped = make_picture(me, "a"), make_picture(me, "b")
    draft = actions.create(me, {"content": "x", "images": [kept.pk, dropped.pk]})
    drain()
    assert Media.objects.filter(is_used=True).count() == 2
    actions.replace(me, draft.pk, {"content": "x", "images": [kept.pk]})
    drain()
    assert set(Media.objects.values_list("pk", flat=True)) == {kept.pk}
    post = actions.publish(me, draft.pk)
    drain()
    assert set(Media.objects.values_list("pk", flat=True)) == {kept.pk}
    feeds_actions.delete(me, post.pk)
    drain()
    assert not Media.objects.exists()


def test_a_deleted_draft_takes_its_pictures_along(me: User, drain: Callable[[], None]) -> None:
    draft = actions.create(me, {"images": [make_picture(me).pk]})
    actions.delete(me, draft.pk)
    drain()
    assert not Media.objects.exists()
    assert not DraftImage.objects.exists()


def test_the_picture_of_a_draft_is_for_its_author_only(me: User, make_user: Make) -> None:
    picture = make_picture(me)
    actions.create(me, {"images": [picture.pk]})
    assert references.public_names([picture]) == set()
    assert references.is_seen_by(picture, me.pk)
    assert not references.is_seen_by(picture, make_user().pk)


def test_a_picture_of_somebody_else_is_refused(me: User, make_user: Make) -> None:
    picture = make_picture(make_user())
    with pytest.raises(InvalidInput) as caught:
        actions.create(me, {"images": [picture.pk]})
    assert set(caught.value.fields or ()) == {"images"}


# --- the end ------------------------------------------------------------------------------------
def test_drafts_that_nobody_changed_for_long_are_deleted(me: User) -> None:
    old = actions.create(me, {"content": "old", "images": [make_picture(me).pk]})
    new, waiting = actions.create(me, {"content": "new"}), scheduled(me)
    days = settings.DRAFT_DAYS * 86_400_000
    Draft.objects.exclude(pk=new.pk).update(updated_at=db.now_ms() - days - 1000)
    assert actions.purge() == 1
    assert set(Draft.objects.values_list("pk", flat=True)) == {new.pk, waiting.pk}
    assert not DraftImage.objects.filter(draft_id=old.pk).exists()
    assert actions.purge() == 0
