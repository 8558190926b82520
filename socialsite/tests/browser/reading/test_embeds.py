"""A public post is shown in a frame of another site, and a person finds the code for that."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.reading.two_posts import sign_up

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


class Elsewhere(HTTPServer):
    """Another site, of one page."""

    code = ""

    def show(self, page: Page, code: str) -> None:
        """Open the page with this code in it."""
        self.code = code
        page.goto(f"http://localhost:{self.server_port}/")


class Handler(BaseHTTPRequestHandler):
    server: Elsewhere

    def do_GET(self) -> None:
        body = f"<!doctype html><title>Elsewhere</title>{self.server.code}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Write no log."""


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with Elsewhere(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_the_menu_leads_to_code_that_works_on_another_site(
    site: str, browser: Browser, elsewhere: Elsewhere, script: bool
) -> None:
    page = sign_up(browser, site, f"embeds{'js' if script else 'plain'}", script=script)
    post = page.get_by_test_id("post").first
    post.get_by_label("Post menu").click()
    page.get_by_test_id("embed-post").click()
    expect(page).to_have_url(re.compile(r"/posts/\d+/embed/code$"))
    expect(page.frame_locator("iframe").get_by_text("second words")).to_be_visible()
    field = page.get_by_test_id("embed-code")
    expect(field).not_to_be_editable()
    code = field.input_value()
    button = page.get_by_test_id("copy-code")
    if script:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        button.click()
        expect(page.locator(".toast")).to_contain_text("Code copied.")
        assert page.evaluate("navigator.clipboard.readText()") == code
    else:
        expect(button).to_be_hidden()

    guest = browser.new_context(java_script_enabled=script).new_page()
    elsewhere.show(guest, code)
    frame = guest.frame_locator("iframe")
    expect(frame.get_by_text("second words")).to_be_visible()
    with guest.context.expect_page() as opened:
        frame.get_by_role("link", name="View on socialsite").click()
    expect(opened.value).to_have_url(re.compile(rf"^{site}/posts/\d+$"))
    elsewhere.show(guest, code.replace("/embed", ""))
    expect(frame.get_by_text("second words")).to_have_count(0)


def test_without_a_clipboard_the_code_is_selected(site: str, browser: Browser) -> None:
    page = sign_up(browser, site, "embedselect", script=True)
    page.get_by_test_id("post").first.get_by_label("Post menu").click()
    page.get_by_test_id("embed-post").click()
    field = page.get_by_test_id("embed-code")
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_test_id("copy-code").click()
    selected = "(field) => field.value.slice(field.selectionStart, field.selectionEnd)"
    expect(field).to_be_focused()
    assert field.evaluate(selected) == field.input_value()
