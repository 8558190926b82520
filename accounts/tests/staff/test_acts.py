"""Acts of staff on people: their effect at once, their grounds, and how each is undone."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions
from accounts.actions import moderation
from accounts.models import AuditEntry, Role, StaffAct, User
from accounts.tests.browsers import browser_of, text_of
from relations.tests.helpers import at_once
from socialsite.core.errors import Forbidden, InvalidInput, NotFound, Suspended, TwoFactorNeeded
from socialsite.core.media import pictures
from socialsite.core.models import Media
from socialsite.tasks import apply_retention
from socialsite.tests.support.answers import assert_error
from socialsite.tests.support.pictures import picture

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
V1 = "/api/v1/"
PASSWORD = "right.pass1"
SPAM = actions.Grounds("spam", "Please do not advertise.")
PEOPLE, ACTS = "/admin/accounts/user/", "/admin/accounts/staffact/"
# An act, what undoes it, and the names of both in the audit trail.
PAIRS: dict[str, tuple[Any, Any, str, str]] = {
    "limit": (actions.limit, actions.unlimit, "limit", "unlimit"),
    "suspend": (actions.suspend, actions.unsuspend, "suspend", "unsuspend"),
    "ban": (actions.ban, actions.unban, "ban", "unban"),
}


@pytest.fixture
def staff(make_user: Make) -> User:
    return actions.promote(make_user("staff1"), Role.MEMBER | Role.MODERATOR)


def log_in(name: str = "alice1") -> Any:
    body = {"username": name, "password": PASSWORD}
    return APIClient().post(f"{V1}auth/login", body, format="json")


def upload(user: User) -> Media:
    return pictures.store_all(user.pk, [(BytesIO(picture()), "")])[0]


def noted() -> list[str]:
    rows = AuditEntry.objects.exclude(actor=None).order_by("pk")
    return list(rows.values_list("action", flat=True))


# --- each act -----------------------------------------------------------------------------------
def test_a_warning_is_read_and_changes_nothing(alice: User, staff: User, api_for: Make) -> None:
    actions.warn(alice, staff, "203.0.113.9", SPAM)
    assert noted() == ["warn"]
    (act,) = api_for(alice).get(f"{V1}users/me/acts").json()["items"]
    assert (act["kind"], act["reason"], act["words"]) == ("warn", "spam", SPAM.words)
    assert (act["undone_at"], act["until"], act["appeal"], act["may_appeal"]) == (
        *(None,) * 3,
        True,
    )
    assert "staff1" not in str(act)
    assert str(staff.pk) not in str(act)
    page = text_of(browser_of(alice).get("/settings/acts"))
    assert SPAM.words in page
    assert "Spam or advertising" in page


@pytest.mark.parametrize("name", PAIRS)
def test_an_act_happens_once_and_so_does_its_end(name: str, alice: User, staff: User) -> None:
    act, end, done, undone = PAIRS[name]
    end(alice, staff)
    assert noted() == []
    act(alice, staff, "", SPAM)
    if name != "suspend":
        act(alice, staff, "", SPAM)
    assert noted() == [done]
    row = StaffAct.objects.get()
    assert (row.kind, row.actor, row.reason, row.undone_at) == (done, staff, "spam", None)
    end(alice, staff)
    end(alice, staff)
    assert noted() == [done, undone]
    row.refresh_from_db()
    assert row.undone_at is not None
    assert row.undone_by == staff
    # Again: a new act of its own.
    act(alice, staff, "", SPAM)
    assert StaffAct.objects.filter(undone_at=None).count() == 1


def test_a_suspension_refuses_log_ins_until_its_time(
    alice: User, staff: User, api_for: Make
) -> None:
    signed_in = api_for(alice)
    assert signed_in.get(f"{V1}users/me").status_code == 200
    actions.suspend(alice, staff, "", SPAM, days=3)
    assert_error(signed_in.get(f"{V1}users/me"), 401, "BANNED_ACCESS_TOKEN")
    answer = log_in()
    assert_error(answer, 403, "SUSPENDED")
    alice.refresh_from_db()
    assert alice.suspended_until is not None
    assert f"{alice.suspended_until:%Y-%m-%d %H:%M}" in answer.json()["detail"]
    assert "Spam or advertising" in answer.json()["detail"]
    wrong = APIClient().post(
        f"{V1}auth/login", {"username": "alice1", "password": "wrong.pass1"}, format="json"
    )
    assert_error(wrong, 401, "PASSWORD_NOT_CORRECTED")
    User.objects.filter(pk=alice.pk).update(suspended_until=timezone.now())
    assert log_in().status_code == 200


def test_a_log_in_that_began_before_a_suspension_fails(alice: User, staff: User) -> None:
    user = actions.check_password("alice1", PASSWORD)
    actions.suspend(alice, staff, days=1)
    with pytest.raises(Suspended):
        actions.sign_in(user)


def test_posts_of_a_suspended_person_stay(alice: User, staff: User, make_post: Make) -> None:
    post = make_post(alice)
    actions.suspend(alice, staff, days=1)
    assert APIClient().get(f"{V1}posts/{post.pk}").status_code == 200


@pytest.mark.parametrize("days", [0, -1, 366, 10**9])
def test_a_suspension_has_a_number_of_days(days: int, alice: User, staff: User) -> None:
    with pytest.raises(InvalidInput) as error:
        actions.suspend(alice, staff, days=days)
    assert error.value.fields is not None
    assert "days" in error.value.fields
    assert not StaffAct.objects.exists()


def test_a_longer_suspension_replaces_the_one_before(alice: User, staff: User) -> None:
    actions.suspend(alice, staff, days=1)
    actions.suspend(alice, staff, days=9)
    old, new = StaffAct.objects.order_by("pk")
    assert (old.undone_at is None, new.undone_at) == (False, None)
    alice.refresh_from_db()
    assert alice.suspended_until == new.until


def test_what_is_taken_from_a_profile_comes_back(alice: User, staff: User, drain: Make) -> None:
    media = upload(alice)
    actions.edit_profile(alice, avatar=media.pk, bio="Buy my shoes")
    drain()
    for part in ("avatar", "bio", "banner"):
        actions.take(alice, part, staff, "", SPAM)
    drain()
    alice.refresh_from_db()
    assert (alice.avatar_name, alice.bio) == ("", "")
    assert Media.objects.filter(pk=media.pk).exists()  # kept while it can be given back
    assert noted() == ["take", "take"]
    for act in StaffAct.objects.all():
        assert actions.undo(act.pk, staff)
        assert not actions.undo(act.pk, staff)
    drain()
    alice.refresh_from_db()
    assert (alice.avatar_name, alice.bio) == (media.thumb_name, "Buy my shoes")
    assert Media.objects.filter(pk=media.pk).exists()


def test_something_new_is_not_replaced_by_an_undo(alice: User, staff: User, drain: Make) -> None:
    first, second = (upload(alice) for _ in range(2))
    actions.edit_profile(alice, avatar=first.pk, bio="Buy my shoes")
    actions.take(alice, "avatar", staff)
    actions.take(alice, "bio", staff)
    actions.edit_profile(alice, avatar=second.pk, bio="I like tea")
    for act in StaffAct.objects.all():
        actions.undo(act.pk, staff)
    drain()
    alice.refresh_from_db()
    assert (alice.avatar_name, alice.bio) == (second.thumb_name, "I like tea")
    assert not Media.objects.filter(pk=first.pk).exists()


def test_what_was_taken_long_ago_is_forgotten(
    alice: User, staff: User, drain: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    media = upload(alice)
    actions.edit_profile(alice, avatar=media.pk, bio="Buy my shoes")
    actions.take(alice, "avatar", staff)
    actions.take(alice, "bio", staff)
    apply_retention()
    drain()
    assert StaffAct.objects.exclude(taken="").count() == 2
    monkeypatch.setattr(moderation, "TAKEN_DAYS", -1)
    apply_retention()
    drain()
    assert not StaffAct.objects.exclude(taken="").exists()
    assert not Media.objects.filter(pk=media.pk).exists()
    for act in StaffAct.objects.all():
        assert actions.undo(act.pk, staff)
    alice.refresh_from_db()
    assert (alice.avatar_name, alice.bio) == ("", "")


@pytest.mark.parametrize("name", PAIRS)
def test_an_undo_lifts_the_effect_with_one_audit_line(name: str, alice: User, staff: User) -> None:
    act, _end, done, undone = PAIRS[name]
    act(alice, staff)
    assert actions.undo(StaffAct.objects.get().pk, staff)
    assert noted() == [done, undone]
    alice.refresh_from_db()
    assert (alice.limited_at, alice.banned_at, alice.is_suspended) == (None, None, False)
    assert log_in().status_code == 200


def test_a_suspension_that_is_over_can_be_undone(alice: User, staff: User) -> None:
    actions.suspend(alice, staff, days=1)
    User.objects.filter(pk=alice.pk).update(suspended_until=timezone.now())
    assert actions.undo(StaffAct.objects.get().pk, staff)
    assert noted() == ["suspend", "undo"]
    assert StaffAct.objects.get().undone_at is not None


# --- who may ------------------------------------------------------------------------------------
ALL: dict[str, Callable[[User, User], Any]] = {
    "warn": lambda user, actor: actions.warn(user, actor, "", SPAM),
    "limit": lambda user, actor: actions.limit(user, actor, "", SPAM),
    "unlimit": actions.unlimit,
    "suspend": lambda user, actor: actions.suspend(user, actor, "", SPAM),
    "unsuspend": actions.unsuspend,
    "take": lambda user, actor: actions.take(user, "bio", actor, "", SPAM),
}


@pytest.mark.parametrize("name", ALL)
def test_nobody_acts_without_the_right(
    name: str, alice: User, staff: User, make_user: Make, settings: Any
) -> None:
    act, admin = ALL[name], actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    for user, actor in ((staff, alice), (alice, alice), (staff, staff), (admin, staff)):
        with pytest.raises(Forbidden):
            act(user, actor)
    settings.STAFF_TOTP = True
    with pytest.raises(TwoFactorNeeded):
        act(alice, staff)
    assert not StaffAct.objects.exists()
    assert noted() == []


def test_an_undo_needs_the_right_over_the_person(alice: User, staff: User, make_user: Make) -> None:
    admin = actions.promote(make_user(), Role.MEMBER | Role.ADMIN)
    actions.warn(staff, admin, "", SPAM)
    act = StaffAct.objects.get()
    for actor in (staff, alice):
        with pytest.raises(Forbidden):
            actions.undo(act.pk, actor)
    with pytest.raises(NotFound):
        actions.undo(12345, admin)
    assert StaffAct.objects.get().undone_at is None


def test_wrong_grounds_change_nothing(alice: User, staff: User) -> None:
    for grounds in (actions.Grounds("boring"), actions.Grounds("spam", "x" * 1001)):
        for act in (actions.warn, actions.limit, actions.ban, actions.suspend):
            with pytest.raises(InvalidInput):
                act(alice, staff, "", grounds)
    alice.refresh_from_db()
    assert (alice.limited_at, alice.banned_at, alice.suspended_until) == (None, None, None)
    assert noted() == []
    assert log_in().status_code == 200


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_acts_at_once_leave_one_that_stands(make_user: Make) -> None:
    alice = make_user("alice1")
    people = [actions.promote(make_user(), Role.MEMBER | Role.MODERATOR) for _ in range(2)]

    def storm(actor: User) -> None:
        for _ in range(6):
            actions.limit(alice, actor)
            for act in StaffAct.objects.filter(undone_at=None):
                actions.undo(act.pk, actor)
            actions.ban(alice, actor)
            actions.unban(alice, actor)
            actions.suspend(alice, actor)

    assert at_once([partial(storm, actor) for actor in people]) == [None, None]
    alice.refresh_from_db()
    standing = list(StaffAct.objects.filter(undone_at=None).values_list("kind", flat=True))
    state = {
        "limit": alice.limited_at is not None,
        "ban": alice.banned_at is not None,
        "suspend": alice.is_suspended,
    }
    assert sorted(standing) == sorted(kind for kind, is_on in state.items() if is_on)


# --- what the person learns ---------------------------------------------------------------------
def test_a_person_is_notified_of_each_decision(
    alice: User, staff: User, api_for: Make, drain: Make
) -> None:
    mine = api_for(alice)
    for count in (1, 2):
        actions.warn(alice, staff, "", SPAM)
        drain()
        (item,) = mine.get(f"{V1}notifications").json()["items"]
        assert (item["kind"], item["subject"]["type"], item["read"]) == (
            *("moderation", "user"),
            False,
        )
        assert item["actors"] == []
        assert mine.get(f"{V1}notifications/unread-count").json()["count"] == 1, count
        mine.post(f"{V1}notifications/read", {"until": item["created_at"]}, format="json")
    page = text_of(browser_of(alice).get("/notifications"))
    assert 'href="/settings/acts"' in page


def test_mails_say_what_and_why(alice: User, staff: User, deliver: Make) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    alice.refresh_from_db()
    for act in (actions.warn, actions.limit, actions.suspend, actions.ban):
        act(alice, staff, "", actions.Grounds("abuse", "100% (too) rude"))
        mails = deliver()
        assert len(mails) == 1
        for words in ("Insult or harassment", "100% (too) rude", "/settings/acts", "@alice1"):
            assert words in mails[0].body
        assert "staff1" not in mails[0].body
    actions.take(alice, "bio", staff)
    assert deliver() == []


def test_acts_come_in_pages(alice: User, staff: User, api_for: Make) -> None:
    for number in range(25):
        actions.warn(alice, staff, "", actions.Grounds("spam", f"warning {number}"))
    mine, found, cursor = api_for(alice), [], ""
    while cursor is not None:
        page = mine.get(f"{V1}users/me/acts?size=10&cursor={cursor}").json()
        found += [act["words"] for act in page["items"]]
        cursor = page["next"]
    assert found == [f"warning {number}" for number in reversed(range(25))]
    assert "Older decisions" in text_of(browser_of(alice).get("/settings/acts"))


# --- the admin ----------------------------------------------------------------------------------
def test_staff_act_with_grounds_from_the_page_of_a_person(alice: User, staff: User) -> None:
    browser = browser_of(staff)
    page = browser.get(f"{PEOPLE}{alice.pk}/change/").content.decode()
    assert 'value="suspend"' in page
    form = {"action": "suspend", "_selected_action": [alice.pk], "back": alice.pk}
    asked = browser.post(PEOPLE, form).content.decode()
    for name in ("reason", "words", "days"):
        assert f'name="{name}"' in asked
    wrong = browser.post(PEOPLE, form | {"confirmed": "yes", "days": "0", "words": "my words"})
    assert wrong.status_code == 200
    assert "my words" in wrong.content.decode()
    assert not StaffAct.objects.exists()
    right = {"confirmed": "yes", "days": "2", "words": "Cool down", "reason": "abuse"}
    answer = browser.post(PEOPLE, form | right)
    assert answer["Location"] == f"{PEOPLE}{alice.pk}/change/"
    act = StaffAct.objects.get()
    assert (act.kind, act.words, act.reason) == ("suspend", "Cool down", "abuse")
    page = browser.get(f"{PEOPLE}{alice.pk}/change/").content.decode()
    assert 'value="unsuspend"' in page
    listed = browser.get(f"{ACTS}?q={alice.username}").content.decode()
    assert "Suspended for some time" in listed
    undo = {"action": "undo", "_selected_action": [act.pk], "back": act.pk, "confirmed": "yes"}
    assert "Undo" in browser.get(f"{ACTS}{act.pk}/change/").content.decode()
    browser.post(ACTS, undo)
    alice.refresh_from_db()
    assert not alice.is_suspended


def test_a_warning_without_words_is_a_mistake(alice: User, staff: User) -> None:
    form = {"action": "warn", "_selected_action": [alice.pk], "confirmed": "yes", "words": " "}
    assert "errorlist" in browser_of(staff).post(PEOPLE, form).content.decode()
    assert not StaffAct.objects.exists()


@pytest.mark.parametrize("state", ["limited", "suspended", "banned"])
def test_people_are_listed_by_state(state: str, alice: User, staff: User) -> None:
    acts: dict[str, Any] = {"limited": actions.limit, "suspended": actions.suspend}
    (acts | {"banned": actions.ban})[state](alice)
    page = browser_of(staff).get(f"{PEOPLE}?state={state}").content.decode()
    assert "alice1" in page
    assert "1 user" in page
