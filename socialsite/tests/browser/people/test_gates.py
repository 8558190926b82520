"""Pages on the way in: log-in, sign-up, recovery; what a signed-out person reads there."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.kicking import (
    FIREFOX,
    PASSWORD,
    Member,
    contrast,
    seconds_until_notice,
)

pytestmark = pytest.mark.e2e

NEW = "left.pass2"
PAGES = ("/login", "/register", "/recover", "/recover?sent", "/recover?done", "/email/x")
PHONE: Any = {"width": 390, "height": 760}


@pytest.fixture
def url(embedded_site: str) -> str:
    return embedded_site


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.get_by_test_id("login").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_who_was_kicked_reads_why_and_finds_the_way_to_a_new_password(
    theme: Any, url: str, browser: Browser
) -> None:
    member = Member(url, f"kicked{theme}")
    member.log_in()
    context = member.browser(browser, color_scheme=theme)
    page = member.open(context)
    seconds_until_notice(page, member.log_in())
    for text in ("#notice", ".not-you:not([hidden]) a", ".gate-card h1", ".gate-head p"):
        assert contrast(page.locator(text)) >= 4.5, text
    expect(page.locator(".not-you:visible")).to_have_count(1)
    page.get_by_role("link", name="Change your password").click()
    expect(page.locator(".gate-lead")).to_contain_text("choose a new password")
    log_in(page, member.username)
    page.wait_for_url("**/settings/password")
    context.close()


def test_whose_password_was_changed_finds_the_way_to_recover_it(url: str, browser: Browser) -> None:
    """By a live page, and on the first page of the next day."""
    member = Member(url, "changed1")
    for live in (True, False):
        member.log_in("firefox", FIREFOX)
        elsewhere = member.browser(browser, user_agent=FIREFOX)
        firefox = member.open(elsewhere)
        if not live:
            firefox.goto("about:blank")
        member.log_in()
        old, new = (PASSWORD, NEW) if live else (NEW, PASSWORD)
        mine = stacks.Client(url)
        mine.token = member.pair["access"]
        mine("POST", "auth/password", old_password=old, new_password=new)
        if live:
            seconds_until_notice(firefox, 0)
            member.password = NEW
        else:
            firefox.goto("/search")
            expect(firefox.locator(".notice")).to_contain_text("password was changed")
        expect(firefox.locator(".not-you:visible")).to_have_count(1)
        firefox.get_by_role("link", name="Set a new password by e-mail").click()
        firefox.wait_for_url("**/recover")
        elsewhere.close()


@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_gates_are_pages_of_their_own(locale: str, url: str, browser: Browser) -> None:
    context = browser.new_context(
        base_url=url, locale=locale, viewport={"width": 320, "height": 640}
    )
    page = context.new_page()
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        expect(page.locator("main.gate-card")).to_be_visible()
        expect(page.locator(".brand")).to_have_text("socialsite")
        expect(page.locator("nav, aside")).to_have_count(0)
        expect(page.locator(".menu-languages button")).to_have_count(2)
    context.close()


def test_a_password_is_shown_and_hidden_by_its_button(url: str, browser: Browser) -> None:
    context = browser.new_context(base_url=url, locale="en")
    page = context.new_page()
    page.goto("/register")
    field, button = page.locator("input[name=password]"), page.locator("[data-reveal]")
    field.fill("my.pass12")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    for shown in (True, False, True):
        page.keyboard.press("Space")
        expect(button).to_have_attribute("aria-pressed", str(shown).lower())
        expect(field).to_have_attribute("type", "text" if shown else "password")
    expect(button).to_have_accessible_name("Show password")
    page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    page.fill("input[name=username]", "shower1")
    page.fill("input[name=nickname]", "shower")
    page.get_by_test_id("register").click()
    expect(field).to_have_attribute("type", "password")
    context.close()
    plain = browser.new_context(base_url=url, java_script_enabled=False)
    page = plain.new_page()
    page.goto("/login")
    expect(page.locator("[data-reveal]")).to_be_hidden()
    plain.close()


def test_each_refusal_stands_beside_its_field(url: str, browser: Browser) -> None:
    """And what the rules are before somebody types."""
    context = browser.new_context(base_url=url, locale="en", java_script_enabled=False)
    page = context.new_page()
    page.goto("/register")
    for name, rule in (
        ("username", "4 to 16 letters and digits"),
        ("nickname", "4 to 16 Chinese characters, letters and digits"),
        ("password", "letters, digits and @ # $"),
    ):
        described = page.locator(f"input[name={name}]").get_attribute("aria-describedby")
        assert rule in page.locator(f"#{described}").inner_text()
    values = {"username": "admin", "nickname": "1234", "password": "password1", "email": "x@y"}
    page.locator("input[name=email]").evaluate("field => { field.type = 'text' }")
    for name, value in values.items():
        page.fill(f"input[name={name}]", value)
    page.get_by_test_id("register").click()
    for name, words in (
        ("username", "reserved"),
        ("nickname", "digits only"),
        ("password", "too common"),
        ("email", "not an e-mail address"),
    ):
        field = page.locator(f".field:has(input[name={name}])")
        expect(field.locator(".errors")).to_contain_text(words)
        expect(field.locator("input")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("input[name=username]")).to_have_value("admin")
    context.close()


def test_open_menus_close_when_the_focus_leaves_them(url: str, browser: Browser) -> None:
    context = browser.new_context(base_url=url, locale="en", viewport=PHONE)
    page = context.new_page()
    page.goto("/recommended")
    menu, summary = page.locator("details.account"), page.locator("details.account > summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(menu).to_have_attribute("open", "")
    for _ in range(12):
        if page.evaluate("document.activeElement.closest('details.account') === null"):
            break
        expect(menu).to_have_attribute("open", "")
        page.keyboard.press("Tab")
    expect(menu).not_to_have_attribute("open", "")
    summary.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    context.close()
