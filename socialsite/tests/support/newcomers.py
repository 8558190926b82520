"""People who have just signed up, each in a browser of their own."""

from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from socialsite.tests.support.forms import csrf_token

PASSWORD = "right.pass1"


def newcomer(browser: Browser, site: str, username: str, nickname: str, **options: Any) -> Page:
    """Sign a person up in a new browser and show Home; a script error or a CSP violation fails.

    `options` are Playwright's options of the browser's context. The form is sent without its page:
    `test_story` and `test_first_walk` fill it in.
    """
    page = watched(browser.new_context(base_url=site, locale="en", **options))
    sign_up(page.context, username, nickname)
    page.goto("/")
    at_home(page)
    return page


def watched(context: BrowserContext) -> Page:
    """Open a page in which a script error or a violation of the content policy fails the test."""
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
    page.on(
        "console",
        lambda message: (
            pytest.fail(f"console: {message.text}")
            if "Content Security Policy" in message.text
            else None
        ),
    )
    return page


def sign_up(context: BrowserContext, username: str, nickname: str) -> str:
    """Send the form of the sign-up, and return the address of the page that follows.

    The context has the cookies of the new person afterwards.
    """
    form: dict[str, str | float | bool] = {
        "csrfmiddlewaretoken": csrf_token(context.request.get("/register").text()),
        "username": username,
        "nickname": nickname,
        "password": PASSWORD,
    }
    answer = context.request.post("/register", form=form, max_redirects=0)
    assert answer.status in (302, 303), answer.text()
    return answer.headers["location"]


def at_home(page: Page) -> None:
    """Wait until Home can be used."""
    expect(page.get_by_test_id("composer")).to_be_visible()
    # The scripts of the page, which come last, listen now.
    page.wait_for_load_state()
