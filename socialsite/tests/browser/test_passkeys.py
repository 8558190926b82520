"""Passkeys in Chromium with a virtual authenticator: added, used for each log-in, removed."""

import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django_otp.oath import TOTP
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import PASSWORD, at_home, newcomer

pytestmark = [pytest.mark.e2e, stacks.WHOLE_CHROMIUM]

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def named_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site at `localhost`: browsers have no passkeys for IP addresses."""
    with stacks.embedded(tmp_path_factory.mktemp("named"), HOST="localhost") as url:
        yield url.replace("127.0.0.1", "localhost")


def authenticator(page: Page) -> Any:
    """Plug a device into the browser of a page; returns a function that changes it."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    ident = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})

    def change(command: str, **values: Any) -> Any:
        return session.send(f"WebAuthn.{command}", ident | values)

    return change


def add_passkey(page: Page, name: str) -> None:
    page.goto("/settings/two-factor")
    page.get_by_label("Name of the passkey").fill(name)
    page.get_by_test_id("add-passkey").click()
    expect(page.get_by_test_id("passkey").filter(has_text=name)).to_be_visible()


def log_out(page: Page) -> None:
    page.context.clear_cookies()
    page.goto("/login")


def test_a_passkey_is_added_logs_in_and_is_removed(named_site: str, browser: Browser) -> None:
    page = newcomer(browser, named_site, "keyholder", "Keyholder")
    change = authenticator(page)
    add_passkey(page, "My laptop")
    log_out(page)

    change("setUserVerified", isUserVerified=False)
    page.get_by_test_id("passkey-login").click()
    expect(page.get_by_text("The browser gave no passkey.")).to_be_visible()
    change("setUserVerified", isUserVerified=True)
    page.get_by_test_id("passkey-login").click()
    at_home(page)

    page.goto("/settings/two-factor")
    page.get_by_test_id("rename-passkey").click()
    page.get_by_label("New name").fill("My tablet")
    page.get_by_test_id("save-name").click()
    expect(page.get_by_test_id("passkey").filter(has_text="My tablet")).to_be_visible()

    page.get_by_test_id("remove-passkey").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_test_id("passkey")).to_have_count(0)
    log_out(page)
    page.get_by_test_id("passkey-login").click()
    expect(page.get_by_text("This passkey does not work here.")).to_be_visible()


def test_a_passkey_replaces_the_code(named_site: str, browser: Browser) -> None:
    page = newcomer(browser, named_site, "codeless", "Codeless")
    authenticator(page)
    add_passkey(page, "My phone")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_test_id("set-up").click()
    secret = page.get_by_test_id("secret").inner_text()
    page.get_by_label("Code").fill(f"{TOTP(base64.b32decode(secret)).token():06d}")
    page.get_by_test_id("confirm").click()
    expect(page.get_by_test_id("recovery-codes")).to_be_visible()
    log_out(page)

    page.get_by_label("Username").fill("codeless")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_test_id("login").click()
    page.get_by_test_id("passkey-code").click()
    at_home(page)


def test_a_passkey_proves_who_uses_the_device(named_site: str, browser: Browser) -> None:
    page = newcomer(browser, named_site, "provenkey", "Provenkey")
    change = authenticator(page)
    page.goto("/settings/prove")
    expect(page.get_by_test_id("prove-passkey")).to_have_count(0)
    add_passkey(page, "My phone")

    page.goto("/settings/prove?next=/settings/devices")
    change("setUserVerified", isUserVerified=False)
    page.get_by_test_id("prove-passkey").click()
    expect(page.get_by_text("The browser gave no passkey.")).to_be_visible()
    change("setUserVerified", isUserVerified=True)
    page.get_by_test_id("prove-passkey").click()
    expect(page).to_have_url(re.compile("/settings/devices$"))

    # Without scripts the password does.
    state = page.context.storage_state()
    plain = browser.new_context(
        base_url=named_site, storage_state=state, java_script_enabled=False, locale="en"
    ).new_page()
    plain.goto("/settings/prove?next=/settings/devices")
    expect(plain.get_by_test_id("prove-passkey")).to_be_attached()
    expect(plain.get_by_test_id("prove-passkey")).to_be_hidden()
    plain.get_by_label("Your password").fill(PASSWORD)
    plain.get_by_test_id("prove").click()
    expect(plain).to_have_url(re.compile("/settings/devices$"))
    plain.context.close()


def test_a_passkey_opens_a_closed_account_again(named_site: str, browser: Browser) -> None:
    page = newcomer(browser, named_site, "returnedkey", "Returnedkey")
    authenticator(page)
    add_passkey(page, "My phone")
    page.goto("/settings/close")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_test_id("close-account").click()
    expect(page).to_have_url(re.compile("/login/closed"))

    page.goto("/login")
    page.get_by_test_id("passkey-login").click()
    page.get_by_test_id("reopen").click()
    at_home(page)


def test_without_scripts_the_password_works_and_no_passkey_is_offered(
    named_site: str, browser: Browser
) -> None:
    page = newcomer(browser, named_site, "plainkey", "Plainkey", java_script_enabled=False)
    log_out(page)
    expect(page.get_by_test_id("passkey-login")).to_be_hidden()
    page.get_by_label("Username").fill("plainkey")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_test_id("login").click()
    expect(page).not_to_have_url(re.compile("/login"))
