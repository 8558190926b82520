"""Edits of posts and comments in a browser, with and without JavaScript."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.stacks import Client
from socialsite.tests.support.newcomers import newcomer
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

BOTH_WAYS = pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])


def written(page: Page, words: str) -> None:
    page.goto("/")
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(words)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text(words)


@BOTH_WAYS
def test_a_post_is_edited_in_its_place_and_its_history_is_for_all_who_see_it(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    named = Client.new(site, f"named{kind}")
    page = newcomer(browser, site, f"editor{kind}", "Editor", java_script_enabled=script)
    written(page, "My first lof")
    written(page, "A later post")
    page.get_by_test_id("post").filter(has_text="My first lof").get_by_label("Post menu").click()
    page.get_by_test_id("edit-post").click()
    page.locator("textarea[name=content]").fill(f"My first loaf, @named{kind}")
    page.get_by_test_id("save").click()
    expect(page).to_have_url(re.compile(r"/posts/\d+$"))
    address = page.url
    page.goto("/")
    # The place stays: below the later one.
    expect(page.get_by_test_id("post").nth(1)).to_contain_text("My first loaf")
    edited = page.get_by_test_id("post").nth(1).get_by_test_id("edited")
    expect(edited.locator("time")).to_have_attribute("datetime", re.compile(r"^\d{4}-\d\d-\d\dT"))
    guest = browser.new_context(base_url=site, locale="en", java_script_enabled=script).new_page()
    guest.goto(address)
    guest.get_by_test_id("edited").click()
    versions = guest.get_by_test_id("version")
    expect(versions).to_have_count(2)
    expect(versions.nth(0)).to_contain_text("My first loaf")
    expect(versions.nth(1)).to_contain_text("My first lof")
    eventually(lambda: named("GET", "notifications")["items"])


@BOTH_WAYS
def test_an_edit_that_came_second_shows_both_texts(
    site: str, browser: Browser, script: bool
) -> None:
    name = f"second{'js' if script else 'plain'}"
    page = newcomer(browser, site, name, "Second", java_script_enabled=script)
    written(page, "as it was")
    page.get_by_test_id("post").first.locator("a.post-time").click()
    address = page.url
    page.goto(f"{address}/edit")
    other = page.context.new_page()
    other.goto(f"{address}/edit")
    for tab, words in ((other, "from the other tab"), (page, "from this tab")):
        tab.locator("textarea[name=content]").fill(words)
        tab.get_by_test_id("save").click()
    conflict = page.get_by_test_id("edit-conflict")
    expect(conflict).to_contain_text("from the other tab")
    expect(page.locator("textarea[name=content]")).to_have_value("from this tab")
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("post").first).to_contain_text("from this tab")


@BOTH_WAYS
def test_a_comment_is_edited(site: str, browser: Browser, script: bool) -> None:
    name = f"comments{'js' if script else 'plain'}"
    page = newcomer(browser, site, name, "Comments", java_script_enabled=script)
    written(page, "a post")
    page.get_by_test_id("post").first.locator("a.post-time").click()
    page.get_by_test_id("comment-form").locator("textarea").fill("wel said")
    page.get_by_test_id("comment-send").click()
    page.get_by_test_id("edit-comment").click()
    page.get_by_test_id("edit-form").locator("textarea").fill("well said")
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("comment")).to_contain_text("well said")
    expect(page.get_by_test_id("comment-edited")).to_be_visible()
