"""A passkey shows who uses a device that signed in a while ago, in place of password and code."""

import json
import time
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts import actions
from accounts.actions import Proof
from accounts.models import AuditEntry, Passkey, User
from accounts.tests.sign_in import passkey_device
from accounts.tests.sign_in.passkey_api import (
    API,
    PASSWORD,
    add,
    assert_refused,
    make_stale,
    options,
    options_to_add,
    turn_on,
)
from accounts.tests.sign_in.passkey_device import Device
from relations.tests.helpers import at_once
from socialsite.core.errors import BannedAccessToken, PasskeyRefused, UserBanned

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_localhost")]

PAGE = "/settings/prove"
LISTED = "/settings/two-factor"


@pytest.fixture
def device(hers: APIClient, alice: User) -> Device:
    """A device with a passkey of alice, who logged in a while ago."""
    found = Device()
    assert add(hers, found).status_code == 201
    make_stale(alice)
    return found


def asked(client: Any) -> dict[str, Any]:
    answer = client.post(f"{API}/prove-options", {}, content_type="application/json")
    return answer.json()["publicKey"]


def options_to_prove(client: APIClient) -> dict[str, Any]:
    return client.post(f"{API}/prove-options", {}, format="json").json()["publicKey"]


def prove(client: APIClient, credential: Any) -> Any:
    return client.post(f"{API}/options", {"credential": credential}, format="json")


def is_stale(client: APIClient) -> bool:
    answer = client.post(f"{API}/options", {}, format="json")
    return answer.json().get("error") == "FRESH_LOGIN_NEEDED"


# --- API ----------------------------------------------------------------------------------------
def test_a_passkey_makes_a_device_fresh(hers, device, alice, api_for) -> None:
    elsewhere = api_for(alice, "ios")
    make_stale(alice)
    given = options_to_prove(hers)
    assert given["userVerification"] == "required"
    assert [one["id"] for one in given["allowCredentials"]] == [passkey_device.text(device.id)]
    assert is_stale(hers)
    assert prove(hers, device.get(given)).status_code == 200
    assert not is_stale(hers)
    assert is_stale(elsewhere)
    assert Passkey.objects.get().last_used is not None


def test_a_passkey_does_without_the_code_too(device, alice, api_for) -> None:
    turn_on(alice)
    client = api_for(alice, "linux")
    make_stale(alice)
    assert prove(client, device.get(options_to_prove(client))).status_code == 200


def test_a_passkey_allows_a_removal(hers, device) -> None:
    url, credential = f"{API}/{Passkey.objects.get().pk}", device.get(options_to_prove(hers))
    assert hers.delete(url, {"credential": credential}, format="json").status_code == 204


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "http://evil.example"},
        {"rp_id": "evil.example"},
        {"flags": passkey_device.PRESENT},
        {"flags": passkey_device.VERIFIED},
        {"id": b"unknown"},
        {"handle": (1).to_bytes(8)},
        {"key": Device().key},
    ],
)
def test_an_answer_for_another_site_or_without_its_user_proves_nothing(wrong, hers, device) -> None:
    vars(device).update(wrong)
    assert_refused(prove(hers, device.get(options_to_prove(hers))))
    assert is_stale(hers)


def test_the_passkey_of_another_person_proves_nothing(hers, device, api_for, other) -> None:
    foreign = Device()
    add(api_for(other), foreign)
    assert_refused(prove(hers, foreign.get(options_to_prove(hers))))
    assert is_stale(hers)
    assert Passkey.objects.get(user=other).last_used is None


def test_an_answer_proves_once(hers, device, alice) -> None:
    device.count = -1  # it does not count, so the challenge alone decides
    credential = device.get(options_to_prove(hers))
    assert prove(hers, credential).status_code == 200
    make_stale(alice)
    assert_refused(prove(hers, credential))
    assert is_stale(hers)


def test_a_challenge_is_for_one_sign_in_and_one_purpose(
    hers, device, alice, api_for, api, other
) -> None:
    theirs, elsewhere = api_for(other), api_for(alice, "ios")
    make_stale(alice)
    for given in (
        options(api),
        options_to_prove(theirs),
        options_to_prove(elsewhere),
        {"challenge": passkey_device.text(b"x" * 56)},
    ):
        assert_refused(prove(hers, device.get(given)))
    make_stale(other)
    assert_refused(prove(theirs, device.get(options_to_prove(hers))))
    actions.prove(alice, "linux", PASSWORD)
    given = options_to_add(hers)
    make_stale(alice)
    assert_refused(prove(hers, device.get(given)))
    assert is_stale(hers)
    # Nor does it log anybody in.
    options(api)
    body = {"credential": device.get(options_to_prove(hers))}
    assert_refused(api.post(f"{API}/login", body, format="json"))


def test_a_challenge_of_an_ended_sign_in_proves_nothing(hers, device, alice, api_for) -> None:
    given = options_to_prove(hers)
    actions.kick(alice, "linux")
    again = api_for(alice, "linux")
    make_stale(alice)
    assert_refused(prove(again, device.get(given)))


def test_a_challenge_to_prove_lasts_five_minutes(hers, device, monkeypatch) -> None:
    given, now = options_to_prove(hers), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 301)
    assert_refused(prove(hers, device.get(given)))


def test_a_copy_proves_nothing_and_is_reported(hers, device, alice) -> None:
    device.count = 5
    assert prove(hers, device.get(options_to_prove(hers))).status_code == 200
    make_stale(alice)
    device.count = 5
    assert_refused(prove(hers, device.get(options_to_prove(hers))))
    assert is_stale(hers)
    assert AuditEntry.objects.filter(action="passkey_copy").count() == 1


@pytest.mark.parametrize("broken", ["text", [], {}, {"id": "a"}, {"response": {}}])
def test_what_is_no_answer_of_a_passkey_is_bad_input(broken, hers, device) -> None:
    assert prove(hers, broken).status_code == 400
    assert is_stale(hers)


def test_options_to_prove_need_somebody_signed_in(api, hers, settings) -> None:
    assert api.post(f"{API}/prove-options", {}, format="json").status_code == 401
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert hers.post(f"{API}/prove-options", {}, format="json").status_code == 400


# --- under the lock -----------------------------------------------------------------------------
def test_what_changes_between_check_and_proof_counts(hers, device, alice) -> None:
    row = Passkey.objects.get()
    proof = Proof(alice.password, code=True, passkey=row.pk)
    actions.ban(alice)
    with pytest.raises((UserBanned, BannedAccessToken)):
        actions.prove_by_passkey(alice, "linux", proof)
    actions.unban(alice)
    with pytest.raises(BannedAccessToken):
        actions.prove_by_passkey(alice, "linux", proof)
    actions.sign_in(alice, "linux")
    make_stale(alice)
    actions.remove_passkey(alice, row.pk)
    with pytest.raises(PasskeyRefused):
        actions.prove_by_passkey(alice, "linux", proof)


def test_of_many_equal_answers_at_once_one_proves(hers, device, transactional_db) -> None:
    device.count = -1
    credential = device.get(options_to_prove(hers))
    url = f"{API}/999"
    body = {"credential": credential}
    statuses = at_once([lambda: hers.delete(url, body, format="json").status_code] * 4)
    assert sorted(statuses) == [401, 401, 401, 404]


# --- pages --------------------------------------------------------------------------------------
def send(browser: Client, credential: Any, **more: str) -> Any:
    return browser.post(PAGE, {"credential": json.dumps(credential)} | more)


def test_the_page_takes_a_passkey_and_leads_on(browser, device, alice) -> None:
    make_stale(alice)
    assert 'data-testid="prove-passkey"' in browser.get(PAGE).content.decode()
    assert 'data-passkey="add"' not in browser.get(LISTED).content.decode()
    answer = send(browser, device.get(asked(browser)), next=LISTED)
    assert (answer.status_code, answer["Location"]) == (303, LISTED)
    assert 'data-passkey="add"' in browser.get(LISTED).content.decode()


def test_the_page_refuses_a_passkey_and_says_so(browser, device, alice, api_for, other) -> None:
    make_stale(alice)
    foreign = Device()
    add(api_for(other), foreign)
    used = device.get(asked(browser))
    assert send(browser, used).status_code == 303
    make_stale(alice)
    for wrong in (foreign.get(asked(browser)), used):
        answer = send(browser, wrong)
        assert answer.status_code == 401
        assert "This passkey does not work here." in answer.content.decode()
    for broken in ('"x"', "[]", '{"id": 1}', "["):
        answer = browser.post(PAGE, {"credential": broken})
        assert answer.status_code == 400
        assert 'id="err-all"' in answer.content.decode()
    assert 'data-passkey="add"' not in browser.get(LISTED).content.decode()


def test_the_password_does_as_before(browser, device, alice) -> None:
    make_stale(alice)
    assert browser.post(PAGE, {"password": "wrong.pass1"}).status_code == 401
    answer = browser.post(PAGE, {"password": PASSWORD, "next": LISTED})
    assert (answer.status_code, answer["Location"]) == (303, LISTED)


def test_the_page_offers_no_passkey_to_who_has_none(browser, alice, settings, api_for) -> None:
    assert "prove-passkey" not in browser.get(PAGE).content.decode()
    add(api_for(alice, "linux"), Device())
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert "prove-passkey" not in browser.get(PAGE).content.decode()
