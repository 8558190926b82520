"""The audience of a post in a real browser: chosen, shown, remembered, and how to remove a fan."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


def test_an_audience_is_chosen_explained_and_remembered(site: str, browser: Browser) -> None:
    fan = newcomer(browser, site, "herfan1", "HerFan")
    page = newcomer(browser, site, "writes1", "WritesOne")
    page.goto("/")
    select = page.get_by_label("Who can see it")
    text = page.get_by_test_id("composer").locator("textarea[name=content]")
    text.fill("For nobody in particular")
    select.select_option("mentioned")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("composer")).to_contain_text("Name at least one person with @")
    text.fill("For @herfan1 only")
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").first
    expect(post).to_contain_text("Only people named")
    page.reload()
    expect(select).to_have_value("mentioned")
    post.get_by_role("link", name="Post menu").click()
    page.get_by_test_id("post-audience").click()
    expect(page.get_by_test_id("audience-count")).to_have_text("1 person")
    expect(page.get_by_test_id("person")).to_contain_text("@herfan1")
    # The fan finds it on the profile, and follows; a menu removes the follower again.
    fan.goto("/@writes1")
    expect(fan.get_by_test_id("post")).to_contain_text("For @herfan1 only")
    fan.get_by_test_id("follow").click()
    expect(fan.get_by_test_id("follow")).to_contain_text("Following")
    page.goto("/@writes1/followers")
    page.get_by_test_id("person-menu").click()
    page.get_by_test_id("remove-follower").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_test_id("follow")).to_contain_text("Follow")
    expect(page.get_by_test_id("follow")).not_to_contain_text("back")
    fan.reload()
    expect(fan.get_by_test_id("follow")).not_to_contain_text("Following")
