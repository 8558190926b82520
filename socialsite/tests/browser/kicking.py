"""Helpers for tests and trials of kicks: an open page, a login elsewhere, a dead channel layer."""

import contextlib
import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from redis import Redis

from deploy.stack import Stack
from socialsite.tests.support.waiting import LIMIT_MS

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PASSWORD = "right.pass1"
LUMINANCE = (0.2126, 0.7152, 0.0722)
# Records when a page shows the sign-out reason, by the clock that this process shares (ms).
WATCH = """
new MutationObserver(() => {
  const notice = document.getElementById("notice");
  if (!window.noticeAt && notice?.checkVisibility() && notice.textContent.trim())
    requestAnimationFrame(() => { window.noticeAt ??= Date.now(); });
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""


class Member:
    """One person, who signs in from anywhere."""

    def __init__(self, site: str, username: str) -> None:
        self.site, self.username = site, username
        self.password = PASSWORD
        self.pair: dict[str, str] = {}
        self._post("register", nickname=f"{username}Nick"[:16])

    def log_in(self, client: str = "chrome", user_agent: str = WINDOWS) -> float:
        """Sign in over the API; return the time of the response, in seconds."""
        self.pair = self._post("login", client=client, user_agent=user_agent)
        return time.time()

    def _post(self, what: str, user_agent: str = WINDOWS, **extra: str) -> dict[str, str]:
        body = {"username": self.username, "password": self.password, **extra}
        request = urllib.request.Request(  # noqa: S310  (our own address)
            f"{self.site}/api/v1/auth/{what}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "User-Agent": user_agent},
        )
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            answer: dict[str, str] = json.loads(response.read())
        return answer

    def browser(self, browser: Browser, **options: Any) -> BrowserContext:
        """A browser of this person, not signed in yet."""
        options = {"base_url": self.site, "locale": "en", **options}
        context = browser.new_context(**options)
        context.add_init_script(WATCH)
        return context

    def open(self, context: BrowserContext, page: Page | None = None) -> Page:
        """Open the home page with the tokens of the last login; return when the socket is open."""
        context.clear_cookies()
        context.add_cookies(
            [
                {"name": name, "value": self.pair[name], "url": self.site}
                for name in self.pair
                if name in ("access", "refresh")
            ]
        )
        page = page or context.new_page()
        # The page requests it as soon as the socket is open.
        with page.expect_response("**/api/v1/feed/new-count", timeout=LIMIT_MS):
            page.goto("/")
        return page


def seconds_until_notice(page: Page, since: float) -> float:
    """Wait until a page shows the sign-out reason; return the seconds since `since`."""
    expect(page.locator("#notice")).to_have_text(re.compile(r"\S"))
    while not (at := page.evaluate("window.noticeAt")):  # with the next frame
        time.sleep(0.01)
    return float(at) / 1000 - since


def contrast(text: Locator) -> float:
    """Return the contrast of an element's text with what is behind it, as WCAG computes it."""
    colours = text.first.evaluate(
        """element => {
          const probe = new OffscreenCanvas(1, 1).getContext("2d");
          const rgb = (colour, on) => {
            probe.fillStyle = on ?? "#fff"; probe.fillRect(0, 0, 1, 1);
            probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
          };
          let behind = element;
          while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
            behind = behind.parentElement;
          const style = getComputedStyle(element), under = getComputedStyle(behind);
          return [rgb(style.color), rgb(under.backgroundColor)];
        }"""
    )
    light = sorted(
        sum(w * _linear(c) for w, c in zip(LUMINANCE, rgb, strict=True)) for rgb in colours
    )
    return float((light[1] + 0.05) / (light[0] + 0.05))


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def redis_of(stack: Stack) -> Redis:
    """A client of the stack's cache Redis, which also serves the channel layer."""
    return Redis.from_url(stack.env["REDIS_URL"])


@contextlib.contextmanager
def deaf(stack: Stack) -> Iterator[None]:
    """Let Redis refuse all messages between processes, but do everything else."""
    with redis_of(stack) as redis:
        redis.execute_command("ACL", "SETUSER", "default", "resetchannels")
        try:
            yield
        finally:
            redis.execute_command("ACL", "SETUSER", "default", "allchannels")


@contextlib.contextmanager
def killed(stack: Stack) -> Iterator[None]:
    """Kill Redis."""
    stack.processes["cache"].kill()
    try:
        yield
    finally:
        stack.start("cache")


@contextlib.contextmanager
def hanging(stack: Stack) -> Iterator[None]:
    """Let Redis accept connections and commands, but answer nothing."""
    process = stack.processes["cache"].pid
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


TROUBLES = {"deaf": deaf, "killed": killed, "hanging": hanging}


def trouble(name: str, stack: Stack) -> contextlib.AbstractContextManager[None]:
    """Run the block under one of the TROUBLES, or none."""
    return TROUBLES[name](stack) if name in TROUBLES else contextlib.nullcontext()
