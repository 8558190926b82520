"""Notifications count as read when somebody saw them: after a moment on the screen."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.kicking import Member
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

POSTS = 14
UNSEEN = "Object.defineProperty(document, 'hasFocus', {value: () => window.isLookedAt})"
# Scrolls by one note in each frame: a round trip for each one might take a moment.
PASS_BY = """async () => {
  for (const note of document.querySelectorAll(".note")) {
    note.scrollIntoView();
    await new Promise(requestAnimationFrame);
  }
}"""


def badge(page: Page) -> Locator:
    return page.locator("[data-unread]")


class Reader:
    """A person with a notification for each of POSTS posts, and the pages of their browser."""

    def __init__(self, site: str, name: str) -> None:
        self.member = Member(site, name)
        self.member.log_in()
        self.me = stacks.Client(site)
        self.me.token = self.member.pair["access"]
        self.fan = stacks.Client.new(site, f"{name}fan")
        for number in range(POSTS):
            post = self.me("POST", "posts", content=f"post {number}")
            self.fan("PUT", f"posts/{post['id']}/like")
        eventually(self.unread, lambda count: count == POSTS)

    def unread(self) -> int:
        count: int = self.me("GET", "notifications/unread-count")["count"]
        return count

    def context(self, browser: Browser, **options: object) -> BrowserContext:
        context = self.member.browser(browser, viewport={"width": 390, "height": 600}, **options)
        pair = self.member.pair
        context.add_cookies(
            [
                {"name": name, "value": pair[name], "url": self.member.site}
                for name in ("access", "refresh")
            ]
        )
        return context


def test_notifications_are_read_when_they_were_on_the_screen(site: str, browser: Browser) -> None:
    reader = Reader(site, "looker1")
    context = reader.context(browser)
    other = context.new_page()
    other.goto("/search")
    expect(badge(other)).to_have_text(str(POSTS))
    page = context.new_page()
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.url.endswith("/read") else None)
    page.add_init_script(UNSEEN)
    page.add_init_script("window.isLookedAt = false")
    page.goto("/notifications")
    page.wait_for_timeout(2500)
    assert (sent, reader.unread()) == ([], POSTS)  # nobody looked
    page.evaluate("window.isLookedAt = true; window.dispatchEvent(new Event('focus'))")
    expect(badge(page)).not_to_have_text(str(POSTS))
    on_screen = page.evaluate(
        "[...document.querySelectorAll('.note')].filter((one) =>"
        " one.getBoundingClientRect().bottom < innerHeight).length"
    )
    left = reader.unread()
    assert POSTS - on_screen - 1 <= left <= POSTS - on_screen
    assert len(sent) == 1  # all of them in one request
    expect(badge(page)).to_have_text(str(left))
    expect(badge(other)).to_have_text(str(left))
    expect(page.locator("[data-is-unread]")).to_have_count(left)
    page.evaluate(PASS_BY)
    # Less than a moment each, except for the last ones.
    assert reader.unread() > 0
    while reader.unread():
        page.locator("[data-is-unread]").first.scroll_into_view_if_needed()
        page.wait_for_timeout(1500)
    expect(badge(page)).to_be_hidden()
    expect(badge(other)).to_be_hidden()
    expect(page.get_by_test_id("read-all")).to_have_count(0)
    context.close()


def test_a_new_actor_after_the_page_was_loaded_stays_unread(site: str, browser: Browser) -> None:
    reader = Reader(site, "looker2")
    context = reader.context(browser)
    page = context.new_page()
    page.add_init_script(UNSEEN)
    page.add_init_script("window.isLookedAt = false")
    page.goto("/notifications")
    newest = reader.me("GET", "notifications")["items"][0]
    late = stacks.Client.new(site, "looker2late")
    late("PUT", f"posts/{newest['subject']['id']}/like")

    def has_arrived() -> bool:
        return bool(reader.me("GET", "notifications")["items"][0]["actor_count"] == 2)

    eventually(has_arrived)
    with page.expect_response("**/api/v1/notifications/read"):
        page.evaluate("window.isLookedAt = true; window.dispatchEvent(new Event('focus'))")
    first, second = reader.me("GET", "notifications")["items"][:2]
    assert (first["id"], first["read"], second["read"]) == (newest["id"], False, True)
    context.close()


def test_a_failed_request_is_sent_again(site: str, browser: Browser) -> None:
    reader = Reader(site, "looker3")
    context = reader.context(browser)
    page = context.new_page()
    answers = iter([429, 503])

    def fail_at_first(route: object) -> None:
        status = next(answers, None)
        route.fulfill(status=status) if status else route.continue_()  # type: ignore[attr-defined]

    page.route("**/api/v1/notifications/read", fail_at_first)
    page.goto("/notifications")
    expect(badge(page)).not_to_have_text(str(POSTS))
    assert next(answers, None) is None
    context.close()


def test_without_scripts_an_opened_page_is_read(site: str, browser: Browser) -> None:
    reader = Reader(site, "looker4")
    context = reader.context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto("/search")
    expect(badge(page)).to_have_text(str(POSTS))
    page.goto("/notifications")
    eventually(reader.unread, lambda count: count == 0)
    page.goto("/search")
    expect(badge(page)).to_be_hidden()
    context.close()
