"""The composer is one line until somebody writes; then it has its tools, and keeps them."""

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import (
    at_home,
    choose,
    composer,
    open_composer,
    open_part,
    picture,
    uploaded,
)
from socialsite.tests.browser.kept_texts import drafts, kept, stored
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

PICTURES = "**/js/pictures*.js"
PHONE = {"width": 390, "height": 844}
FOUR_TOOLS = ("Poll", "Content note", "Publish at", "Emoji")


def published(page: Page, words: str) -> None:
    composer(page).fill(words)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").filter(has_text=words)).to_have_count(1)


def test_it_is_one_line_until_it_is_used(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "opens1", "Opens", viewport=PHONE)
    page.get_by_test_id("skip-steps").click()
    published(page, "the first post")
    page.reload()
    form, publish = page.get_by_test_id("composer"), page.get_by_test_id("publish")
    expect(publish).to_be_hidden()
    top = page.get_by_test_id("post").first.bounding_box()
    assert top is not None
    assert top["y"] <= 200
    composer(page).focus()
    for name in FOUR_TOOLS:
        expect(form.locator("summary").and_(page.get_by_label(name, exact=True))).to_be_visible()
    height = form.evaluate("(form) => form.offsetHeight")
    # What is below does not move under a press elsewhere.
    page.get_by_test_id("post").first.click(position={"x": 5, "y": 5})
    expect(composer(page)).not_to_be_focused()
    assert form.evaluate("(form) => form.offsetHeight") == height
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_it_is_opened_with_the_keyboard_and_keeps_the_focus(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "opens6")
    page.get_by_label("More for this post").press("Enter")
    expect(page.get_by_role("radio", name="Post", exact=True)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Title")).to_be_visible()
    # From the text Tab leads to the button that publishes.
    composer(page).fill("by keyboard")
    page.get_by_label("Title").fill("Typed")
    composer(page).focus()
    page.keyboard.press("Tab")
    expect(page.get_by_test_id("publish")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("post").filter(has_text="by keyboard")).to_have_count(1)


def test_without_javascript_it_is_opened_and_needs_no_opening(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "opens2", "Opens", viewport=PHONE, java_script_enabled=False)
    published(page, "from the one line")
    form = open_composer(page)
    form.locator("textarea").fill("from the open form")
    for name in FOUR_TOOLS[:3]:
        open_part(page, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    form.get_by_label("Option 1").fill("yes")
    form.get_by_label("Option 2").fill("no")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first.get_by_test_id("poll")).to_contain_text("yes")


def test_what_was_typed_opens_it_and_its_parts_again(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "opens3")
    composer(page).fill("a question")
    open_part(page, "Poll")
    for number in (1, 2):
        page.get_by_label(f"Option {number}").fill(f"answer {number}")
    open_part(page, "Content note")
    page.locator("input[name=note]").fill("about nothing")
    kept(page, "about nothing")
    page.reload()
    expect(page.get_by_label("Option 2")).to_have_value("answer 2")
    expect(page.get_by_label("Option 2")).to_be_visible()
    expect(page.locator("input[name=note]")).to_have_value("about nothing")
    expect(page.locator("input[name=note]")).to_be_visible()
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first.get_by_test_id("poll")).to_be_attached()
    # The next post has neither.
    expect(page.locator("input[name=note]")).to_be_hidden()
    published(page, "only words")
    post = page.get_by_test_id("post").first
    expect(post).to_contain_text("only words")
    expect(post.get_by_test_id("poll")).to_have_count(0)
    expect(post.get_by_test_id("note")).to_have_count(0)
    stored(page, 0)


def test_pictures_of_a_draft_wait_for_their_script(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "opens4")
    choose(page, picture("kept.jpg"))
    uploaded(page, 1)
    composer(page).fill("with a picture")
    kept(page, "with a picture")
    (before,) = drafts(page)
    assert '"pictures":[{' in before
    page.route(PICTURES, lambda route: route.abort())
    page.reload()
    composer(page).fill("with a picture, still")
    kept(page, "with a picture, still")
    (after,) = drafts(page)
    assert '"pictures":[{' in after
    # The post is not published without them.
    page.get_by_test_id("publish").click()
    expect(page.locator(".toast")).to_be_visible()
    expect(page.get_by_test_id("post").filter(has_text="still")).to_have_count(0)
    page.unroute(PICTURES)
    page.reload()
    uploaded(page, 1)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first.locator("[data-viewer] img")).to_have_count(1)


def test_pictures_that_were_chosen_before_their_script_came_are_uploaded(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "opens5")
    choose(page, picture("early.jpg"), picture("bird.jpg"))
    uploaded(page, 2)
    expect(page.get_by_test_id("publish")).to_be_visible()
    published(page, "two at once")
    expect(page.get_by_test_id("post").first.locator("[data-viewer] img")).to_have_count(2)
