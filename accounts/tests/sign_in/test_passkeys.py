"""Passkeys: added in the settings, in place of password and code at log-in; every refusal."""

import html
import json
import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import actions, exports
from accounts.actions import Proof
from accounts.credentials import passkeys, two_factor
from accounts.models import AuditEntry, Closing, Passkey, Role, SignIn, User
from accounts.tests.sign_in import passkey_device
from accounts.tests.sign_in.passkey_api import (
    API,
    PASSWORD,
    add,
    assert_refused,
    log_in,
    make_stale,
    options,
    options_to_add,
    send,
    turn_on,
)
from accounts.tests.sign_in.passkey_device import Device
from relations.tests.helpers import at_once
from socialsite.core.errors import (
    BannedAccessToken,
    PasskeyRefused,
    PasswordNotCorrected,
    UserBanned,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_localhost")]

PAGE = "/settings/two-factor"


@pytest.fixture
def device(hers: APIClient) -> Device:
    """A device with a passkey of alice."""
    found = Device()
    assert add(hers, found).status_code == 201
    return found


# --- adding -------------------------------------------------------------------------------------
def test_a_passkey_is_added_listed_and_removed(hers, device) -> None:
    (found,) = hers.get(API).json()["items"]
    assert (found["name"], found["last_used"], found["backed_up"]) == ("Phone", None, False)
    assert hers.delete(f"{API}/{found['id']}").status_code == 204
    assert hers.delete(f"{API}/{found['id']}").status_code == 404
    assert hers.get(API).json()["items"] == []
    acts = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert acts[-2:] == ["passkey_add", "passkey_remove"]


def test_both_are_reported_by_mail(make_user, api_for, deliver) -> None:
    bobby = make_user("bobby1", email="bobby@example.org")
    client = api_for(bobby)
    add(client, Device())
    assert "A passkey was added to your account @bobby1" in deliver()[-1].body
    client.delete(f"{API}/{Passkey.objects.get().pk}")
    assert "A passkey was removed from your account @bobby1" in deliver()[-1].body


def test_browsers_are_asked_for_a_verified_user_and_a_discoverable_key(hers, device) -> None:
    found = options_to_add(hers)
    wanted = found["authenticatorSelection"]
    assert (wanted["userVerification"], wanted["residentKey"]) == ("required", "required")
    assert (found["rp"]["id"], found["attestation"]) == ("localhost", "none")
    assert [one["id"] for one in found["excludeCredentials"]] == [passkey_device.text(device.id)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost"},
        {"rp_id": "evil.example"},
        {"flags": passkey_device.PRESENT},
        {"flags": passkey_device.VERIFIED},
    ],
)
def test_a_new_passkey_of_another_site_or_without_its_user_is_refused(wrong, hers) -> None:
    device = Device()
    vars(device).update(wrong)
    assert_refused(add(hers, device))
    assert not Passkey.objects.exists()


def test_a_challenge_adds_one_passkey_and_only_for_who_got_it(hers, api_for, alice, other) -> None:
    given = options_to_add(hers)
    body = {"credential": Device().create(given)}
    for client in (api_for(other), api_for(alice, "ios")):
        assert_refused(client.post(API, body, format="json"))
    assert hers.post(API, body, format="json").status_code == 201
    assert_refused(hers.post(API, body, format="json"))
    assert_refused(hers.post(API, {"credential": Device().create(given)}, format="json"))


def test_adding_and_removing_need_a_fresh_log_in_or_the_password(hers, device, alice) -> None:
    make_stale(alice)
    url = f"{API}/{Passkey.objects.get().pk}"
    assert hers.post(f"{API}/options", {}, format="json").json()["error"] == "FRESH_LOGIN_NEEDED"
    assert hers.delete(url, {}, format="json").json()["error"] == "FRESH_LOGIN_NEEDED"
    wrong = hers.delete(url, {"password": "wrong.pass1"}, format="json")
    assert wrong.json()["error"] == "PASSWORD_NOT_CORRECTED"
    assert hers.delete(url, {"password": PASSWORD}, format="json").status_code == 204
    assert hers.post(f"{API}/options", {}, format="json").status_code == 200


def test_with_a_second_factor_the_password_alone_does_not_make_it_fresh(alice, api_for) -> None:
    app = turn_on(alice)
    client = api_for(alice, "linux")
    make_stale(alice)
    body = {"password": PASSWORD}
    assert client.post(f"{API}/options", body, format="json").json()["error"] == "OTP_REQUIRED"
    body["otp"] = app.code()
    assert client.post(f"{API}/options", body, format="json").status_code == 200


def test_a_device_that_was_signed_out_in_the_meantime_adds_nothing(alice) -> None:
    actions.sign_in(alice, "linux")
    new = passkeys.New(b"id", b"key", 0, False, [])
    actions.kick(alice, "linux")
    with pytest.raises(BannedAccessToken):
        actions.add_passkey(alice, "linux", new, "Phone")


def test_a_person_has_ten_passkeys_and_a_key_belongs_to_one_person(
    hers, device, api_for, other
) -> None:
    theirs = api_for(other)
    taken = add(theirs, device)
    assert (taken.status_code, taken.json()["error"]) == (400, "INVALID_INPUT")
    for _number in range(passkeys.MAX - 1):
        assert add(hers, Device()).status_code == 201
    assert add(hers, Device()).json()["error"] == "QUOTA_EXCEEDED"


def test_a_statement_of_the_maker_is_not_even_read(hers) -> None:
    answer = add(hers, Device(), fmt="tpm", attStmt={"x5c": [b"nonsense"], "ver": "9"})
    assert answer.status_code == 201


def test_nobody_removes_the_passkey_of_another(device, api_for, other) -> None:
    assert api_for(other).delete(f"{API}/{Passkey.objects.get().pk}").status_code == 404
    assert Passkey.objects.exists()


# --- names --------------------------------------------------------------------------------------
def name_of(client: APIClient) -> str:
    return client.get(API).json()["items"][0]["name"]


def test_a_passkey_gets_another_name(hers, device, alice) -> None:
    make_stale(alice)
    url = f"{API}/{Passkey.objects.get().pk}"
    answer = hers.patch(url, {"name": " My\u0007  laptop "}, format="json")
    assert (answer.status_code, answer.json()) == (200, hers.get(API).json()["items"][0])
    assert name_of(hers) == "My laptop"
    hers.patch(url, {"name": "My laptop"}, format="json")
    entries = AuditEntry.objects.filter(action="passkey_name")
    assert [(entry.actor_id, entry.subject_id) for entry in entries] == [(alice.pk, alice.pk)]


@pytest.mark.parametrize("name", [None, "", "  ", "\u0007", "x" * (Passkey.NAME_MAX + 1), [], {}])
def test_a_name_is_not_empty_and_not_long(name, hers, device) -> None:
    answer = hers.patch(f"{API}/{Passkey.objects.get().pk}", {"name": name}, format="json")
    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_INPUT")
    assert list(answer.json()["fields"]) == ["name"]
    assert name_of(hers) == "Phone"


@pytest.mark.parametrize("ident", ["own", "1", "0"])
def test_nobody_renames_the_passkey_of_another(ident, hers, device, api_for, other) -> None:
    ident = Passkey.objects.get().pk if ident == "own" else ident
    answer = api_for(other).patch(f"{API}/{ident}", {"name": "Mine"}, format="json")
    assert answer.status_code == 404
    assert name_of(hers) == "Phone"
    assert not AuditEntry.objects.filter(action="passkey_name").exists()


def test_the_settings_rename_passkeys(browser, device, api_for, other) -> None:
    row = Passkey.objects.get()
    send = {"passkey": str(row.pk), "name": "x" * Passkey.NAME_MAX}
    answer = browser.post(f"{PAGE}/passkeys/name", send)
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert send["name"] in browser.get(PAGE).content.decode()
    for wrong in ("", " ", "y" * (Passkey.NAME_MAX + 1)):
        refused = browser.post(f"{PAGE}/passkeys/name", send | {"name": wrong})
        assert refused.status_code == 400
        assert f'id="err-passkey-{row.pk}"' in refused.content.decode()
    foreign = Device()
    add(api_for(other), foreign)
    theirs = Passkey.objects.get(user=other)
    for ident in (str(theirs.pk), "1", "x"):
        answer = browser.post(f"{PAGE}/passkeys/name", {"passkey": ident, "name": "Mine"})
        assert answer.status_code == 303
    assert set(Passkey.objects.values_list("name", flat=True)) == {send["name"], "Phone"}


# --- log-in -------------------------------------------------------------------------------------
def test_a_passkey_signs_in_and_is_noted(device, api, alice) -> None:
    before = SignIn.objects.filter(user=alice).count()
    answer = log_in(api, device)
    assert (answer.status_code, answer.json()["user"]["username"]) == (200, "alice1")
    row = Passkey.objects.get()
    assert row.last_used is not None
    assert row.sign_count == 1
    assert SignIn.objects.filter(user=alice).count() == before + 1


def test_a_passkey_replaces_the_code_too(device, api, alice) -> None:
    turn_on(alice)
    assert log_in(api, device).status_code == 200


def test_a_passkey_of_an_authenticator_that_does_not_count_signs_in_each_time(device, api) -> None:
    for _time in range(2):
        device.count = -1
        assert log_in(api, device).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://evil.example"},
        {"origin": "https://localhost:8000"},
        {"rp_id": "evil.example"},
        {"flags": passkey_device.PRESENT},
        {"flags": passkey_device.VERIFIED},
        {"id": b"unknown"},
        {"handle": (1).to_bytes(8)},
        {"key": Device().key},
    ],
)
def test_an_answer_for_another_site_key_or_person_is_refused(wrong, device, api) -> None:
    vars(device).update(wrong)
    assert_refused(log_in(api, device))
    assert Passkey.objects.get().last_used is None


def test_a_challenge_of_somebody_else_signs_nobody_in(device, api) -> None:
    given = options(api)
    assert_refused(send(api, device.get(given | {"challenge": "AAAA"})))
    assert_refused(send(api, device.get(given | {"challenge": passkey_device.text(b"x" * 56)})))
    assert_refused(send(APIClient(), device.get(given)))
    stranger = APIClient()
    options(stranger)
    assert_refused(send(stranger, device.get(given)))
    assert send(api, device.get(given)).status_code == 200


def test_a_challenge_to_add_a_passkey_signs_nobody_in(device, hers, api) -> None:
    options(api)
    assert_refused(send(api, device.get(options_to_add(hers))))


def test_an_answer_works_once(device, api) -> None:
    credential = device.get(options(api))
    assert send(api, credential).status_code == 200
    Passkey.objects.update(sign_count=0)
    assert_refused(send(api, credential))


def test_of_many_equal_answers_at_once_one_signs_in(device, api, alice, transactional_db) -> None:
    device.count = -1  # it does not count, so the challenge alone decides
    credential, cookies = device.get(options(api)), dict(api.cookies)

    def one() -> int:
        client = APIClient()
        client.cookies.update(cookies)
        return send(client, credential).status_code

    assert sorted(at_once([one] * 4)) == [200, 401, 401, 401]


def test_a_challenge_lasts_five_minutes(device, api, monkeypatch) -> None:
    given, now = options(api), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 301)
    assert_refused(send(api, device.get(given)))


def test_a_counter_that_goes_back_is_refused_and_reported(make_user, api_for, api, deliver) -> None:
    bobby, device = make_user("bobby1", email="bobby@example.org"), Device()
    add(api_for(bobby), device)
    device.count = 5
    assert log_in(api, device).status_code == 200
    device.count = 5
    assert_refused(log_in(api, device))
    assert "have copied its passkey" in deliver()[-1].body
    assert AuditEntry.objects.filter(action="passkey_copy").count() == 1
    assert Passkey.objects.get().sign_count == 6


def test_a_removed_passkey_signs_nobody_in(device, api, hers) -> None:
    hers.delete(f"{API}/{Passkey.objects.get().pk}")
    assert_refused(log_in(api, device))


def test_who_may_not_log_in_learns_why_after_a_right_answer_only(device, api, alice) -> None:
    actions.suspend(alice)
    assert log_in(api, device).json()["error"] == "SUSPENDED"
    right = device.key
    device.key = Device().key
    assert_refused(log_in(api, device))
    device.key = right
    actions.ban(alice)
    assert log_in(api, device).json()["error"] == "USER_BANNED"


def test_a_closed_account_is_not_entered_but_offered(device, api, alice, settings) -> None:
    settings.CLOSE_GRACE_DAYS = 3
    actions.close(alice, PASSWORD)
    assert log_in(api, device).json()["error"] == "ACCOUNT_CLOSING"


# --- a closed account -----------------------------------------------------------------------------
@pytest.fixture
def closed(device: Device, alice: User, settings: Any) -> User:
    """Alice, who has a passkey, and closed her account."""
    settings.CLOSE_GRACE_DAYS = 3
    actions.close(alice, PASSWORD)
    return alice


def reopen(client: APIClient, credential: Any) -> Any:
    return client.post("/api/v1/auth/reopen", {"credential": credential}, format="json")


def is_open(user: User) -> bool:
    user.refresh_from_db()
    return user.deleted_at is None


def test_a_passkey_opens_a_closed_account_again(closed, device, api) -> None:
    refused = device.get(options(api))
    assert send(api, refused).json()["error"] == "ACCOUNT_CLOSING"
    assert_refused(reopen(api, refused))  # its challenge is used
    answer = reopen(api, device.get(options(api)))
    assert (answer.status_code, answer.json()["user"]["username"]) == (200, "alice1")
    assert is_open(closed)
    assert AuditEntry.objects.filter(action="reopen", actor=closed).count() == 1
    # An open account is signed in only.
    assert reopen(api, device.get(options(api))).status_code == 200
    assert AuditEntry.objects.filter(action="reopen").count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://evil.example"},
        {"flags": passkey_device.PRESENT},
        {"id": b"unknown"},
        {"key": Device().key},
        {"handle": (1).to_bytes(8)},
    ],
)
def test_a_wrong_answer_opens_nothing(wrong, closed, device, api) -> None:
    vars(device).update(wrong)
    assert_refused(reopen(api, device.get(options(api))))
    assert not is_open(closed)


def test_a_copy_or_a_foreign_challenge_opens_nothing(closed, device, api) -> None:
    stranger = APIClient()
    options(api)
    assert_refused(reopen(api, device.get(options(stranger))))
    device.count = 0
    Passkey.objects.update(sign_count=5)
    assert_refused(reopen(api, device.get(options(api))))
    assert not is_open(closed)
    assert AuditEntry.objects.filter(action="passkey_copy").count() == 1


def test_the_passkey_of_another_opens_their_account_only(
    closed, device, api, api_for, other
) -> None:
    foreign = Device()
    add(api_for(other), foreign)
    answer = reopen(api, foreign.get(options(api)))
    assert answer.json()["user"]["username"] == other.username
    assert not is_open(closed)


def test_staff_keep_out_whoever_closed_the_account(closed, device, api) -> None:
    actions.suspend(closed)
    assert reopen(api, device.get(options(api))).json()["error"] == "SUSPENDED"
    assert not is_open(closed)


def test_after_the_days_a_passkey_opens_nothing(closed, device, api) -> None:
    Closing.objects.update(erase_at=timezone.now() - timedelta(seconds=1))
    answer = reopen(api, device.get(options(api)))
    assert answer.status_code == 401
    assert not is_open(closed)


@pytest.mark.parametrize("broken", [None, "text", [], {}, {"id": 1}])
def test_what_is_no_answer_opens_nothing(broken, closed, api) -> None:
    options(api)
    assert reopen(api, broken).status_code == 400
    for body in (5, "credential", ["credential"]):
        assert api.post("/api/v1/auth/reopen", body, format="json").status_code == 400
    assert not is_open(closed)


@pytest.mark.parametrize(
    "broken",
    [
        None,
        "text",
        [],
        {},
        {"id": 1, "rawId": [], "type": {}, "response": "x"},
        {"id": "a", "rawId": "a", "type": "public-key", "response": {}},
        {"id": "a", "rawId": "a", "type": "other", "response": {"clientDataJSON": "e30"}},
    ],
)
def test_what_is_no_answer_is_bad_input(broken, api, hers) -> None:
    options(api)
    assert send(api, broken).status_code == 400
    assert hers.post(API, {"credential": broken}, format="json").status_code == 400


@pytest.mark.parametrize(
    "part", ["", "é", "e30", "AAAA", "W1tb" * 1000, passkey_device.text(b"[" * 5000), "A" * 99_999]
)
@pytest.mark.parametrize("name", ["clientDataJSON", "authenticatorData", "signature", "userHandle"])
def test_nonsense_in_a_part_is_refused(name, part, device, api) -> None:
    credential = device.get(options(api))
    credential["response"][name] = part
    refused = (name, part) != ("userHandle", "")
    assert send(api, credential).status_code in ((400, 401) if refused else (200, 400))


@pytest.mark.parametrize("part", ["", "e30", passkey_device.text(b"\x81" * 5000), "A" * 99_999])
def test_nonsense_in_a_statement_is_refused(part, hers) -> None:
    credential = Device().create(options_to_add(hers))
    credential["response"]["attestationObject"] = part
    answer = hers.post(API, {"credential": credential}, format="json")
    assert answer.status_code in (400, 401)


@pytest.mark.parametrize(
    ("address", "available", "origin"),
    [
        ("https://site.example", True, "https://site.example"),
        ("https://Site.example:443", True, "https://site.example"),
        ("https://site.example:8443", True, "https://site.example:8443"),
        ("http://localhost:8000", True, "http://localhost:8000"),
        ("http://site.example", False, None),
        ("http://127.0.0.1:8000", False, None),
        ("https://[::1]", False, None),
    ],
)
def test_passkeys_need_https_and_a_name(address, available, origin, settings, api) -> None:
    settings.SITE_URL = address
    assert passkeys.is_available() is available
    assert api.post(f"{API}/login-options").status_code == (200 if available else 400)
    assert origin is None or passkeys.origin() == origin


# --- under the lock -----------------------------------------------------------------------------
def test_what_changes_between_check_and_log_in_counts(device, alice) -> None:
    row = Passkey.objects.get()
    proof = Proof(alice.password, code=True, passkey=row.pk)
    actions.sign_in(alice, "ios", proof=proof)
    actions.ban(alice)
    with pytest.raises(UserBanned):
        actions.sign_in(alice, "ios", proof=proof)
    actions.unban(alice)
    actions.remove_passkey(alice, row.pk)
    with pytest.raises(PasskeyRefused):
        actions.sign_in(alice, "ios", proof=proof)
    actions.set_password(alice, "other.pass1")
    with pytest.raises(PasswordNotCorrected):
        actions.sign_in(alice, "ios", proof=proof)


def test_a_log_in_and_a_removal_at_once_leave_no_way_in(device, alice, transactional_db) -> None:
    row = Passkey.objects.get()
    proof = Proof(alice.password, code=True, passkey=row.pk)
    entered, removed = at_once(
        [
            lambda: actions.sign_in(alice, "ios", proof=proof),
            lambda: actions.remove_passkey(alice, row.pk),
        ]
    )
    assert removed is None
    assert isinstance(entered, tuple | PasskeyRefused)
    with pytest.raises(PasskeyRefused):
        actions.sign_in(alice, "ios", proof=proof)


# --- pages --------------------------------------------------------------------------------------
def enter(client: Client, device: Device, **more: str) -> Any:
    credential = json.dumps(device.get(options(client)))
    return client.post("/login/passkey", {"credential": credential} | more)


def part_of(page: Any, name: str) -> str:
    """Return the ticket of a page, or the options for the browser; empty if there is none."""
    wanted = {"ticket": r'name="ticket" value="([^"]+)"', "options": r'data-options="([^"]+)"'}
    found = re.search(wanted[name], page.content.decode())
    return html.unescape(found[1]) if found else ""


def test_the_page_signs_in_and_leads_on(device, client) -> None:
    assert b"js/passkeys." in client.get("/login").content
    answer = enter(client, device, next="/bookmarks")
    assert (answer.status_code, answer["Location"]) == (303, "/bookmarks")
    assert client.get(PAGE).status_code == 200


def test_the_page_says_why_it_refuses(device, client, alice) -> None:
    answer = client.post("/login/passkey", {"credential": "[" * 9999})
    assert answer.status_code == 400
    device.flags = passkey_device.PRESENT
    refused = enter(client, device)
    assert refused.status_code == 401
    assert "This passkey does not work here." in refused.content.decode()
    device.flags = passkey_device.GOOD
    actions.ban(alice)
    assert enter(client, device).status_code == 403


def test_a_closed_account_is_taken_back_by_passkey(device, client, alice, settings) -> None:
    settings.CLOSE_GRACE_DAYS = 3
    actions.close(alice, PASSWORD)
    ticket = part_of(enter(client, device), "ticket")
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 303
    alice.refresh_from_db()
    assert alice.deleted_at is None


def test_a_ticket_to_take_an_account_back_dies_with_its_passkey(
    device, client, alice, settings
) -> None:
    settings.CLOSE_GRACE_DAYS = 3
    actions.close(alice, PASSWORD)
    ticket = part_of(enter(client, device), "ticket")
    actions.reset_two_factor(alice)
    assert client.post("/login/reopen", {"ticket": ticket}).status_code == 401


def at_code(client: Client) -> tuple[str, dict[str, Any]]:
    shown = client.post("/login", {"username": "alice1", "password": PASSWORD})
    return part_of(shown, "ticket"), json.loads(part_of(shown, "options") or "{}")


def test_a_passkey_does_in_place_of_the_code(device, client, alice) -> None:
    turn_on(alice)
    ticket, given = at_code(client)
    assert [one["id"] for one in given["allowCredentials"]] == [passkey_device.text(device.id)]
    body = {"ticket": ticket, "credential": json.dumps(device.get(given))}
    assert client.post("/login/code", body).status_code == 303


def test_a_passkey_in_place_of_the_code_takes_a_closed_account_back(
    device, client, alice, settings
) -> None:
    settings.CLOSE_GRACE_DAYS = 3
    app = turn_on(alice)
    actions.close(alice, PASSWORD, app.code())

    def offered() -> str:
        ticket, given = at_code(client)
        body = {"ticket": ticket, "credential": json.dumps(device.get(given))}
        return part_of(client.post("/login/code", body), "ticket")

    dying = offered()
    row = Passkey.objects.get()
    Passkey.objects.all().delete()
    assert client.post("/login/reopen", {"ticket": dying}).status_code == 401
    assert not is_open(alice)
    row.save(force_insert=True)
    assert client.post("/login/reopen", {"ticket": offered()}).status_code == 303
    assert is_open(alice)


def test_who_has_no_passkey_is_offered_none(client, alice) -> None:
    turn_on(alice)
    assert at_code(client)[1] == {}


def test_the_passkey_of_another_person_does_not_do_as_the_code(
    device, client, alice, other, api_for
) -> None:
    turn_on(alice)
    foreign = Device()
    add(api_for(other), foreign)
    ticket, given = at_code(client)
    body = {"ticket": ticket, "credential": json.dumps(foreign.get(given))}
    assert client.post("/login/code", body).status_code == 401
    # Nor does an answer to the challenge of the log-in without a password.
    body["credential"] = json.dumps(device.get(options(client)))
    assert client.post("/login/code", body).status_code == 401


def test_the_settings_list_passkeys_and_remove_them(browser, device) -> None:
    row = Passkey.objects.get()
    assert "Phone" in browser.get(PAGE).content.decode()
    answer = browser.post(f"{PAGE}/passkeys", {"passkey": str(row.pk)})
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert not Passkey.objects.exists()


def test_the_settings_ask_for_the_password_after_a_while(browser, device, alice) -> None:
    make_stale(alice)
    row = Passkey.objects.get()
    answer = browser.post(f"{PAGE}/passkeys", {"passkey": str(row.pk)})
    assert answer["Location"].startswith("/settings/prove?next=")
    assert Passkey.objects.exists()
    assert 'data-passkey="add"' not in browser.get(PAGE).content.decode()


# --- what becomes of them -----------------------------------------------------------------------
def test_passkeys_outlive_a_new_password(device, api, alice) -> None:
    actions.set_password(alice, "other.pass1")
    assert log_in(api, device).status_code == 200


def test_a_reset_removes_codes_and_passkeys(device, alice) -> None:
    call_command("reset_second_factor", "alice1")
    assert not Passkey.objects.exists()
    assert AuditEntry.objects.filter(action="otp_reset").exists()


def test_a_passkey_alone_is_not_the_second_factor_of_staff(device, alice, settings) -> None:
    settings.STAFF_TOTP = True
    alice.roles = Role.ADMIN
    assert two_factor.is_missing(alice)


def test_the_archive_has_names_and_times_and_no_keys(device, alice) -> None:
    (found,) = exports.PASSKEYS.read(alice.pk)
    assert found.keys() == {"name", "created_at", "last_used"} == exports.PASSKEYS.fields.keys()
