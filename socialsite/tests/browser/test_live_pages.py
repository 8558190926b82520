"""Pages that change without a reload: kicks and hints, with the channel layer alive and dead.

The bounds here are far above the results of `make chaos ARGS="kicks"`: a busy machine fails no
test.
"""

import contextlib
import http.client
import json
import socket
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, WebSocketRoute, expect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, unix_connect

from deploy.services import site_processes
from deploy.services.service import Service
from deploy.stack import Stack
from socialsite.tests import stacks
from socialsite.tests.browser import kicking
from socialsite.tests.browser.kicking import FIREFOX, PASSWORD, Member, seconds_until_notice
from socialsite.tests.support.waiting import LIMIT_MS, eventually

pytestmark = pytest.mark.e2e

ANOTHER_CHROME = "You signed in on another Chrome (Chrome, Windows)."
TRIALS = 6
TRIALS_EMBEDDED = 3


def notice_of(page: Page) -> str:
    return page.locator("#notice").inner_text()


def kick_often(member: Member, browser: Browser, trials: int = TRIALS) -> list[float]:
    """Sign in here, then elsewhere, repeatedly; return the seconds to each notice."""
    context = member.browser(browser)
    page, times = None, []
    member.log_in()
    for _trial in range(trials):
        page = member.open(context, page)
        since = member.log_in()
        times.append(seconds_until_notice(page, since))
        assert notice_of(page) == ANOTHER_CHROME
        assert page.url == f"{member.site}/login?next=%2F"
        expect(page.get_by_test_id("login")).to_be_visible()
    context.close()
    return times


def show(what: str, times: list[float]) -> None:
    """Print the durations, shown with `-s`."""
    median = statistics.median(times) * 1000
    print(f"\n{what}: {len(times)} kicks, shown after {median:.0f} ms (median)")  # noqa: T201


def test_a_second_login_of_a_kind_ends_the_first_ones_page_live(
    stack: Stack, browser: Browser
) -> None:
    show("full stack", kick_often(Member(stack.url, "kicked1"), browser))


def test_the_same_in_one_process(embedded_site: str, browser: Browser) -> None:
    show("embedded", kick_often(Member(embedded_site, "kicked1"), browser, TRIALS_EMBEDDED))


@pytest.mark.parametrize(
    ("trouble", "first"),
    [("deaf", "page"), ("killed", "page"), ("killed", "trouble"), ("hanging", "page")],
)
def test_with_a_dead_channel_layer_the_page_signs_out_with_the_reason(
    trouble: str, first: str, stack: Stack, browser: Browser
) -> None:
    member = Member(stack.url, f"{trouble}{first}"[:16])
    member.log_in()
    context = member.browser(browser)
    page = member.open(context) if first == "page" else None
    with kicking.trouble(trouble, stack):
        page = page or member.open(context)
        # Within seconds, by the pause between two checks: see accounts/tests/live/test_sockets.py.
        seconds_until_notice(page, member.log_in())
    assert notice_of(page) == ANOTHER_CHROME
    context.close()


def is_the_same_document(page: Page) -> bool:
    found: bool = page.evaluate("window.sameDocument === true")
    return found


def test_other_roles_are_fetched_without_a_word(stack: Stack, browser: Browser) -> None:
    member = Member(stack.url, "promoted1")
    member.log_in()
    context = member.browser(browser)
    page = member.open(context)
    page.evaluate("window.sameDocument = true")
    # The socket closes, the page gets a new access token, the socket opens again.
    with page.expect_response("**/api/v1/feed/new-count", timeout=LIMIT_MS):
        stack.manage("promote", member.username, "--role", "moderator")
    assert is_the_same_document(page)
    cookie = next(one for one in context.cookies() if one["name"] == "access")
    assert cookie["value"] != member.pair["access"]
    answer = page.goto("/admin/")
    assert answer is not None
    assert answer.ok
    context.close()


def test_a_password_change_ends_other_browsers_and_spares_the_tabs_of_its_own(
    stack: Stack, browser: Browser
) -> None:
    member = Member(stack.url, "changer1")
    member.log_in("firefox", FIREFOX)
    elsewhere = member.browser(browser, user_agent=FIREFOX)
    firefox = member.open(elsewhere)
    member.log_in()
    context = member.browser(browser, user_agent=kicking.WINDOWS)
    other_tab = member.open(context)
    other_tab.evaluate("window.sameDocument = true")

    page = context.new_page()
    page.goto("/settings/password")
    page.fill("input[name=old_password]", PASSWORD)
    page.fill("input[name=new_password]", "left.pass2")
    page.fill("input[name=again]", "left.pass2")
    with other_tab.expect_response("**/api/v1/feed/new-count", timeout=LIMIT_MS):
        page.get_by_test_id("change-password").click()
    expect(page.locator(".notice-good")).to_be_visible()

    seconds_until_notice(firefox, 0)
    expected = "Your password was changed on Chrome, Windows. Please log in with the new one."
    assert notice_of(firefox) == expected
    assert is_the_same_document(other_tab)
    for tab in (page, other_tab):
        tab.goto("/")
        expect(tab.get_by_test_id("composer")).to_be_visible()
    elsewhere.close()
    context.close()


def test_a_closed_browser_gets_the_reason_the_next_day(stack: Stack, browser: Browser) -> None:
    member = Member(stack.url, "laptop1")
    member.log_in()
    context: BrowserContext = member.browser(browser)
    member.open(context).close()
    member.log_in()
    page = context.new_page()
    page.goto("/recommended")
    expect(page.locator(".notice")).to_have_text(ANOTHER_CHROME)
    page.goto("/recommended")
    expect(page.locator(".notice")).to_have_count(0)
    context.close()


# --- new posts ----------------------------------------------------------------------------------
class Audience:
    """A person with an open page, and an author whom they follow."""

    def __init__(self, stack: Stack, browser: Browser, name: str) -> None:
        reader = Member(stack.url, f"{name}reader")
        reader.log_in()
        self.author = stacks.Client.new(stack.url, f"{name}author")
        following = stacks.Client(stack.url)
        following.token = reader.pair["access"]
        following("POST", f"users/{self.author.id}/follow")
        self.page = reader.open(reader.browser(browser))
        self.banner = self.page.get_by_test_id("new-posts")

    def publish(self) -> None:
        self.author("POST", "posts", content="hello")


def test_a_failed_or_overtaken_count_is_fetched_again(stack: Stack, browser: Browser) -> None:
    audience = Audience(stack, browser, "asked")
    failures = iter([429, 503])
    held: list[Route] = []

    def fail_at_first(route: Route) -> None:
        if status := next(failures, None):
            route.fulfill(status=status)
        elif not held:
            held.append(route)
        else:
            route.continue_()

    audience.page.route("**/api/v1/feed/new-count", fail_at_first)
    audience.publish()
    # The third request, not answered yet.
    eventually(lambda: audience.page.wait_for_timeout(50) or held)
    audience.publish()
    audience.page.wait_for_timeout(1000)  # for the hint
    held[0].fulfill(json={"count": 1, "more": False})
    expect(audience.banner).to_have_text("2 new posts")
    audience.page.context.close()


@pytest.mark.parametrize("trouble", ["killed", "hanging"])
def test_posts_published_during_an_outage_are_announced_afterwards(
    trouble: str, stack: Stack, browser: Browser
) -> None:
    audience = Audience(stack, browser, trouble)
    with kicking.trouble(trouble, stack):
        audience.publish()
        audience.page.wait_for_timeout(1000)
    expect(audience.banner).to_have_text("1 new post")
    audience.page.context.close()


# --- many processes -----------------------------------------------------------------------------
class UnixConnection(http.client.HTTPConnection):
    """HTTP to one process."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def post(self, what: str, **body: str) -> Any:
        text = json.dumps(body)
        self.request("POST", f"/api/v1/auth/{what}", text, {"Content-Type": "application/json"})
        return json.loads(self.getresponse().read())


@pytest.fixture
def two(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Two more uvicorn processes of the site; returns their addresses."""
    folder = tmp_path_factory.mktemp("two")
    paths = [folder / "one", folder / "two"]
    running: list[Service] = []
    try:
        for path in paths:
            running.append(site_processes.asgi(stack.env, path))
            running[-1].start(wait=False)
        for service in running:
            service.wait_ready()
        yield paths
    finally:
        for service in running:
            service.stop()


def open_socket(path: Path, access: str) -> ClientConnection:
    headers = {"Authorization": f"Bearer {access}"}
    return unix_connect(
        str(path), "ws://localhost/ws/session/", additional_headers=headers, open_timeout=60
    )


def end_of(connection: ClientConnection) -> tuple[int, str, list[Any]]:
    """Wait for the end of a socket; return its code, its reason, and the messages before."""
    heard = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            heard.append(json.loads(connection.recv(timeout=60)))
    return connection.close_code or 0, connection.close_reason or "", heard


def test_messages_of_one_process_reach_the_sockets_of_another(two: list[Path]) -> None:
    who = {"username": "spread1", "password": PASSWORD, "client": "chrome"}
    pair = UnixConnection(two[0]).post("register", nickname="Spread1", **who)
    for path, other in (two, reversed(two)):
        with open_socket(path, pair["access"]) as connection:
            pair = UnixConnection(other).post("login", **who)
            code, reason, heard = end_of(connection)
        assert (code, reason) == (4001, "login")
        assert heard == [{"type": "kicked", "reason": "login", "by": "Chrome"}]


def test_a_process_that_starts_while_redis_hangs_lets_sockets_in_and_out(
    stack: Stack, two: list[Path]
) -> None:
    who = {"username": "hung1", "password": PASSWORD, "client": "chrome"}
    pair = UnixConnection(two[0]).post("register", nickname="Hung1", **who)
    with kicking.hanging(stack), open_socket(two[0], pair["access"]) as connection:
        pair = UnixConnection(two[1]).post("login", **who)
        assert end_of(connection)[:2] == (4001, "login")
    # Redis is back: sockets that could not join the layer join now.
    with open_socket(two[0], pair["access"]) as connection:
        UnixConnection(two[1]).post("login", **who)
        assert end_of(connection)[:2] == (4001, "login")


def test_sockets_of_a_process_that_starts_again_come_back_at_different_times(
    embedded_site: str, browser: Browser
) -> None:
    member = Member(embedded_site, "scattered")
    member.log_in()
    context = member.browser(browser)
    sockets: list[WebSocketRoute] = []
    context.route_web_socket("**/ws/session/", lambda route: sockets.append(route))
    context.clock.install(time=0)
    page = member.open(context)
    context.clock.pause_at(3_600_000)
    page.evaluate("Math.random = () => { window.isDrawn = true; return 0.5; }")
    (first,) = sockets
    first.close(code=1012)
    eventually(lambda: page.evaluate("window.isDrawn"))
    context.clock.run_for(16_400)
    page.evaluate("1")  # a round trip, after which a second socket would be known
    assert len(sockets) == 1
    context.clock.run_for(200)  # 3 s, and half of the 27 s until the last
    eventually(lambda: (page.evaluate("1"), len(sockets) == 2)[1])
    context.close()
