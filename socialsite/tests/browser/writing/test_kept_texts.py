"""A text that somebody typed stays in the browser until the server has accepted it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose_kind, composer
from socialsite.tests.browser.kept_texts import WORDS, open_draft, stored
from socialsite.tests.support.newcomers import PASSWORD, newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


def with_post_and_comment(browser: Browser, site: str, name: str) -> tuple[Page, str]:
    """Return the page of a new person with a post and a comment, and the address of the post."""
    page = newcomer(browser, site, name, "Typist")
    api = stacks.Client.known(site, name)
    post = api("POST", "posts", content="a first post")
    api("POST", f"posts/{post['id']}/comments", content="a first comment")
    return page, f"{site}/posts/{post['id']}"


def open_comment(page: Page, post: str) -> Locator:
    page.goto(post)
    return page.get_by_test_id("comment-form").locator("textarea")


def open_reply(page: Page, post: str) -> Locator:
    page.goto(post)
    page.get_by_test_id("reply-link").first.click()
    return page.get_by_test_id("reply-form").locator("textarea")


def open_quote(page: Page, post: str) -> Locator:
    page.goto(post + "/repost")
    return page.get_by_test_id("repost-form").locator("textarea")


def open_edit(page: Page, post: str) -> Locator:
    page.goto(post + "/edit")
    return page.get_by_test_id("edit-form").locator("textarea")


def open_comment_edit(page: Page, post: str) -> Locator:
    page.goto(post)
    page.get_by_test_id("edit-comment").click()
    return page.get_by_test_id("edit-form").locator("textarea")


def open_report(page: Page, post: str) -> Locator:
    page.goto("/report/post/" + post.rpartition("/")[2])
    page.get_by_role("radio").first.check()
    return page.get_by_test_id("report-form").locator("textarea")


def open_composer(page: Page, post: str) -> Locator:
    page.goto("/")
    return composer(page)


FORMS: dict[str, Callable[[Page, str], Locator]] = {
    "comment": open_comment,
    "reply": open_reply,
    "quote": open_quote,
    "edit": open_edit,
    "commentedit": open_comment_edit,
    "composer": open_composer,
    "draft": open_draft,
    "report": open_report,
}


def writer_of(browser: Browser, site: str, form: str, name: str) -> tuple[Page, str, str]:
    """Return the page of a person who may use a form, the address of the post, and their name."""
    page, post = with_post_and_comment(browser, site, name)
    if form == "report":  # one's own posts cannot be reported
        name += "2"
        page = newcomer(browser, site, name, "Reporter")
    return page, post, name


def send(text: Locator) -> None:
    text.evaluate("(field) => field.form.requestSubmit()")


def settle(page: Page) -> None:
    """Let the answer to a form be shown, or the error of the browser."""
    page.wait_for_timeout(300)
    page.wait_for_load_state()


@pytest.mark.parametrize("form", FORMS)
def test_refusals_and_losses_keep_the_text_of_every_form(
    site: str, browser: Browser, form: str
) -> None:
    page, post, _name = writer_of(browser, site, form, f"kept{form}")
    text = FORMS[form](page, post)
    text.fill(WORDS)
    stored(page, 1)
    for status in (400, 403, 413, 415, 429, 503):
        page.route("**", refuse_posts(status))
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            send(text)
        settle(page)
        page.unroute("**")
        text = FORMS[form](page, post)
        expect(text).to_have_value(WORDS)
    page.context.set_offline(True)
    with page.expect_event("requestfailed"):
        send(text)
    settle(page)
    page.context.set_offline(False)
    text = FORMS[form](page, post)
    expect(text).to_have_value(WORDS)
    page.wait_for_load_state("networkidle")  # no answer on its way brings the cookie back
    page.context.clear_cookies(name="csrf")
    with page.expect_response(lambda answer: answer.request.method == "POST") as refused:
        send(text)
    assert refused.value.status == 403
    settle(page)
    text = FORMS[form](page, post)
    expect(text).to_have_value(WORDS)
    with page.expect_response(lambda answer: answer.request.method == "POST") as accepted:
        send(text)
    assert accepted.value.status < 400
    stored(page, 0)
    if form != "report":
        expect(page.get_by_text(WORDS).first).to_be_visible()


@pytest.mark.parametrize("form", FORMS)
def test_back_finds_the_text_of_every_form(site: str, browser: Browser, form: str) -> None:
    page, post, _name = writer_of(browser, site, form, f"back{form}")
    text = FORMS[form](page, post)
    text.fill(WORDS)
    page.goto("/notifications")  # at once, before the text is kept by itself
    page.go_back()
    if form == "reply":  # opened in its place
        text = FORMS[form](page, post)
    expect(text).to_have_value(WORDS)


def refuse_posts(status: int) -> Callable[..., None]:
    def answer(route: object, request: object) -> None:
        if request.method == "POST":  # type: ignore[attr-defined]
            route.fulfill(status=status, body="refused", content_type="text/html")  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    return answer


@pytest.mark.parametrize("form", ["edit", "comment", "composer", "report"])
def test_a_text_survives_a_lost_session_and_is_sent_after_the_log_in(
    site: str, browser: Browser, form: str
) -> None:
    page, post, name = writer_of(browser, site, form, f"lost{form}")
    text = FORMS[form](page, post)
    text.fill(WORDS)
    stored(page, 1)
    page.context.clear_cookies(name="access")
    page.context.clear_cookies(name="refresh")
    send(text)
    login = page.locator("main a[href^='/login?next=']")
    if form in ("edit", "report"):
        login.click()
    expect(page).to_have_url(re.compile("/login"))
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", PASSWORD)
    page.click("main form[method=post] button:not([type=button])")
    text = page.locator("form[data-keep] textarea").first
    expect(text).to_have_value(WORDS)
    with page.expect_response(lambda answer: answer.request.method == "POST") as accepted:
        send(text)
    assert accepted.value.status < 400
    stored(page, 0)


def test_a_composer_keeps_every_field_over_a_reload_and_a_crash(
    site: str, browser: Browser
) -> None:
    page = newcomer(browser, site, "kept1", "Kept1")
    choose_kind(page, "video")
    page.fill("input[name=title]", "A title")
    page.fill("input[name=video_url]", "https://videos.example/1")
    page.select_option("select[name=visibility]", "followers")
    composer(page).fill(WORDS)
    stored(page, 1)
    page.reload()
    other = page.context.new_page()  # the tab is gone without a word
    page.close()
    other.goto("/")
    expect(composer(other)).to_have_value(WORDS)
    expect(other.locator("input[name=title]")).to_have_value("A title")
    expect(other.locator("input[name=video_url]")).to_have_value("https://videos.example/1")
    expect(other.locator("select[name=visibility]")).to_have_value("followers")
    expect(other.get_by_role("radio", name="Video")).to_be_checked()
    expect(other.locator("[data-count]")).to_contain_text("/ 2,000")
    for field in ("textarea[name=content]", "input[name=title]", "input[name=video_url]"):
        other.locator(f".composer {field}").fill("")
    stored(other, 0)


def test_drafts_are_for_one_person_and_end_with_a_log_out(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "kept2", "Kept2")
    composer(page).fill(WORDS)
    stored(page, 1)
    page.context.clear_cookies()
    page.goto("/register")
    for name, value in (("username", "kept3"), ("nickname", "Kept3"), ("password", PASSWORD)):
        page.fill(f"input[name={name}]", value)
    page.click("main form[method=post] button:not([type=button])")
    expect(composer(page)).to_have_value("")
    composer(page).fill("of another person")
    stored(page, 2)
    page.evaluate("document.querySelector('form[data-log-out]').requestSubmit()")
    expect(page.locator("a[href^='/login']").first).to_be_visible()
    stored(page, 1)
    page.goto("/login")
    page.fill("input[name=username]", "kept2")
    page.fill("input[name=password]", PASSWORD)
    page.click("main form[method=post] button:not([type=button])")
    expect(composer(page)).to_have_value(WORDS)


def test_old_and_too_many_drafts_are_deleted(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "kept4", "Kept4")
    page.evaluate(
        """() => {
          const keep = (key, at) => localStorage.setItem(key, JSON.stringify({at, values: {}}));
          const day = 86400000;
          for (let n = 0; n < 60; n += 1) keep(`draft:1:/posts/${n}/comments#`, Date.now() - n);
          keep("draft:1:/old#", Date.now() - 31 * day);
          localStorage.setItem("draft:1:/bad#", "{");
        }"""
    )
    page.reload()
    stored(page, 40)
    assert page.evaluate("localStorage.getItem('draft:1:/posts/59/comments#')") is None
    assert page.evaluate("localStorage.getItem('draft:1:/posts/0/comments#')") is not None
