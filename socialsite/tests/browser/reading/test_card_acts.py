"""The buttons of cards and comments in a real browser, with and without JavaScript."""

import re

import pytest
from playwright.sync_api import Browser, Locator, expect

from socialsite.tests.browser.reading.two_posts import sign_up

pytestmark = pytest.mark.e2e


def press(button: Locator, script: bool) -> None:
    """Press by keyboard; with script the button keeps the focus and the page stays."""
    page = button.page
    if script:
        page.evaluate("window.sameDocument = true")
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    if script:
        expect(button).to_be_focused()
        assert page.evaluate("window.sameDocument === true")


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_posts_are_liked_kept_reposted_and_deleted(
    site: str, browser: Browser, script: bool
) -> None:
    page = sign_up(browser, site, f"acts{'js' if script else 'plain'}", script=script)
    post = page.get_by_test_id("post").filter(has_text="first words")
    for name in ("like", "bookmark"):
        press(post.get_by_test_id(name), script)
        expect(post.get_by_test_id(name)).to_have_text("1")
        expect(page).to_have_url(re.compile("/$" if script else rf"/#{name}-\d+$"))
    expect(post.get_by_role("button", name="Like, 1 like")).to_be_visible()

    # The second post is as it was: each button sends its own address and value.
    other = page.get_by_test_id("post").filter(has_text="second words")
    expect(other.get_by_test_id("like")).to_have_attribute("aria-pressed", "false")

    post.get_by_test_id("repost").click()
    post.locator(".menu-item.i-repost").click()
    expect(post.locator(".act.i-repost").last).to_have_text("1")
    page.reload()
    # The repost shows the post at its place, once.
    expect(page.get_by_test_id("post")).to_have_count(2)
    expect(page.get_by_test_id("post").first).to_contain_text("You reposted this")
    post = page.get_by_test_id("post").filter(has_text="first words")
    expect(post.get_by_test_id("like")).to_have_attribute("aria-pressed", "true")
    post.get_by_test_id("repost").click()
    post.get_by_test_id("repost-undo").click()
    expect(post.locator(".act.i-repost")).to_have_text("")
    expect(post.get_by_test_id("own-repost")).to_have_count(0)
    post.get_by_test_id("repost").click()
    post.locator(".menu-item.i-repost").click()
    expect(post.locator(".act.i-repost").last).to_have_text("1")
    page.reload()
    post.get_by_test_id("own-repost").get_by_role("button", name="Undo").click()
    expect(post.get_by_test_id("own-repost")).to_have_count(0)
    expect(post.locator(".act.i-repost")).to_have_text("")

    for name in ("like", "bookmark"):
        post.get_by_test_id(name).click()
        expect(post.get_by_test_id(name)).to_have_attribute("aria-pressed", "false")

    # Deleting asks first where there is script, in a list and on the post's own page.
    page.goto("/")
    for text in ("second words", "first words"):
        post = page.get_by_test_id("post").filter(has_text=text)
        if text == "first words":
            post.locator("a.post-time").click()
            post = page.get_by_test_id("post")
        post.get_by_label("Post menu").click()
        page.get_by_test_id("delete-post").click()
        if script:
            dialog = page.get_by_role("dialog", name="Delete this post?")
            dialog.get_by_role("button", name="Delete").click()
        else:
            page.get_by_test_id("confirm-delete").click()
        expect(page.get_by_test_id("post").filter(has_text=text)).to_have_count(0)
        if script and text == "second words":
            expect(page.locator("#toasts")).to_contain_text("Deleted.")
            expect(page.locator("article:focus-within")).to_contain_text("first words")
    expect(page.get_by_test_id("composer")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_post_is_deleted_and_written_again(site: str, browser: Browser, script: bool) -> None:
    page = sign_up(browser, site, f"again{'js' if script else 'plain'}", script=script)
    post = page.get_by_test_id("post").filter(has_text="first words")
    post.get_by_label("Post menu").click()
    page.get_by_test_id("rewrite-post").press("Enter")
    if script:
        dialog = page.get_by_role("dialog", name="Delete this post and write it again?")
        dialog.get_by_role("button", name="Delete").click()
    else:
        page.get_by_test_id("confirm-delete").click()
    expect(page).to_have_url(re.compile(r"/drafts/\d+$"))
    text = page.get_by_test_id("composer").locator("textarea[name=content]")
    expect(text).to_have_value("first words")
    text.fill("better words")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").filter(has_text="better words")).to_have_count(1)
    expect(page.get_by_test_id("post").filter(has_text="first words")).to_have_count(0)


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_comments_are_liked_answered_pinned_and_deleted(
    site: str, browser: Browser, script: bool
) -> None:
    page = sign_up(browser, site, f"talk{'js' if script else 'plain'}", script=script)
    page.locator("a.post-time").first.click()
    form = page.get_by_test_id("comment-form")
    form.locator("textarea").fill("well said")
    form.get_by_test_id("comment-send").click()
    comment = page.get_by_test_id("comment")
    expect(comment).to_contain_text("well said")
    comment.get_by_test_id("like-comment").click()
    expect(comment.get_by_test_id("comment-likes")).to_have_text("1")
    expect(comment.get_by_test_id("like-comment")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"/posts/\d+" + ("$" if script else r"\S*#comment-\d+$")))
    comment.get_by_test_id("pin").click()
    expect(comment.get_by_test_id("pinned")).to_be_visible()
    comment.get_by_test_id("reply-link").first.click()
    page.get_by_test_id("reply-form").locator("textarea").fill("my answer")
    page.get_by_test_id("reply-send").click()
    expect(page.get_by_text("my answer")).to_be_visible()
    if not script:
        page.get_by_label("Back to the post").click()
    comment.get_by_test_id("delete-comment").first.click()
    if script:
        dialog = page.get_by_role("dialog", name="Delete this comment?")
        dialog.get_by_role("button", name="Delete").click()
    else:
        page.get_by_test_id("confirm-delete").click()
    expect(comment.get_by_text("This comment was deleted.")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_the_menu_of_a_post_follows_blocks_and_gives_the_link(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    sign_up(browser, site, f"mhost{kind}", script=True)
    page = sign_up(browser, site, f"mguest{kind}", script=script)
    if script:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def open_menu(path: str) -> None:
        page.goto(path)
        post.get_by_label("Post menu").click()

    name = f"@mhost{kind}"
    post = page.get_by_test_id("post").filter(has_text=name).first
    open_menu(f"/@mhost{kind}")
    link = page.get_by_test_id("copy-link")
    expect(link).to_have_attribute("href", re.compile(rf"^{site}/posts/\d+$"))
    expect(page.locator("main a[href^='/report/post/']")).to_have_text("Report")
    page.get_by_test_id("menu-follow").click()
    if script:
        expect(page.locator(".toast")).to_contain_text(f"You follow {name} now.")
        expect(page.locator(".post-panel")).to_have_count(0)
        open_menu("/")
    expect(page.get_by_test_id("menu-follow")).to_have_text(f"Unfollow {name}")
    if script:
        address = link.get_attribute("href")
        link.click()
        expect(page.locator(".toast")).to_contain_text("Link copied.")
        assert page.evaluate("navigator.clipboard.readText()") == address
        # By keyboard: open, leave, and the focus is where it was.
        opener = post.get_by_label("Post menu")
        opener.press("Enter")
        expect(opener).to_have_attribute("aria-expanded", "true")
        page.get_by_test_id("copy-link").wait_for()
        page.keyboard.press("Tab")
        expect(page.get_by_test_id("menu-follow")).to_be_focused()
        page.keyboard.press("Escape")
        expect(opener).to_be_focused()
        expect(page.locator(".post-panel")).to_have_count(0)
        opener.press("Enter")
    page.get_by_test_id("menu-block").click()
    if script:
        page.get_by_role("dialog").get_by_role("button", name="Block").click()
        expect(page.get_by_test_id("post").filter(has_text=name)).to_have_count(0)
    else:
        page.get_by_test_id("confirm-block").click()
        page.goto("/")
    expect(page.get_by_test_id("post")).to_have_count(2)


def test_the_time_of_a_post_is_a_target_of_24_pixels(site: str, browser: Browser) -> None:
    page = sign_up(browser, site, "timetarget", script=True)
    for link in page.locator("a.post-time").all():
        box = link.bounding_box()
        assert box is not None
        assert box["height"] >= 24
        assert box["width"] >= 24


def test_a_guest_is_led_to_the_log_in(site: str, browser: Browser) -> None:
    sign_up(browser, site, "actshost", script=True)
    guest = browser.new_context(base_url=site, locale="en").new_page()
    guest.goto("/@actshost")
    for name in ("Like", "Repost", "Bookmark"):
        link = guest.get_by_test_id("post").first.get_by_role("link", name=name)
        expect(link).to_have_attribute("href", "/login?next=/%40actshost")
