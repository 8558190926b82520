"""A person closes the account and takes it back, with and without scripts."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.browser.composing import composer
from socialsite.tests.support.newcomers import PASSWORD, at_home, newcomer


def fits(page: Page) -> None:
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


def log_in(page: Page, name: str) -> None:
    page.goto("/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_test_id("login").click()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_closed_account_is_gone_and_comes_back_by_the_log_in(
    stack: Stack, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    name, words = f"leaver{kind}", f"The last swallow left, {kind}"
    leaver = newcomer(browser, stack.url, name, name, java_script_enabled=script)
    fan = newcomer(browser, stack.url, f"stayer{kind}", "Stayer", java_script_enabled=script)
    composer(leaver).fill(words)
    leaver.get_by_test_id("publish").click()
    expect(leaver.get_by_test_id("post").filter(has_text=words)).to_be_visible()
    fan.goto(f"/@{name}")
    fan.get_by_test_id("follow").click()
    fan.goto("/")
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_be_visible()

    leaver.goto("/settings/password")
    leaver.get_by_test_id("to-close").click()
    expect(leaver.get_by_text("After 14 days everything is erased")).to_be_visible()
    fits(leaver)
    leaver.get_by_label("Your password").fill("wrong.pass1")
    leaver.get_by_test_id("close-account").click()
    expect(leaver.get_by_text("This is not your password.")).to_be_visible()
    leaver.get_by_label("Your password").fill(PASSWORD)
    leaver.get_by_test_id("close-account").click()
    expect(leaver.get_by_role("heading", name="Your account is closed")).to_be_visible()
    expect(leaver.get_by_text("Everything will be erased on:")).to_be_visible()
    fits(leaver)
    leaver.goto("/settings/password")
    expect(leaver).to_have_url(re.compile("/login"))

    fan.goto("/")
    expect(fan.get_by_test_id("composer")).to_be_visible()
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_have_count(0)
    answer = fan.goto(f"/@{name}")
    assert answer is not None
    assert answer.status == 404

    log_in(leaver, name)
    expect(leaver.get_by_role("heading", name="Your account is closed")).to_be_visible()
    fits(leaver)
    leaver.get_by_test_id("reopen").click()
    at_home(leaver)
    expect(leaver.get_by_test_id("post").filter(has_text=words)).to_be_visible()
    fan.goto("/")
    expect(fan.get_by_test_id("post").filter(has_text=words)).to_be_visible()
