"""Pages of drafts without JavaScript: nothing typed is lost, and only the author finds them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from accounts.tests.browsers import text_of
from feeds.drafts import actions
from feeds.models import Draft, Post
from feeds.tests.pictures import make_picture
from socialsite.core import db
from socialsite.core.rate_limits import budgets
from socialsite.core.rate_limits.budget import Rate

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]


def test_the_composer_saves_a_draft_and_opens_it(browser: Client, me: User) -> None:
    home = text_of(browser.get("/"))
    assert 'formaction="/drafts"' in home
    answer = browser.post("/drafts", {"kind": "article", "title": "T", "content": "not yet"})
    draft = Draft.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/drafts/{draft.pk}")
    assert (draft.author_id, draft.title, draft.content) == (me.pk, "T", "not yet")
    page = text_of(browser.get(answer["Location"]))
    assert "not yet</textarea>" in page
    assert "not yet" in text_of(browser.get("/drafts"))


def test_a_draft_is_changed_scheduled_and_published(browser: Client, me: User) -> None:
    draft = actions.create(me, {"content": "first"})
    path = f"/drafts/{draft.pk}"
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    local = (tomorrow - timedelta(minutes=120)).strftime("%Y-%m-%dT%H:%M")
    answer = browser.post(path, {"content": "second", "publish_at": local, "utc_offset": "120"})
    assert (answer.status_code, answer["Location"]) == (303, "/drafts")
    draft.refresh_from_db()
    assert draft.content == "second"
    assert abs((draft.publish_at or 0) - tomorrow.timestamp() * 1000) < 60_000
    assert "Scheduled" in text_of(browser.get("/drafts"))
    answer = browser.post(path, {"content": "third", "act": "publish"})
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert Post.objects.get().content_row.content == "third"
    assert not Draft.objects.exists()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"content": "x" * 2001}, "At most 2000 characters"),
        ({"content": "kept", "publish_at": "soon"}, "This is not a time"),
        ({"content": "kept", "publish_at": "2020-01-01T10:00"}, "This time is in the past"),
        ({"content": "kept", "publish_at": "2030-01-01T10:00", "utc_offset": "x"}, "not a time"),
        ({"content": "kept", "publish_at": "9999-12-31T23:59", "utc_offset": "900"}, "not a time"),
    ],
)
def test_what_is_wrong_is_shown_with_everything_typed(
    browser: Client, me: User, form: dict[str, str], words: str
) -> None:
    draft = actions.create(me, {"content": "before"})
    page = text_of(browser.post(f"/drafts/{draft.pk}", form), 400)
    assert words in page
    assert form["content"] + "</textarea>" in page
    assert form.get("publish_at", "") in page
    draft.refresh_from_db()
    assert draft.content == "before"


def test_a_new_draft_that_is_refused_stays_in_the_composer(browser: Client) -> None:
    page = text_of(browser.post("/drafts", {"content": "y" * 2001}), 400)
    assert "y" * 2001 + "</textarea>" in page
    assert not Draft.objects.exists()


def test_what_cannot_be_published_is_saved_and_says_why(browser: Client, me: User) -> None:
    draft = actions.create(me, {"kind": "article"})
    page = text_of(browser.post(f"/drafts/{draft.pk}/publish"), 400)
    assert "An article needs a title" in page
    form = {"kind": "article", "content": "some words", "act": "publish"}
    page = text_of(browser.post(f"/drafts/{draft.pk}", form), 400)
    assert "An article needs a title" in page
    assert Draft.objects.get().content == "some words"
    assert not Post.objects.exists()


def test_pictures_are_kept_dropped_and_added(browser: Client, me: User) -> None:
    kept, dropped = make_picture(me, "a"), make_picture(me, "b")
    draft = actions.create(me, {"content": "x", "images": [kept.pk, dropped.pk]})
    page = text_of(browser.get(f"/drafts/{draft.pk}"))
    assert page.count('name="keep"') == 2
    browser.post(f"/drafts/{draft.pk}", {"content": "x", "keep": [str(kept.pk)]})
    assert list(draft.pictures.values_list("media_id", flat=True)) == [kept.pk]
    wrong = SimpleUploadedFile("a.png", b"no picture", "image/png")
    form = {"content": "typed", "keep": str(kept.pk), "images": wrong}
    answer = browser.post(f"/drafts/{draft.pk}", form)
    assert answer.status_code in (400, 415)
    assert "typed</textarea>" in answer.content.decode()
    assert list(draft.pictures.values_list("media_id", flat=True)) == [kept.pk]


def test_a_draft_is_deleted_with_and_without_htmx(browser: Client, me: User) -> None:
    one, other = actions.create(me, {}), actions.create(me, {})
    answer = browser.post(f"/drafts/{one.pk}/delete")
    assert (answer.status_code, answer["Location"]) == (303, "/drafts")
    answer = browser.post(f"/drafts/{other.pk}/delete", headers={"HX-Request": "true"})
    assert text_of(answer) == ""
    assert not Draft.objects.exists()
    assert "No drafts" in text_of(browser.get("/drafts"))


def test_a_draft_that_failed_says_so(browser: Client, me: User) -> None:
    actions.create(me, {"content": "", "publish_at": db.now_ms() + 60_000})
    Draft.objects.update(publish_at=db.now_ms() - 1)
    actions.publish_due()
    assert "could not be published at its time" in text_of(browser.get("/drafts"))


def test_nobody_else_finds_a_draft(browser: Client, make_user: Make) -> None:
    draft = actions.create(make_user(), {"content": "secret"})
    path = f"/drafts/{draft.pk}"
    for answer in (
        browser.get(path),
        browser.post(path, {"content": "mine"}),
        browser.post(path + "/publish"),
        browser.post(path + "/delete"),
    ):
        assert answer.status_code == 404
    assert "secret" not in text_of(browser.get("/drafts"))
    assert Draft.objects.get().content == "secret"
    assert Client().get("/drafts").status_code in (302, 303, 401)


def test_a_large_picture_fits_into_a_draft(browser: Client) -> None:
    wrong = SimpleUploadedFile("a.png", b"x" * 400_000, "image/png")
    answer = browser.post("/drafts", {"content": "typed", "images": wrong})
    assert answer.status_code == 415  # it is no picture, but its size is right
    assert "typed</textarea>" in answer.content.decode()


def test_publishing_drafts_takes_from_the_budget_of_posts(
    browser: Client, me: User, settings: Any
) -> None:
    settings.BUDGETS = {**settings.BUDGETS, budgets.PUBLISH.name: Rate(1, 1)}
    drafts = [actions.create(me, {"content": "x"}) for _ in range(3)]
    form = {"content": "y", "act": "publish"}
    assert browser.post(f"/drafts/{drafts[0].pk}", form).status_code == 303
    refused = browser.post(f"/drafts/{drafts[1].pk}", form)
    assert refused.status_code == 429
    assert "y</textarea>" in refused.content.decode()
    later = {"content": "z", "publish_at": "2027-01-01T10:00"}
    assert browser.post(f"/drafts/{drafts[2].pk}", later).status_code == 429
    assert Post.objects.count() == 1


def test_a_refused_publication_keeps_the_schedule_and_the_pictures(
    browser: Client, me: User
) -> None:
    picture = make_picture(me)
    soon = db.now_ms() + 3_600_000
    values = {"kind": "article", "title": "T", "content": "x", "images": [picture.pk]}
    draft = actions.create(me, {**values, "publish_at": soon})
    form = {"kind": "article", "title": "", "content": "x", "act": "publish", "keep": picture.pk}
    page = text_of(browser.post(f"/drafts/{draft.pk}", form), 400)
    assert 'name="keep"' in page
    draft.refresh_from_db()
    assert abs((draft.publish_at or 0) - soon) < 1000
    assert list(draft.pictures.values_list("media_id", flat=True)) == [picture.pk]


def test_enter_publishes_a_new_post_and_saves_a_draft(browser: Client, me: User) -> None:
    home = text_of(browser.get("/"))
    assert home.index('data-testid="publish"') < home.index('data-testid="save-draft"')
    page = text_of(browser.get(f"/drafts/{actions.create(me, {}).pk}"))
    assert page.index('data-testid="save-draft"') < page.index('data-testid="publish"')
