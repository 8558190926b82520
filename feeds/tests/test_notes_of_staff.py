"""Content notes of staff: readers see them, authors cannot change them, an undo puts all back."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import actions as accounts_actions
from accounts.actions import moderation
from accounts.models import AuditEntry, Role, StaffAct, User
from accounts.tests.browsers import browser_of
from feeds import actions
from feeds.models import Post
from interactions import actions as interactions_actions
from interactions.models import Case, ReportedKind
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, TwoFactorNeeded

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
GROUNDS = accounts_actions.Grounds("sexual", "Please mark such pictures.")


@pytest.fixture
def staff(make_user: Make) -> User:
    return accounts_actions.promote(make_user("staff1"), Role.MEMBER | Role.MODERATOR)


@pytest.fixture
def author(make_user: Make) -> User:
    return make_user("author1")


@pytest.fixture
def post(author: User) -> Post:
    return actions.publish(author, content="some words", note="my own note")


def shown(post: Post) -> tuple[str, bool]:
    body = APIClient().get(f"{V1}posts/{post.pk}").json()
    return body["note"], body["sensitive"]


def test_a_note_of_staff_is_shown_until_it_is_undone(post: Post, staff: User, drain: Make) -> None:
    assert actions.put_note(staff, post.pk, " Nudity ", "203.0.113.9", GROUNDS)
    assert not actions.put_note(staff, post.pk, "Other", "", GROUNDS)
    assert shown(post) == ("Nudity", True)
    act = StaffAct.objects.get()
    assert (act.kind, act.subject_id, act.words) == ("note", post.pk, GROUNDS.words)
    assert AuditEntry.objects.filter(action="note", subject_id=post.pk).count() == 1
    drain()
    assert shown(post) == ("Nudity", True)
    assert accounts_actions.undo(act.pk, staff)
    assert shown(post) == ("my own note", False)
    drain()
    assert shown(post) == ("my own note", False)
    history = APIClient().get(f"{V1}posts/{post.pk}/history").json()["items"]
    assert [one["note"] for one in history] == ["my own note", "Nudity", "my own note"]


def test_the_author_edits_the_rest_only(post: Post, author: User, staff: User) -> None:
    actions.put_note(staff, post.pk, "Nudity")
    for wrong in ({"note": ""}, {"note": "None"}, {"sensitive": False}):
        with pytest.raises(InvalidInput) as error:
            actions.edit(author, post.pk, 2, **wrong)
        assert set(error.value.fields or ()) == set(wrong)
    actions.edit(author, post.pk, 2, content="other words")
    assert shown(post) == ("Nudity", True)
    accounts_actions.undo(StaffAct.objects.get().pk, staff)
    body = APIClient().get(f"{V1}posts/{post.pk}").json()
    assert (body["note"], body["content"]) == ("my own note", "other words")
    actions.edit(author, post.pk, 4, note="")
    assert shown(post) == ("", False)


def test_only_staff_put_notes_and_only_good_ones(
    post: Post, author: User, staff: User, make_user: Make, settings: Any
) -> None:
    for note in ("", " ", "x" * 101):
        with pytest.raises(InvalidInput):
            actions.put_note(staff, post.pk, note)
    admin = accounts_actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    for actor, target in (
        *((author, post), (make_user(), post)),
        (staff, actions.publish(admin, content="x")),
    ):
        with pytest.raises(Forbidden):
            actions.put_note(actor, target.pk, "Nudity")
    with pytest.raises(NotFound):
        actions.put_note(staff, 12345, "Nudity")
    settings.STAFF_TOTP = True
    with pytest.raises(TwoFactorNeeded):
        actions.put_note(staff, post.pk, "Nudity")
    assert shown(post) == ("my own note", False)
    assert not StaffAct.objects.exists()


def test_a_repost_has_no_note(post: Post, staff: User, make_user: Make) -> None:
    """Its author could not edit the words any more: a repost has only a text."""
    quote, _is_new = actions.repost(make_user(), post.pk, content="look")
    with pytest.raises(Forbidden):
        actions.put_note(staff, quote.pk, "Nudity")
    assert not StaffAct.objects.exists()


def test_a_note_can_be_undone_at_any_time(
    post: Post, staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions.put_note(staff, post.pk, "Nudity")
    monkeypatch.setattr(moderation, "TAKEN_DAYS", -1)
    assert accounts_actions.forget_taken() == 0
    accounts_actions.undo(StaffAct.objects.get().pk, staff)
    assert shown(post) == ("my own note", False)


def test_a_note_closes_the_case(post: Post, staff: User, make_user: Make) -> None:
    interactions_actions.report(make_user(), ReportedKind.POST, post.pk, "sexual")
    case = Case.objects.get()
    browser, queue = browser_of(staff), "/admin/interactions/case/"
    assert 'value="note"' in browser.get(f"{queue}{case.pk}/change/").content.decode()
    form = {"action": "note", "_selected_action": [case.pk], "confirmed": "yes"}
    assert "errorlist" in browser.post(queue, form).content.decode()
    browser.post(queue, form | {"note": "Nudity", "reason": "sexual"})
    case.refresh_from_db()
    assert (case.open_count, case.outcome) == (0, "noted")
    assert shown(post) == ("Nudity", True)


def test_posts_get_notes_from_their_list(post: Post, staff: User) -> None:
    form = {"action": "note", "_selected_action": [post.pk], "confirmed": "yes", "note": "Nudity"}
    browser_of(staff).post("/admin/feeds/post/", form)
    assert shown(post) == ("Nudity", True)
