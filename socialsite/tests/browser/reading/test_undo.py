"""A deletion can be undone for some seconds, and is sent whatever becomes of the page.

The seconds of the pages pass when a test says so: nothing is sent because the machine is slow.
"""

import contextlib
import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, Route, expect

from socialsite.tests import stacks
from socialsite.tests.browser.kicking import PASSWORD, Member
from socialsite.tests.support.forms import csrf_token
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

NOTES = "Object.keys(localStorage).filter((key) => key.startsWith('undo:'))"
WAIT_S = 5
LATER_MS = 1500  # longer than the page needs to do at once what it does not put off
HOUR_MS = 3_600_000
# What a page does each second waits for `secondsPass`.
SECONDS = """
  const { setInterval: repeat, clearInterval: end } = window, each = new Map();
  let last = 0;
  window.setInterval = (act, ms, ...rest) => {
    if (ms !== 1000) return repeat(act, ms, ...rest);
    last += 1;
    each.set(`second${last}`, () => act(...rest));
    return `second${last}`;
  };
  window.clearInterval = (id) => each.delete(id) || end(id);
  window.secondsPass = (count) => {
    for (let second = 0; second < count; second += 1) [...each.values()].forEach((act) => act());
  };
"""


class Person:
    """Somebody with posts, signed in in a browser and in the API."""

    def __init__(
        self, site: str, browser: Browser, name: str, posts: int = 2, **options: object
    ) -> None:
        member = Member(site, name)
        member.log_in()
        self.api = stacks.Client(site)
        self.api.token = member.pair["access"]
        self.posts = [self.api("POST", "posts", content=f"words {n}")["id"] for n in range(posts)]
        self.context: BrowserContext = member.browser(browser, **options)
        self.context.add_init_script(SECONDS)
        self.pair, self.site = member.pair, site
        self.sign_in(self.context)
        self.page = self.open("/")

    def sign_in(self, context: BrowserContext) -> None:
        context.add_cookies(
            [{"name": n, "value": self.pair[n], "url": self.site} for n in ("access", "refresh")]
        )

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
        page.goto(path)
        return page

    def is_there(self, path: str) -> bool:
        try:
            self.api("GET", path)
        except AssertionError as error:
            if ": 404 " not in str(error):
                raise
            return False
        return True


def card(page: Page, post: object) -> Locator:
    return page.locator(f"article[data-post-id='{post}']")


def delete_post(page: Page, post: object) -> None:
    card(page, post).get_by_label("Post menu").click()
    page.get_by_test_id("delete-post").click()
    page.locator("#confirm [value=yes]").click()


def delete_comment(page: Page, comment: object) -> None:
    page.locator(f"#comment-{comment}").get_by_test_id("delete-comment").first.click()
    page.locator("#confirm [value=yes]").click()


def move_away(page: Page) -> None:
    """The mouse is nowhere above the toast, which it would hold."""
    page.mouse.move(5, 5)


def pass_seconds(page: Page, count: int = WAIT_S) -> None:
    page.evaluate("(count) => window.secondsPass(count)", count)


def settle(page: Page) -> None:
    """Wait until the requests that a page has sent so far have been seen."""
    page.evaluate("async () => { await fetch('/healthz'); }")


@pytest.mark.parametrize("by", ["button", "keys"])
def test_an_undone_post_is_where_it_was_and_nothing_is_sent(
    by: str, site: str, browser: Browser
) -> None:
    me = Person(site, browser, f"undoer{by}", posts=3)
    page, post = me.page, me.posts[1]
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    delete_post(page, post)
    expect(card(page, post)).to_be_hidden()
    expect(page.locator("#toasts[role=status]")).to_contain_text("Deleting…Undo")
    colour = page.locator(".toast").evaluate("toast => getComputedStyle(toast).color")
    expect(page.locator(".toast button").first).to_have_css("color", colour)
    expect(page.locator("article:focus-within")).to_contain_text("words 0")
    assert page.evaluate(f"{NOTES}.length") == 1
    if by == "button":
        page.get_by_test_id("undo").press("Enter")
    else:
        page.keyboard.press("Control+z")
    expect(card(page, post)).to_be_visible()
    expect(card(page, post).get_by_label("Post menu")).to_be_focused()
    expect(page.locator(".post-panel, .toast")).to_have_count(0)
    order = page.locator("article[data-post-id]").evaluate_all(
        "all => all.map(p => p.dataset.postId)"
    )
    assert order == [str(one) for one in reversed(me.posts)]
    pass_seconds(page, 2 * WAIT_S)
    settle(page)
    assert sent == []
    assert page.evaluate(f"{NOTES}.length") == 0
    assert me.is_there(f"posts/{post}")
    me.context.close()


def test_what_is_not_undone_is_deleted_in_lists_and_on_its_page(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "waiter")
    page, (first, second) = me.page, me.posts
    delete_post(page, second)
    move_away(page)
    pass_seconds(page, WAIT_S - 1)
    settle(page)
    assert me.is_there(f"posts/{second}")
    expect(page.locator("#toasts")).not_to_contain_text("Deleted.")
    pass_seconds(page, 1)
    expect(page.locator("#toasts")).to_contain_text("Deleted.")
    expect(card(page, second)).to_have_count(0)
    assert not me.is_there(f"posts/{second}")
    page.goto(f"/posts/{first}")
    delete_post(page, first)
    expect(card(page, first)).to_be_hidden()
    expect(page.locator("#comments")).to_be_hidden()
    page.get_by_test_id("undo").click()
    expect(card(page, first)).to_be_visible()
    delete_post(page, first)
    move_away(page)
    pass_seconds(page)
    expect(page).to_have_url(f"{site}/")
    expect(page.locator("#toasts")).to_contain_text("Deleted.")
    assert page.evaluate(f"{NOTES}.length") == 0
    assert not me.is_there(f"posts/{first}")
    me.context.close()


def test_the_toast_stays_while_it_is_pointed_at_or_has_the_focus(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "holder")
    page, post = me.page, me.posts[0]
    delete_post(page, post)
    page.locator(".toast-undo").hover()
    pass_seconds(page, 2 * WAIT_S)
    page.get_by_test_id("undo").focus()
    move_away(page)
    pass_seconds(page, 2 * WAIT_S)
    settle(page)
    assert me.is_there(f"posts/{post}")
    page.get_by_test_id("undo").blur()
    pass_seconds(page)
    expect(page.locator("#toasts")).to_contain_text("Deleted.")
    assert not me.is_there(f"posts/{post}")
    me.context.close()


def test_comments_and_replies_wait_and_the_first_is_sent_when_the_second_begins(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "talker", posts=1)
    path = f"posts/{me.posts[0]}/comments"
    root, other = (me.api("POST", path, content=f"comment {n}")["id"] for n in range(2))
    reply = me.api("POST", path, content="reply", parent=str(root))["id"]
    page = me.page
    page.goto(f"/posts/{me.posts[0]}")
    page.get_by_test_id("replies-link").click()
    delete_comment(page, reply)
    expect(page.locator(f"#comment-{reply}")).to_be_hidden()
    page.get_by_test_id("undo").click()
    expect(page.locator(f"#comment-{reply}")).to_be_visible()
    delete_comment(page, other)
    with page.expect_response(lambda answer: f"/comments/{other}/delete" in answer.url):
        delete_comment(page, root)
    expect(page.locator(f"#comment-{other}")).to_have_count(0)
    expect(page.locator("#toasts")).to_contain_text("Deleted.")
    expect(page.locator(f"#comment-{root}")).to_be_hidden()
    expect(page.get_by_test_id("undo")).to_have_count(1)
    move_away(page)
    pass_seconds(page)
    expect(page.locator(f"#comment-{root}")).to_contain_text("This comment was deleted.")
    expect(page.get_by_test_id("replies-link")).to_have_text("1 reply")
    expect(page.locator("#comments-total")).to_have_text("1")
    me.context.close()


def leave(page: Page) -> None:
    page.goto("about:blank")


def close(page: Page) -> None:
    page.close(run_before_unload=True)


def hide(page: Page) -> None:
    """What a phone does with a page in the background."""
    page.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", {value: true});
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )


@pytest.mark.parametrize("end", [leave, close, hide])
def test_a_page_that_is_left_sends_it(
    end: Callable[[Page], None], site: str, browser: Browser
) -> None:
    me = Person(site, browser, f"leaver{end.__name__}", has_touch=True, is_mobile=True)
    delete_post(me.page, me.posts[0])
    expect(me.page.get_by_test_id("undo")).to_be_visible()
    assert me.is_there(f"posts/{me.posts[0]}")
    end(me.page)
    # Not because the time is over: no second passes.
    eventually(lambda: not me.is_there(f"posts/{me.posts[0]}"))
    me.context.close()


def test_the_next_page_shows_no_post_whose_deletion_waits_and_says_the_outcome(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "mover")
    delete_post(me.page, me.posts[0])
    me.page.goto("/@mover")
    expect(me.page.locator("#toasts")).to_contain_text("Deleted.")
    expect(card(me.page, me.posts[0])).to_have_count(0)
    expect(card(me.page, me.posts[1])).to_be_visible()
    assert not me.is_there(f"posts/{me.posts[0]}")
    eventually(lambda: me.page.evaluate(NOTES), lambda notes: notes == [])
    me.context.close()


def test_a_log_out_sends_it_first(site: str, browser: Browser) -> None:
    me = Person(site, browser, "outgoer")
    delete_post(me.page, me.posts[0])
    page = me.page
    page.locator(".account summary").click()
    page.get_by_test_id("logout").click()
    expect(page.get_by_test_id("logout")).to_have_count(0)
    assert page.evaluate(f"{NOTES}.length") == 0
    anyone = stacks.Client.new(site, "outwitness")
    with pytest.raises(AssertionError, match=": 404 "):
        anyone("GET", f"posts/{me.posts[0]}")
    me.context.close()


def crash(page: Page, post: object) -> None:
    """End a tab without a word while a deletion waits."""
    delete_post(page, post)
    expect(page.get_by_test_id("undo")).to_be_visible()
    with page.expect_event("crash"), contextlib.suppress(Error):
        page.goto("chrome://crash")


def age(page: Page, by: int) -> None:
    """Set back the times of all notes."""
    page.evaluate(
        f"""(by) => {{
          for (const key of {NOTES}) {{
            const note = JSON.parse(localStorage.getItem(key));
            const times = {{at: note.at - by, begun: note.begun - by}};
            localStorage.setItem(key, JSON.stringify({{...note, ...times}}));
          }}
        }}""",
        by,
    )


def test_after_a_crash_the_next_page_sends_it_but_not_for_a_living_tab(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "crasher")
    post, other = me.posts
    living = me.open("/")
    delete_post(living, other)
    living.locator(".toast-undo").hover()
    crash(me.page, post)
    age(living, -HOUR_MS)  # however long the next page takes, the note is new
    page = me.open("/")
    settle(page)
    assert me.is_there(f"posts/{post}")
    age(page, HOUR_MS + 20_000)
    # The living tab renews its note, for longer than the reload may take.
    living.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000; }")
    pass_seconds(living, 1)
    page.reload()
    expect(page.locator("#toasts")).to_contain_text("Deleted.")
    expect(card(page, post)).to_have_count(0)
    expect(card(page, other)).to_be_visible()
    assert not me.is_there(f"posts/{post}")
    assert me.is_there(f"posts/{other}")
    assert page.evaluate(f"{NOTES}.length") == 1
    me.context.close()


def test_another_person_does_not_send_it_and_an_old_one_is_forgotten(
    site: str, browser: Browser
) -> None:
    me = Person(site, browser, "formerone")
    path = f"posts/{me.posts[0]}"
    crash(me.page, me.posts[0])
    you = Person(site, browser, "lateone")
    me.context.clear_cookies()
    you.sign_in(me.context)
    page = me.open("/")
    age(page, 20_000)
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    page.reload()
    settle(page)
    assert sent == []
    assert me.is_there(path)
    assert page.evaluate(f"{NOTES}.length") == 1
    age(page, 24 * HOUR_MS)
    me.context.clear_cookies()
    me.sign_in(me.context)
    page.reload()
    eventually(lambda: page.evaluate(NOTES), lambda notes: notes == [])
    assert me.is_there(path)
    me.context.close()
    you.context.close()


def test_a_page_of_a_person_who_is_no_longer_signed_in_deletes_nothing(
    site: str, browser: Browser
) -> None:
    """The post's author may delete the comment: the token of the page, not the right, decides."""
    host = Person(site, browser, "hostofit", posts=1)
    guest = Person(site, browser, "guestofit", posts=0)
    comment = guest.api("POST", f"posts/{host.posts[0]}/comments", content="by the guest")["id"]
    page = guest.page
    page.goto(f"/posts/{host.posts[0]}")
    delete_comment(page, comment)
    guest.context.clear_cookies()
    login = guest.context.request
    token = csrf_token(login.get("/login").text())
    form: dict[str, str | float | bool] = {
        "username": "hostofit",
        "password": PASSWORD,
        "csrfmiddlewaretoken": token,
    }
    assert login.post("/login", form=form, headers={"Referer": f"{site}/login"}).ok
    move_away(page)
    pass_seconds(page)
    expect(page.locator(".toast-undo")).to_have_count(0)
    page.wait_for_timeout(LATER_MS)
    assert guest.is_there(f"comments/{comment}/replies")
    found = stacks.Client.new(site, "ofitwitness")("GET", f"posts/{host.posts[0]}/comments")[
        "items"
    ]
    assert [one["content"] for one in found] == ["by the guest"]
    host.context.close()
    guest.context.close()


def refuse(route: Route) -> None:
    body = json.dumps({"code": 1, "detail": "You may not do this."})
    route.fulfill(status=403, content_type="application/json", body=body)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (refuse, "You may not do this."),
        (lambda route: route.fulfill(status=502, body=""), "That did not work."),
        (lambda route: route.abort(), "No connection to the site."),
    ],
    ids=["refused", "broken", "offline"],
)
def test_what_the_server_does_not_delete_is_shown_again(
    answer: Callable[[Route], None], words: str, site: str, browser: Browser
) -> None:
    me = Person(site, browser, f"refused{len(words)}")
    page, post = me.page, me.posts[0]
    page.route("**/delete", answer)
    for path in ("/", f"/posts/{post}"):
        page.goto(path)
        delete_post(page, post)
        move_away(page)
        expect(card(page, post)).to_be_hidden()
        pass_seconds(page)
        expect(page.locator("#toasts")).to_contain_text(words)
        expect(page.locator("#toasts")).not_to_contain_text("Deleted.")
        expect(card(page, post)).to_be_visible()
        assert page.evaluate(f"{NOTES}.length") == 0
    assert me.is_there(f"posts/{post}")
    me.context.close()
