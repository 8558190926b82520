"""Names, tags and emoji are chosen in the composer with the keyboard or by a press."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import at_home
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


def test_names_tags_and_emoji_are_completed(site: str, browser: Browser) -> None:
    newcomer(browser, site, "river1", "River")
    newcomer(browser, site, "river2", "River")
    page = at_home(browser, site, "writer1")
    text = page.locator("#id-content")
    text.click()
    text.press_sequentially("Hello @riv")
    options = page.locator("#completions [role=option]")
    expect(options).to_have_count(2)
    marked = page.locator("#completions [aria-selected]")
    first = marked.get_attribute("data-word")
    text.press("ArrowDown")
    assert marked.get_attribute("data-word") != first
    chosen = marked.get_attribute("data-word") or ""
    assert text.get_attribute("aria-activedescendant") == marked.get_attribute("id")
    text.press("Enter")
    expect(text).to_have_value(f"Hello {chosen}")
    expect(options).to_have_count(0)
    text.press_sequentially("@river1")
    expect(options).to_have_count(1)
    text.press("Escape")
    expect(options).to_have_count(0)
    text.press("Backspace")
    expect(options).to_have_count(2)
    options.first.click()
    assert text.input_value().count("@river") == 2
    text.fill("nice")
    page.locator(".emoji > summary").click()
    page.locator(".emoji input").fill("black cat")
    page.locator("[data-emoji]").filter(has_text="🐈").click()
    expect(text).to_have_value("nice🐈\u200d⬛")
    page.keyboard.press("Escape")
    page.get_by_test_id("publish").click()
    expect(page.locator("article").first).to_contain_text("nice🐈")


def test_who_will_not_see_a_post_is_said_once(site: str, browser: Browser) -> None:
    newcomer(browser, site, "stranger1", "Stranger")
    page = at_home(browser, site, "writer2")
    posts = page.locator("article", has_text="To @stranger1")
    page.fill("#id-content", "To @stranger1")
    page.select_option("#id-visibility", "followers")
    page.get_by_test_id("publish").click()
    expect(page.locator("#err-unseen")).to_contain_text("@stranger1")
    expect(posts).to_have_count(0)
    page.get_by_test_id("publish").click()
    expect(posts).to_have_count(1)
    expect(page.locator("#err-unseen")).to_have_count(0)
