"""Two tabs with the same form: what one of them publishes, and what is typed in the other."""

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import composer
from socialsite.tests.browser.kept_texts import kept, stored
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

WORDS = "begun in one tab"
LONGER = "begun in one tab and continued in the other"

SAVED_LATE = """
  addEventListener("storage", ({ key, oldValue }) => {
    if (key.startsWith("draft:") && oldValue) window.draft = [key, oldValue];
    else if (key.startsWith("sent:") && window.draft) localStorage.setItem(...window.draft);
  });
"""  # as if the tab had saved its copy after the other one was sent, and before it heard of that


def at_home(page: Page) -> Page:
    """Return a new tab of the same browser, on the home page."""
    other = page.context.new_page()
    other.goto("/")
    return other


def begun(browser: Browser, site: str, name: str) -> tuple[Page, Page]:
    """Return two tabs that show the same text; the first one has typed it."""
    page = newcomer(browser, site, name, "Tabby")
    composer(page).fill(WORDS)
    stored(page, 1)
    other = at_home(page)
    expect(composer(other)).to_have_value(WORDS)
    return page, other


def publish(page: Page, words: str) -> None:
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text(words)
    expect(composer(page)).to_have_value("")


def survives(tab: Page, words: str) -> None:
    """Check that a text is there after its tab is gone."""
    expect(composer(tab)).to_have_value(words)
    context = tab.context
    stored(tab, 1)
    tab.close()
    found = context.new_page()
    found.goto("/")
    expect(composer(found)).to_have_value(words)
    publish(found, words)
    stored(found, 0)


def test_a_published_text_leaves_the_other_tab_too(site: str, browser: Browser) -> None:
    page, other = begun(browser, site, "tabs1")
    publish(page, WORDS)
    expect(composer(other)).to_have_value("")
    expect(other.locator(".toast")).to_contain_text("sent in another tab")
    stored(other, 0)
    composer(other).fill("a second post")
    publish(other, "a second post")
    expect(other.get_by_test_id("post").filter(has_text=WORDS)).to_have_count(0)
    other.reload()
    expect(other.get_by_test_id("post")).to_have_count(2)
    stored(other, 0)
    page.close()  # the log-out would lead this tab away too
    keys = "Object.keys(localStorage).filter((key) => key.startsWith('sent:')).length"
    assert other.evaluate(keys) == 1
    other.evaluate("document.querySelector('form[data-log-out]').requestSubmit()")
    expect(other.locator("a[href^='/login']").first).to_be_visible()
    assert other.evaluate(keys) == 0


def test_a_copy_that_was_saved_before_the_other_tab_was_heard_of_leaves_too(
    site: str, browser: Browser
) -> None:
    page = newcomer(browser, site, "tabs9", "Tabby")
    composer(page).fill(WORDS)
    stored(page, 1)
    other = page.context.new_page()
    other.add_init_script(SAVED_LATE)
    other.goto("/")
    expect(composer(other)).to_have_value(WORDS)
    publish(page, WORDS)
    expect(composer(other)).to_have_value("")
    assert other.evaluate("window.draft")
    stored(other, 0)
    composer(other).fill(LONGER)
    publish(other, LONGER)


def test_the_beginning_of_a_published_text_leaves_the_tab_where_it_was_typed(
    site: str, browser: Browser
) -> None:
    page, other = begun(browser, site, "tabs2")
    composer(other).fill(LONGER)
    publish(other, LONGER)
    expect(composer(page)).to_have_value("")
    stored(page, 0)


def test_a_copy_that_was_changed_stays_when_the_original_is_published(
    site: str, browser: Browser
) -> None:
    page, other = begun(browser, site, "tabs3")
    composer(other).fill(LONGER)
    kept(other, LONGER)
    publish(page, WORDS)
    survives(other, LONGER)


def test_another_text_stays_and_is_still_kept_when_one_is_published(
    site: str, browser: Browser
) -> None:
    page = newcomer(browser, site, "tabs4", "Tabby")
    other = at_home(page)
    composer(other).fill("of the second tab")
    stored(other, 1)
    composer(page).fill(WORDS)
    kept(page, WORDS)
    publish(page, WORDS)
    survives(other, "of the second tab")


def test_a_text_that_was_replaced_elsewhere_stays(site: str, browser: Browser) -> None:
    page, other = begun(browser, site, "tabs6")
    composer(other).fill("quick note")
    kept(other, "quick note")
    publish(other, "quick note")
    survives(page, WORDS)


def test_a_quote_that_leaves_with_its_page_leaves_the_other_tab_too(
    site: str, browser: Browser
) -> None:
    page = newcomer(browser, site, "tabs8", "Tabby")
    composer(page).fill(WORDS)
    publish(page, WORDS)
    address = page.get_by_test_id("post").first.locator("a[href$='/repost']").get_attribute("href")
    if address is None:
        raise AssertionError("no link to quote")
    page.goto(address)
    page.get_by_test_id("repost-form").locator("textarea").fill("look at this")
    stored(page, 1)
    other = page.context.new_page()
    other.goto(address)
    text = other.get_by_test_id("repost-form").locator("textarea")
    expect(text).to_have_value("look at this")
    page.get_by_test_id("repost-form").get_by_role("button", name="Repost").click()
    expect(page.get_by_text("look at this").first).to_be_visible()
    expect(text).to_have_value("")
    expect(other.locator(".toast")).to_contain_text("sent in another tab")
    stored(other, 0)


def test_the_same_words_may_be_published_twice(site: str, browser: Browser) -> None:
    page, other = begun(browser, site, "tabs5")
    publish(page, WORDS)
    expect(composer(other)).to_have_value("")
    for tab in (page, other):
        composer(tab).fill(WORDS)
        kept(tab, WORDS)
        publish(tab, WORDS)
    page.reload()
    expect(page.get_by_test_id("post")).to_have_count(3)
