"""The main job, end to end, in a real browser: on the full stack and on the embedded mode."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import PASSWORD, at_home, newcomer, watched

pytestmark = [pytest.mark.e2e, stacks.BOTH_MODES]


def test_sign_up_follow_post_read_like_and_comment(site: str, browser: Browser) -> None:
    author = watched(browser.new_context(base_url=site, locale="en"))
    author.goto("/register")
    author.fill("input[name=username]", "author1")
    author.fill("input[name=nickname]", "小明Author")
    author.fill("input[name=password]", PASSWORD)
    author.click("main form[method=post] button:not([type=button])")
    at_home(author)
    reader = newcomer(browser, site, "reader1", "Reader1")

    reader.goto("/@author1")
    reader.get_by_test_id("follow").click()
    expect(reader.get_by_test_id("follow")).to_have_attribute("aria-pressed", "true")
    with reader.expect_response("**/api/v1/feed/new-count"):  # requested once the socket is open
        reader.goto("/")

    author.get_by_test_id("composer").locator("textarea[name=content]").fill("第一条 first post")
    author.get_by_test_id("publish").click()
    expect(author.get_by_test_id("post").first).to_contain_text("第一条 first post")

    # Announced and shown on the follower's page without a reload.
    reader.evaluate("window.sameDocument = true")
    banner = reader.get_by_test_id("new-posts")
    expect(banner).to_be_visible()
    banner.click()
    post = reader.get_by_test_id("post").first
    expect(post).to_contain_text("第一条 first post")
    assert reader.evaluate("window.sameDocument === true")

    post.get_by_test_id("like").click()
    expect(post.get_by_test_id("like")).to_have_attribute("aria-pressed", "true")
    expect(post.get_by_test_id("like-count")).to_have_text("1")

    post.locator("a.post-time").click()
    form = reader.get_by_test_id("comment-form").first
    form.locator("textarea[name=content]").fill("好文章 well said")
    form.locator("button:not([type=button])").click()
    expect(reader.get_by_test_id("comment").first).to_contain_text("好文章 well said")
    reader.reload()
    expect(reader.get_by_test_id("comment").first).to_contain_text("好文章 well said")

    # The author's open page got hints of the follower, the like and the comment.
    expect(author.locator("[data-unread]")).to_have_text("3")
    author.reload()
    expect(author.get_by_test_id("like-count").first).to_have_text("1")
    expect(author.locator(".act.i-comment").first).to_have_text("1")
    author.goto("/notifications")
    author.get_by_text("Reader1 commented on your post").click()
    expect(author.get_by_test_id("comment").first).to_contain_text("好文章 well said")
    expect(author.locator("[data-unread]")).to_have_text("2")
    author.goto("/notifications")
    author.get_by_test_id("read-all").click()
    expect(author.locator("[data-unread]")).to_be_hidden()
    expect(author.get_by_test_id("notification")).to_have_count(3)

    # An unsent text survives a reload, but not a log-out.
    author.goto("/")
    author.get_by_test_id("composer").locator("textarea[name=content]").fill("not sent")
    author.reload()
    text = author.get_by_test_id("composer").locator("textarea[name=content]")
    expect(text).to_have_value("not sent")
    author.evaluate("document.querySelector('form[data-log-out]').requestSubmit()")
    expect(author.locator("a[href^='/login']").first).to_be_visible()
    drafts = "Object.keys(localStorage).filter((key) => key.startsWith('draft:'))"
    assert author.evaluate(drafts) == []


def test_the_same_story_over_the_api(site: str) -> None:
    author = stacks.Client.new(site, "apiauthor")
    reader = stacks.Client.new(site, "apireader")
    assert reader("POST", f"users/{author.id}/follow")["relation"] == "FOLLOWING"
    post = author("POST", "posts", content="over the API")
    feed = reader("GET", "feed")
    assert [item["id"] for item in feed["items"]] == [post["id"]]
    assert reader("PUT", f"posts/{post['id']}/like") == {"liked": True, "like_count": 1}
    reader("POST", f"posts/{post['id']}/comments", content="seen")
    seen = author("GET", f"posts/{post['id']}")
    assert (seen["like_count"], seen["comment_count"]) == (1, 1)
    author("DELETE", f"posts/{post['id']}")
    assert reader("GET", "feed")["items"] == []
