"""Tags in a real browser: from a post to its tag, to a follow, to the timeline of one's tags."""

import re

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests.support.newcomers import newcomer

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_tag_leads_to_its_posts_and_is_followed(
    site: str, browser: Browser, script: bool
) -> None:
    name = f"tags{'js' if script else 'plain'}"
    viewport = {"width": 390, "height": 800}
    page = newcomer(
        browser, site, name, f"{name}Nick", java_script_enabled=script, viewport=viewport
    )
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(
        "今天喝#茶道#，also #Tea"
    )
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").first
    post.get_by_role("link", name="#茶道#").click()
    expect(page).to_have_url(re.compile("/tags/%E8%8C%B6%E9%81%93$"))
    expect(page.get_by_role("heading", name="#茶道")).to_be_visible()
    expect(page.get_by_test_id("post").first).to_contain_text("also #Tea")

    if script:
        page.evaluate("window.sameDocument = true")
    follow = page.get_by_test_id("follow-tag")
    follow.click()
    expect(follow).to_have_attribute("aria-pressed", "true")
    if script:
        expect(follow).to_be_focused()
        assert page.evaluate("window.sameDocument === true")

    page.goto("/")
    page.get_by_role("navigation", name="Timelines").get_by_role("link", name="Tags").click()
    expect(page.get_by_test_id("post").first).to_contain_text("今天喝")
    page.locator(".tag-chips a", has_text="#茶道").click()
    page.get_by_test_id("follow-tag").click()
    expect(page.get_by_test_id("follow-tag")).to_have_attribute("aria-pressed", "false")
    page.goto("/tags")
    expect(page.locator(".tag-chips")).to_have_count(0)
