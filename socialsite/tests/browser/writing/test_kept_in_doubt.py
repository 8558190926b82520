"""Kept texts and pictures in doubtful cases: wrong clocks, two tabs, pictures that do not load."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Route, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import (
    at_home,
    choose,
    composer,
    picture,
    save_draft,
    uploaded,
)
from socialsite.tests.browser.kept_texts import WORDS, kept, open_draft, stored

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

THUMBS = re.compile(r"/media/.*\.(webp|jpe?g|png)$")


def test_a_clock_that_is_slow_loses_no_words(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "doubt1")
    page.add_init_script("const now = Date.now; Date.now = () => now() - 240_000;")
    text = open_draft(page, "/")
    text.fill(WORDS)
    stored(page, 1)
    page.reload()
    expect(composer(page)).to_have_value(WORDS)
    composer(page).fill("x" * 2001)  # refused: these words are kept too
    save_draft(page)
    expect(page.locator("#err-content")).to_be_visible()
    stored(page, 1)
    page.goto(page.url)
    expect(composer(page)).to_have_value("x" * 2001)


def test_an_emptied_form_removes_no_words_of_another_tab(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "doubt2")
    other = page.context.new_page()
    other.goto("/")
    composer(page).fill("of the first tab")
    stored(page, 1)
    composer(other).fill(WORDS)
    kept(other, WORDS)
    composer(page).fill("")
    page.wait_for_timeout(500)
    other.reload()
    expect(composer(other)).to_have_value(WORDS)


def answering(status: int) -> Callable[[Route], None]:
    """Return a handler that answers requests with a status."""
    return lambda route: route.fulfill(status=status)


def test_pictures_that_do_not_load_stay_until_the_person_removes_them(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "doubt3")
    choose(page, picture("a.jpg"))
    uploaded(page, 1)
    page.get_by_label("Describe this picture (a.jpg)").fill("A red one")
    composer(page).fill("with a picture")
    kept(page, "with a picture")
    for status, words in ((503, "could not be shown"), (404, "no longer stored")):
        page.route(THUMBS, answering(status))
        page.reload()
        alert = page.locator(".preview [role=alert]")
        expect(alert).to_contain_text(words)
        uploaded(page, 1)
        expect(page.locator("input[name=images]")).not_to_be_focused()
        page.unroute(THUMBS)
        if status == 503:
            alert.get_by_role("button", name="Try again").click()
            expect(alert).to_have_count(0)
            expect(page.locator(".preview img")).to_have_js_property("naturalWidth", 40)
    # The post waits until the person removes it.
    page.get_by_test_id("publish").click()
    remove = alert.get_by_role("button", name="Remove this picture")
    expect(remove).to_be_focused()
    remove.click()
    expect(page.locator(".preview")).to_have_count(0)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text("with a picture")
