"""Password changes by the person and by a command on the server; creating an admin."""

import io
import sys

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions
from accounts.credentials import passwords
from accounts.models import AuditEntry, Role, TokenBatch, TokenVersion, User
from accounts.request_auth import authentication, cookies
from accounts.tests.browsers import log_in
from accounts.tokens import TokenPair, decode_access
from socialsite.core.errors import (
    BannedAccessToken,
    BannedRefreshToken,
    PasswordNotCorrected,
    RegMatchError,
)
from socialsite.core.models import Event

pytestmark = pytest.mark.django_db

OLD, NEW = "right.pass1", "other.pass2"
ADDRESS = "/api/v1/auth/password"


@pytest.fixture
def alice(make_user) -> User:
    return make_user("alice1", nickname="Alice")


def is_alive(pair: TokenPair) -> bool:
    try:
        authentication.by_access(pair.access)
    except BannedAccessToken:
        return False
    return True


def can_refresh(pair: TokenPair) -> bool:
    try:
        actions.refresh(pair.refresh)
    except BannedRefreshToken:
        return False
    return True


def bearer(pair: TokenPair) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {pair.access}")
    return client


def revocations() -> list[dict]:
    rows = Event.objects.filter(type="TokensRevoked").order_by("id")
    return [row.payload for row in rows]


def test_a_change_ends_all_sign_ins_and_gives_the_changer_alone_a_new_pair(alice) -> None:
    here, there = actions.sign_in(alice, "chrome"), actions.sign_in(alice, "android")
    pair = actions.change_password(alice, "chrome", OLD, NEW, by="Chrome, Linux")
    assert [is_alive(one) for one in (here, there, pair)] == [False, False, True]
    assert [can_refresh(one) for one in (here, there, pair)] == [False, False, True]
    assert decode_access(pair.access).version == decode_access(here.access).version
    assert log_in("alice1", NEW)
    with pytest.raises(PasswordNotCorrected):
        log_in("alice1", OLD)


def test_the_event_has_reason_address_and_exception(alice) -> None:
    actions.sign_in(alice, "chrome")
    actions.change_password(alice, "chrome", OLD, NEW, by="Chrome, Linux")
    told = revocations()[-1]
    assert told["client"] is None
    assert (told["reason"], told["by"], told["spared"]) == ("password", "Chrome, Linux", "chrome")
    assert told["accessOnly"] is False
    assert TokenBatch.objects.get().ended == "password"


def test_the_change_is_noted_without_secrets(alice) -> None:
    actions.sign_in(alice, "chrome")
    actions.change_password(alice, "chrome", OLD, NEW, address="198.51.100.7")
    entry = AuditEntry.objects.get(action="password")
    assert (entry.actor_id, entry.subject_id) == (alice.pk, alice.pk)
    assert (entry.address, entry.detail) == ("198.51.100.7", {})


@pytest.mark.parametrize("new", ["short", "password1", "alice1", "has blank1", "", OLD, NEW + "\n"])
def test_a_new_password_follows_the_rules_and_is_another_one(new, alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    with pytest.raises(RegMatchError) as caught:
        actions.change_password(alice, "chrome", OLD, new)
    assert set(caught.value.fields or {}) == {"new_password"}
    assert is_alive(pair)
    assert log_in("alice1", OLD)


def test_a_wrong_old_password_changes_nothing(alice) -> None:
    pair = actions.sign_in(alice, "chrome")
    with pytest.raises(PasswordNotCorrected) as caught:
        actions.change_password(alice, "chrome", "wrong.pass9", NEW)
    assert set(caught.value.fields or {}) == {"old_password"}
    assert is_alive(pair)
    assert log_in("alice1", OLD)


def test_a_password_that_was_replaced_while_it_was_checked_is_not_replaced_again(
    alice, monkeypatch
) -> None:
    actions.sign_in(alice, "chrome")
    check = passwords.is_right

    def slow_check(user: User | None, raw: str) -> bool:
        right = check(user, raw)
        actions.set_password(alice, "between.3")
        return right

    monkeypatch.setattr(passwords, "is_right", slow_check)
    with pytest.raises(PasswordNotCorrected):
        actions.change_password(alice, "chrome", OLD, NEW)
    monkeypatch.undo()
    assert log_in("alice1", "between.3")


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda user: actions.log_out(user, "chrome"),
        lambda user: actions.sign_in(user, "chrome"),
        actions.ban,
    ],
    ids=["logout", "another login", "ban"],
)
def test_a_device_that_was_signed_out_meanwhile_gets_no_new_pair(
    meanwhile, alice, monkeypatch
) -> None:
    version = decode_access(actions.sign_in(alice, "chrome").access).version
    hash_password = passwords.hash_password

    def slow_hash(raw: str) -> str:
        meanwhile(alice)
        return hash_password(raw)

    monkeypatch.setattr(passwords, "hash_password", slow_hash)
    with pytest.raises(BannedAccessToken):
        actions.change_password(alice, "chrome", OLD, NEW, version=version)
    monkeypatch.undo()
    actions.unban(alice)
    assert log_in("alice1", OLD)


def test_setting_a_password_ends_every_sign_in(alice) -> None:
    pairs = [actions.sign_in(alice, "chrome"), actions.sign_in(alice, "android")]
    actions.set_password(alice, NEW)
    assert not any(is_alive(pair) or can_refresh(pair) for pair in pairs)
    assert log_in("alice1", NEW)


# --- the API ------------------------------------------------------------------------------------


def test_the_api_answers_with_the_new_pair(alice) -> None:
    there = actions.sign_in(alice, "android")
    client = bearer(actions.sign_in(alice, "chrome"))
    body = {"old_password": OLD, "new_password": NEW}
    answer = client.post(ADDRESS, body, format="json", HTTP_USER_AGENT="X11; Linux")
    assert answer.status_code == 200
    assert set(answer.json()) == {"access", "refresh"}
    pair = TokenPair(**answer.json())
    assert is_alive(pair)
    assert not is_alive(there)
    assert client.get("/api/v1/users/me").json()["code"] == 8
    assert revocations()[-1]["by"] == "Chrome, Linux"


@pytest.mark.parametrize(
    ("body", "status", "code", "fields"),
    [
        ({"old_password": "wrong.pass9", "new_password": NEW}, 401, 2, {"old_password"}),
        ({"old_password": OLD, "new_password": "short"}, 400, 5, {"new_password"}),
        ({"old_password": OLD, "new_password": ""}, 400, 5, {"new_password"}),
        ({"old_password": OLD, "new_password": OLD}, 400, 5, {"new_password"}),
        ({"new_password": NEW}, 400, 13, {"old_password"}),
        ({"old_password": OLD, "new_password": None}, 400, 13, {"new_password"}),
        ({"old_password": ["x"], "new_password": {}}, 400, 13, {"old_password", "new_password"}),
        ({"old_password": "x" * 9000, "new_password": NEW}, 400, 13, {"old_password"}),
    ],
)
def test_the_api_names_the_error(body, status, code, fields, alice, api_for) -> None:
    answer = api_for(alice).post(ADDRESS, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()["fields"]) == fields


@pytest.mark.usefixtures("clock")
def test_guessing_the_old_password_is_slowed_down(alice, api_for) -> None:
    client = api_for(alice)
    body = {"old_password": "wrong.pass9", "new_password": NEW}
    answers = [client.post(ADDRESS, body, format="json") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [401] * 5 + [429]
    right = client.post(ADDRESS, body | {"old_password": OLD}, format="json")
    assert (right.status_code, right.json()["code"]) == (429, 11)
    assert int(right["Retry-After"]) >= 1


def test_only_one_s_own_password_by_any_name_of_a_field(alice, make_user) -> None:
    bob = make_user("bobby1")
    body = {"old_password": OLD, "new_password": NEW, "user": str(bob.pk), "username": "bobby1"}
    more = {"user_id": bob.pk, "client": "ios", "roles": 7, "version": 99, "by": "x"}
    client = bearer(actions.sign_in(alice, "chrome"))
    assert client.post(ADDRESS, body | more, format="json").status_code == 200
    assert log_in("bobby1", OLD)
    alice.refresh_from_db()
    assert alice.roles == Role.MEMBER
    assert not TokenVersion.objects.filter(client="ios").exists()


def test_a_guest_has_no_password_to_change(api, db) -> None:
    body = {"old_password": OLD, "new_password": NEW}
    assert api.post(ADDRESS, body, format="json").json()["code"] == 14


def test_a_cookie_alone_changes_nothing(alice) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies[cookies.ACCESS] = actions.sign_in(alice, "chrome").access
    body = {"old_password": OLD, "new_password": NEW}
    answer = browser.post(ADDRESS, body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, 19)
    assert log_in("alice1", OLD)


# --- commands -----------------------------------------------------------------------------------


def run(monkeypatch, typed: str, *command: str) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    out = io.StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


def test_the_command_sets_a_password_and_signs_out(alice, monkeypatch) -> None:
    pair = actions.sign_in(alice)
    said = run(monkeypatch, f"{NEW}\n", "changepassword", "Alice1")
    assert "signed out" in said
    assert not is_alive(pair)
    assert log_in("alice1", NEW)


@pytest.mark.parametrize(
    ("typed", "name", "text"),
    [
        ("short\n", "alice1", "new_password: 6 to 16"),
        ("", "alice1", "new_password: 6 to 16"),
        (f"{NEW}\n", "nobody1", "no user named"),
    ],
)
def test_the_command_names_the_error(typed, name, text, alice, monkeypatch) -> None:
    with pytest.raises(CommandError, match=text):
        run(monkeypatch, typed, "changepassword", name)
    assert log_in("alice1", OLD)


def test_an_admin_is_made_by_the_rules_of_the_site(db, monkeypatch) -> None:
    arguments = ("createsuperuser", "--username", "keeper1", "--nickname", "站长一号")
    said = run(monkeypatch, f"{NEW}\n", *arguments)
    assert "admin" in said
    user, _pair = log_in("keeper1", NEW)
    assert user.is_superuser
    assert user.nickname == "站长一号"


def test_a_broken_rule_makes_no_admin(alice, monkeypatch) -> None:
    with pytest.raises(CommandError, match="password: "):
        run(monkeypatch, "short\n", "createsuperuser", "--username", "keeper1")
    with pytest.raises(CommandError, match="exists already"):
        run(monkeypatch, f"{NEW}\n", "createsuperuser", "--username", "Alice1")
    assert User.objects.count() == 1


# --- the page -----------------------------------------------------------------------------------

PAGE = "/settings/password"


def filled(old: str = OLD, new: str = NEW, again: str = NEW) -> dict[str, str]:
    return {"old_password": old, "new_password": new, "again": again}


def test_by_the_page_this_browser_stays_and_the_others_go(browser, alice) -> None:
    there = actions.sign_in(alice, "android")
    answer = browser.post(PAGE, filled())
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    page = browser.get(PAGE).content.decode()
    assert "all other devices were signed out" in page
    assert "all other devices were signed out" not in browser.get(PAGE).content.decode()
    assert not is_alive(there)
    assert is_alive(TokenPair(browser.cookies[cookies.ACCESS].value, ""))
    assert log_in("alice1", NEW)


@pytest.mark.parametrize(
    ("data", "status", "fields"),
    [
        (filled(old="wrong.pass9"), 401, {"old_password"}),
        (filled(new="short", again="short"), 400, {"new_password"}),
        (filled(again="other.pass3"), 400, {"again"}),
        ({}, 400, {"old_password", "new_password", "again"}),
        (filled(new=OLD, again=OLD), 400, {"new_password"}),
    ],
)
def test_by_the_page_each_mistake_stands_at_its_field(data, status, fields, browser) -> None:
    answer = browser.post(PAGE, data)
    page = answer.content.decode()
    assert answer.status_code == status
    for name in ("old_password", "new_password", "again"):
        assert (f'id="err-{name}"' in page) == (name in fields)
    assert OLD not in page
    assert NEW not in page
    assert log_in("alice1", OLD)


@pytest.mark.usefixtures("clock")
def test_by_the_page_guessing_is_slowed_down(browser) -> None:
    statuses = [browser.post(PAGE, filled(old="wrong.pass9")).status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    answer = browser.post(PAGE, filled())
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) >= 1


def test_another_site_changes_no_password(alice) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies[cookies.ACCESS] = actions.sign_in(alice, "chrome").access
    assert strict.post(PAGE, filled()).status_code == 403
    assert log_in("alice1", OLD)


def test_a_login_that_began_with_the_old_password_ends_with_it(make_user) -> None:
    user = make_user("alice1", password=OLD)
    actions.sign_in(user, "firefox")
    checked = actions.check_password("alice1", OLD)
    actions.change_password(user, "firefox", OLD, NEW)
    with pytest.raises(PasswordNotCorrected):
        actions.sign_in(checked, "chrome", proof=actions.Proof(checked.password, code=False))
    assert not TokenVersion.objects.filter(client="chrome").exists()
