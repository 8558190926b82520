"""Who comes in: an invited person by a link, somebody who asks by the decision of staff."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.support import admin_forms
from socialsite.tests.support.newcomers import PASSWORD, newcomer, watched

ROW = "/admin/core/sitesettings/1/change/"


def choose(page: Page, sign_up: str, question: str = "") -> None:
    page.goto(ROW)
    page.get_by_role("combobox", name="Sign-up").select_option(sign_up)
    page.get_by_label("Question in English").fill(question)
    admin_forms.save(page, "changed")


def fill(page: Page, username: str) -> None:
    page.get_by_label("Username").fill(username)
    page.get_by_label("Name", exact=True).fill(username)
    page.get_by_label("Password", exact=True).fill(PASSWORD)


def fits(page: Page) -> None:
    for width in (320, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(params=[True, False], ids=["script", "plain"])
def guest(request: pytest.FixtureRequest, stack: Stack, browser: Browser) -> Callable[[], Page]:
    def opened() -> Page:
        options = {"base_url": stack.url, "locale": "en", "java_script_enabled": request.param}
        return watched(browser.new_context(**options))

    return opened


def test_a_new_site_and_its_first_invited_member(
    stack: Stack, browser: Browser, guest: Callable[[], Page], request: pytest.FixtureRequest
) -> None:
    kind = request.node.callspec.id.split("@")[0].split("-")[0]
    host, name = f"host{kind}", f"invited{kind}"
    admin = newcomer(browser, stack.url, host, host)
    stack.manage("promote", host, "--role", "admin")
    choose(admin, "invite")
    try:
        page = guest()
        page.goto("/register")
        expect(page.get_by_role("heading", name="Sign-up by invitation")).to_be_visible()
        expect(page.get_by_role("textbox")).to_have_count(0)
        fits(page)

        admin.goto("/settings/devices")
        admin.get_by_role("link", name="Invitations").click()
        admin.get_by_label("For how many people").fill("1")
        admin.get_by_role("button", name="Make a link").click()
        link = admin.get_by_label("Link of the invitation").input_value()
        fits(admin)

        page.goto(link)
        expect(page.get_by_text(f"{host} invites you to")).to_be_visible()
        fits(page)
        fill(page, name)
        page.get_by_role("button", name="Sign up").click()
        expect(page).to_have_url(f"{stack.url}/welcome")
        other = guest()
        other.goto(link)
        expect(other.get_by_text("This invitation is no longer valid")).to_be_visible()

        admin.goto("/settings/invites")
        expect(admin.get_by_role("link", name=name)).to_be_visible()
        expect(admin.get_by_text("1 of 1 uses taken")).to_be_visible()
    finally:
        choose(admin, "")


def test_staff_accept_somebody_who_asks(
    stack: Stack, browser: Browser, guest: Callable[[], Page], request: pytest.FixtureRequest
) -> None:
    kind = request.node.callspec.id.split("@")[0].split("-")[0]
    host, name = f"judge{kind}", f"asker{kind}"
    admin = newcomer(browser, stack.url, host, host)
    stack.manage("promote", host, "--role", "admin")
    choose(admin, "approval", "Which garden is yours?")
    try:
        page = guest()
        page.goto("/login")
        page.get_by_role("link", name="Sign up").click()
        fill(page, name)
        page.get_by_label("Which garden is yours?").fill("The east one.\nWith roses.")
        fits(page)
        page.get_by_role("button", name="Send request").click()
        expect(page.get_by_role("heading", name="Your request is sent")).to_be_visible()
        fits(page)
        page.get_by_role("link", name="To the log-in page").click()

        def log_in() -> None:
            page.get_by_label("Username").fill(name)
            page.get_by_label("Password", exact=True).fill(PASSWORD)
            page.get_by_role("button", name="Log in").click()

        log_in()
        expect(page.get_by_text("we are still looking at your request")).to_be_visible()
        admin.goto("/admin/accounts/signuprequest/")
        admin.get_by_role("row", name=name).get_by_role("link").first.click()
        expect(admin.get_by_text("With roses.")).to_be_visible()
        admin.get_by_role("button", name="Accept").click()
        admin.get_by_role("button", name="Yes, do it").click()
        expect(admin.get_by_text("Done for 1.")).to_be_visible()
        log_in()
        expect(page).to_have_url(f"{stack.url}/")
    finally:
        choose(admin, "")
