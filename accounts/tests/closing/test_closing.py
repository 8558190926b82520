"""Closing one's account: who may, what it hides and ends, and what a log-in says meanwhile."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, queries
from accounts.models import AuditEntry, Closing, Failures, Role, StaffAct, User
from accounts.tests.browsers import log_in
from accounts.tests.sign_in.authenticator import App
from accounts.tests.sign_in.races import is_alive
from relations import actions as relations_actions
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    BannedAccessToken,
    BannedRefreshToken,
    DuplicatedUser,
    Forbidden,
    OtpRequired,
    PasswordNotCorrected,
)
from socialsite.tests.support.answers import V1, assert_error, ids

pytestmark = pytest.mark.django_db

Make = Callable[..., Any]
PASSWORD = "right.pass1"


def post(path: str, **more: Any) -> Any:
    body = {"username": "alice1", "password": PASSWORD, "client": "ios"} | more
    return APIClient().post(f"{V1}auth/{path}", body, format="json")


def delete(client: APIClient, **body: Any) -> Any:
    return client.delete(f"{V1}users/me", body, format="json")


def turn_on(user: User) -> list[str]:
    """Turn the second factor on; return the recovery codes, which no clock changes."""
    actions.sign_in(user, "linux")
    app = App(actions.begin_two_factor(user, PASSWORD).secret)
    return actions.confirm_two_factor(user, app.code(), "linux")


def end_grace(user: User) -> None:
    Closing.objects.filter(pk=user.pk).update(erase_at=timezone.now())


# --- closing ------------------------------------------------------------------------------------
def test_a_closed_account_says_from_when_it_is_erased(
    alice: User, api_for: Make, settings: Any
) -> None:
    settings.CLOSE_GRACE_DAYS = 3
    answer = delete(api_for(alice), password=PASSWORD)
    assert answer.status_code == 202
    row = Closing.objects.get()
    assert (row.user_id, row.erase_at - row.closed_at) == (alice.pk, timedelta(days=3))
    assert answer.json() == {"closes_at": answer.json()["closes_at"]}
    refused = post("login")
    assert_error(refused, 403, "ACCOUNT_CLOSING")
    assert (refused.json()["code"], refused.json()["closes_at"]) == (
        33,
        answer.json()["closes_at"],
    )
    assert f"{row.erase_at:%Y-%m-%d %H:%M} UTC" in refused.json()["detail"]
    alice.refresh_from_db()
    assert alice.deleted_at == row.closed_at
    entry = AuditEntry.objects.get(action="close")
    assert (entry.actor_id, entry.subject_id) == (alice.pk, alice.pk)


def test_every_sign_in_ends_at_once(alice: User, api_for: Make) -> None:
    mine, pair = api_for(alice, "chrome"), actions.sign_in(alice, "ios")
    assert delete(mine, password=PASSWORD).status_code == 202
    assert_error(mine.get(f"{V1}users/me"), 401, "BANNED_ACCESS_TOKEN")
    assert_error(delete(mine, password=PASSWORD), 401, "BANNED_ACCESS_TOKEN")
    with pytest.raises(BannedRefreshToken):
        actions.refresh(pair.refresh)
    with pytest.raises(BannedAccessToken):
        actions.close(alice, PASSWORD)


def test_closing_needs_the_password_and_guesses_are_counted(alice: User, api_for: Make) -> None:
    mine = api_for(alice)
    assert_error(delete(mine), 400, "INVALID_INPUT", "password")
    for _ in range(3):
        wrong = delete(mine, password="wrong.pass1")
        assert_error(wrong, 401, "PASSWORD_NOT_CORRECTED", "password")
    assert Failures.objects.get(key__startswith="password:").count == 3
    alice.refresh_from_db()
    assert alice.is_active
    assert mine.get(f"{V1}users/me").status_code == 200


def test_closing_needs_a_code_that_is_used_up(alice: User, api_for: Make) -> None:
    first, second = turn_on(alice)[:2]
    mine = api_for(alice)
    assert_error(delete(mine, password=PASSWORD), 401, "OTP_REQUIRED", "otp")
    wrong = delete(mine, password=PASSWORD, otp="000000")
    assert_error(wrong, 401, "OTP_NOT_CORRECTED", "otp")
    assert Failures.objects.get(key__startswith="own_code:").count == 1
    assert delete(mine, password=PASSWORD, otp=first).status_code == 202
    assert_error(post("reopen", otp=first), 401, "OTP_NOT_CORRECTED", "otp")
    assert post("reopen", otp=second).status_code == 200


def test_the_last_admin_cannot_close_the_account(make_user: Make, api_for: Make) -> None:
    one, two = (actions.promote(make_user(name), 7) for name in ("admin1", "admin2"))
    actions.suspend(two)
    refused = delete(api_for(one), password=PASSWORD)
    assert_error(refused, 403, "FORBIDDEN")
    assert "only admin" in refused.json()["detail"]
    actions.unsuspend(two)
    actions.close(one, PASSWORD)
    with pytest.raises(Forbidden):
        actions.close(two, PASSWORD)
    actions.close(actions.promote(make_user(), Role.MEMBER | Role.MODERATOR), PASSWORD)


# --- what the others see ------------------------------------------------------------------------
def test_a_closed_person_is_hidden_at_once_and_comes_back_whole(
    make_user: Make, make_post: Make, api_for: Make, drain: Any
) -> None:
    alice, bobby = make_user("alice1"), make_user("bobby1")
    relations_actions.follow(bobby, alice)
    relations_actions.follow(alice, bobby)
    old = make_post(alice, "an old post")
    before = make_post(bobby, "by somebody else")
    drain()
    last = make_post(alice, "not delivered yet")
    theirs = api_for(bobby)

    def seen() -> Any:
        return (
            ids(theirs.get(f"{V1}feed")),
            theirs.get(f"{V1}users/by-name/alice1").status_code,
            ids(theirs.get(f"{V1}users", {"q": "alice"})),
            ids(theirs.get(f"{V1}users/{bobby.pk}/followers")),
            theirs.get(f"{V1}users/me").json()["counts"],
            theirs.get(f"{V1}posts/{old.pk}").status_code,
            [item["kind"] for item in theirs.get(f"{V1}notifications").json()["items"]],
            theirs.get(f"{V1}notifications/unread-count").json(),
        )

    whole = seen()
    feed = [str(one.pk) for one in (last, before, old)]
    assert whole[:4] == (feed, 200, [str(alice.pk)], [str(alice.pk)])
    actions.close(alice, PASSWORD)
    assert seen()[:4] == ([str(before.pk)], 404, [], [])
    assert seen()[5] == 404
    drain()
    assert seen()[:4] == ([str(before.pk)], 404, [], [])
    assert seen()[6] == []
    assert queries.cards([alice.pk]) == {}
    log_in_and_reopen(alice)
    drain()
    assert seen() == whole


def log_in_and_reopen(user: User) -> None:
    answer = post("reopen", username=user.username)
    assert answer.status_code == 200


def test_what_is_counted_of_a_closed_person_follows_the_rules_of_a_banned_one(
    make_user: Make, make_post: Make, api_for: Make, drain: Any
) -> None:
    found = []
    for hide in (actions.ban, lambda user: actions.close(user, PASSWORD)):
        author, other, guest = make_user(), make_user(), make_user()
        relations_actions.follow(other, author)
        relations_actions.follow(guest, author)
        post_id, theirs = make_post(author).pk, api_for(author)
        fan = api_for(other)
        assert fan.put(f"{V1}posts/{post_id}/like").status_code < 300
        words = {"content": "a comment"}
        path = f"{V1}posts/{post_id}/comments"
        assert fan.post(path, words, format="json").status_code == 201
        drain()
        hide(other)
        drain()
        shown = theirs.get(f"{V1}posts/{post_id}").json()
        found.append(
            (
                {name: value for name, value in shown.items() if name.endswith("_count")},
                theirs.get(f"{V1}users/me").json()["counts"],
                len(theirs.get(path).json()["items"]),
                len(theirs.get(f"{V1}posts/{post_id}/likes").json()["items"]),
                len(theirs.get(f"{V1}users/{author.pk}/followers").json()["items"]),
                theirs.get(f"{V1}notifications/unread-count").json(),
            )
        )
    assert found[0] == found[1]
    assert found[1][2:5] == (0, 0, 1)


def test_nobody_can_sign_up_with_the_name(alice: User) -> None:
    actions.close(alice, PASSWORD)
    with pytest.raises(DuplicatedUser):
        actions.register("Alice1", "Somebody", PASSWORD)


# --- the log-in meanwhile -----------------------------------------------------------------------
@pytest.mark.parametrize("errors", ["merged", "separate"])
def test_only_right_credentials_learn_that_the_account_is_closed(
    errors: str, alice: User, settings: Any
) -> None:
    settings.LOGIN_ERRORS = errors
    actions.close(alice, PASSWORD)
    unknown = post("login", username="nobody1")
    for path in ("login", "reopen", "acts"):
        wrong = post(path, password="wrong.pass1")
        assert (wrong.status_code, wrong.json()) == (unknown.status_code, unknown.json())
    assert_error(post("login"), 403, "ACCOUNT_CLOSING")
    end_grace(alice)
    for path in ("login", "reopen", "acts"):
        late = post(path)
        assert (late.status_code, late.json()) == (unknown.status_code, unknown.json())


def test_the_second_factor_comes_before_the_answer(alice: User) -> None:
    codes = turn_on(alice)
    actions.close(alice, PASSWORD, codes[0])
    assert_error(post("login"), 401, "OTP_REQUIRED")
    assert_error(post("login", otp="000000"), 401, "OTP_NOT_CORRECTED", "otp")
    assert_error(post("login", otp=codes[1]), 403, "ACCOUNT_CLOSING")
    assert_error(post("reopen"), 401, "OTP_REQUIRED")
    assert_error(post("reopen", otp=codes[1]), 401, "OTP_NOT_CORRECTED", "otp")
    alice.refresh_from_db()
    assert not alice.is_active
    assert post("reopen", otp=codes[2]).status_code == 200


def test_guesses_of_the_password_are_counted_when_reopening(alice: User) -> None:
    actions.close(alice, PASSWORD)
    for _ in range(3):
        assert post("reopen", password="wrong.pass1").status_code == 401
    counts = Failures.objects.filter(key__startswith="login_").values_list("count", flat=True)
    assert set(counts) == {3}


# --- reopening ----------------------------------------------------------------------------------
def test_reopening_signs_in_and_can_be_repeated(alice: User) -> None:
    actions.close(alice, PASSWORD)
    for number in range(2):
        answer = post("reopen")
        assert answer.status_code == 200
        assert answer.json()["user"]["username"] == "alice1"
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {answer.json()['access']}")
        assert client.get(f"{V1}users/me").status_code == 200
        assert AuditEntry.objects.filter(action="reopen").count() == 1, number
    assert not Closing.objects.exists()
    assert post("login").status_code == 200
    actions.close(alice, PASSWORD)
    assert_error(post("login"), 403, "ACCOUNT_CLOSING")


def test_nobody_takes_an_account_back_once_erasing_began(alice: User) -> None:
    actions.close(alice, PASSWORD)
    Closing.objects.update(erasing_at=timezone.now())
    for path in ("login", "reopen"):
        assert_error(post(path), 401, "PASSWORD_NOT_CORRECTED")
    with pytest.raises(PasswordNotCorrected):
        actions.reopen(alice)
    with pytest.raises(PasswordNotCorrected):
        actions.sign_in(alice)
    alice.refresh_from_db()
    assert not alice.is_active


def test_without_a_grace_an_account_is_gone_at_once(alice: User, settings: Any) -> None:
    settings.CLOSE_GRACE_DAYS = 0
    actions.close(alice, PASSWORD)
    row = Closing.objects.get()
    assert row.erase_at == row.closed_at
    assert_error(post("login"), 401, "PASSWORD_NOT_CORRECTED")
    assert_error(post("reopen"), 401, "PASSWORD_NOT_CORRECTED")


@pytest.mark.parametrize(
    ("act", "name"), [(actions.ban, "USER_BANNED"), (actions.suspend, "SUSPENDED")]
)
def test_an_act_of_staff_holds_for_a_closed_account(
    act: Any, name: str, alice: User, make_user: Make
) -> None:
    staff = actions.promote(make_user(), Role.MEMBER | Role.MODERATOR)
    actions.close(alice, PASSWORD)
    act(alice, staff, "", actions.Grounds("spam", "Please do not advertise."))
    for path in ("login", "reopen"):
        assert_error(post(path), 403, name)
    with pytest.raises(Exception, match=r"banned|suspended"):
        actions.reopen(alice)
    (found,) = post("acts").json()["items"]
    assert found["id"] == str(StaffAct.objects.get().pk)
    assert Closing.objects.exists()


def test_an_old_proof_does_not_reopen(alice: User) -> None:
    codes = turn_on(alice)
    actions.close(alice, PASSWORD, codes[0])
    alice.refresh_from_db()
    with pytest.raises(OtpRequired):
        actions.reopen(alice, proof=actions.Proof(alice.password, code=False))
    with pytest.raises(PasswordNotCorrected):
        actions.reopen(alice, proof=actions.Proof("old", code=True))
    assert Closing.objects.exists()


# --- at the same time ---------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_log_in_and_a_refresh_during_the_closing_leave_no_live_token(make_user: Make) -> None:
    for number in range(8):
        user = make_user(f"racer{number}")
        pair = actions.sign_in(user, "ios")
        results = at_once(
            [
                lambda user=user: actions.close(user, PASSWORD),
                lambda user=user: log_in(user.username, PASSWORD, "chrome"),
                lambda pair=pair: actions.refresh(pair.refresh),
            ]
        )
        assert Closing.objects.filter(pk=user.pk).exists(), results
        pairs = [pair] + [one[1] for one in results if isinstance(one, tuple)]
        assert [is_alive(one) for one in pairs] == [(False, False)] * len(pairs)


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_close_at_once_one_remains(make_user: Make) -> None:
    for number in range(4):
        pair = [actions.promote(make_user(f"chief{number}{one}"), 7) for one in "ab"]
        results = at_once([lambda user=user: actions.close(user, PASSWORD) for user in pair])
        refused = [one for one in results if isinstance(one, Exception)]
        assert [type(one) for one in refused] == [Forbidden]
        left = User.objects.active().filter(roles=7).get()
        actions.promote(left, Role.MEMBER)


@pytest.mark.django_db(transaction=True)
def test_of_two_closings_and_of_two_reopenings_one_acts(make_user: Make) -> None:
    user = make_user("alice1")
    results = at_once([lambda: actions.close(user, PASSWORD)] * 3)
    assert sum(not isinstance(one, Exception) for one in results) == 1, results
    assert AuditEntry.objects.filter(action="close").count() == 1
    results = at_once([lambda: actions.reopen(user, "ios")] * 3)
    assert not any(isinstance(one, Exception) for one in results), results
    assert AuditEntry.objects.filter(action="reopen").count() == 1
