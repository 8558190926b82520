"""The first visit of a person, from the front page to the first answer, without a dead end."""

import re

import pytest
from playwright.sync_api import Browser, expect

from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose, picture, uploaded
from socialsite.tests.support.newcomers import PASSWORD

pytestmark = pytest.mark.e2e


def test_the_first_visit_leads_to_an_answer(stack: Stack, browser: Browser) -> None:
    people = [stacks.Client.new(stack.url, f"walker{number}") for number in range(5)]
    for person in people:
        for other in people:
            if other is not person:
                person("POST", f"users/{other.id}/follow")
        person("POST", "posts", content="Good morning from the harbour.")
    page = browser.new_context(base_url=stack.url, locale="en").new_page()
    page.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))

    # Sign up, beginning at the front page.
    page.goto("/")
    page.get_by_role("link", name="Sign up").first.click()
    page.fill("input[name=username]", "visitor1")
    page.fill("input[name=nickname]", "Visitor1")
    page.fill("input[name=password]", PASSWORD)
    page.click("main form[method=post] button:not([type=button])")
    page.wait_for_url("**/welcome*")

    # A picture and a few words, and back to the steps.
    page.get_by_role("link", name="Edit profile").first.click()
    page.set_input_files("input[name=avatar]", files=[picture("me.jpg", (400, 400))])
    page.fill("textarea[name=bio]", "Boats and bread.")
    with page.expect_navigation():
        page.get_by_test_id("save-profile").click()
    page.goto("/welcome")

    # Three follows from the suggestions.
    for number in range(3):
        row = page.get_by_test_id("suggestions").locator("li").nth(number)
        row.get_by_test_id("follow").click()
        expect(row.get_by_test_id("follow")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="To the home page").click()
    expect(page.get_by_test_id("composer")).to_be_visible()

    # A post with two photos, then an edit.
    choose(page, picture("one.jpg"), picture("two.jpg"))
    uploaded(page, 2)
    page.locator("[data-composer] textarea[name=content]").fill("My first lof of bread")
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").first
    expect(post).to_contain_text("My first lof of bread")
    expect(post.locator("[data-viewer] img")).to_have_count(2)
    post.get_by_label("Post menu").click()
    page.get_by_test_id("edit-post").click()
    page.locator("textarea[name=content]").fill("My first loaf of bread")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_test_id("post").first).to_contain_text("My first loaf of bread")
    expect(page.get_by_test_id("edited").first).to_be_visible()

    # Somebody answers; the notification leads to the answer.
    me = people[1]("GET", "users/by-name/visitor1")
    mine = people[1]("GET", f"users/{me['id']}/posts")["items"][0]
    people[1]("POST", f"posts/{mine['id']}/comments", content="May I have a slice?")
    expect(page.locator("[data-unread]").first).to_have_text("1")
    page.get_by_role("link", name=re.compile("^Notifications")).first.click()
    page.locator(".note a", has_text="commented").first.click()
    expect(page.get_by_test_id("comment").first).to_contain_text("May I have a slice?")
