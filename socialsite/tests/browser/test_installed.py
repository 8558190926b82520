"""The site as an app: it can be installed, and works without a connection as far as it says."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import newcomer
from socialsite.tests.support.waiting import eventually

KEPT = "async () => (await (await caches.open('home')).keys()).length"
READY = "() => navigator.serviceWorker.ready.then(() => true)"
AGE = """async () => {
  const cache = await caches.open("home");
  const found = await cache.match("/");
  const headers = new Headers(found.headers);
  headers.set("X-Kept-At", Date.now() - 25 * 3600 * 1000);
  await cache.put("/", new Response(await found.text(), { headers }));
}"""


@pytest.fixture
def page(site: str, browser: Browser, request: pytest.FixtureRequest) -> Page:
    """A page of a new person, whose Home the worker has kept."""
    name = f"app{abs(hash(request.node.name)) % 10**8}"
    page = newcomer(browser, site, name, f"{name[:12]}Nick", service_workers="allow")
    page.goto(site)
    page.evaluate(READY)
    page.get_by_test_id("composer").locator("textarea[name=content]").fill("words of today")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text("words of today")
    page.goto(site)
    wait_for_kept(page, 1)
    return page


def wait_for_kept(page: Page, number: int) -> None:
    """Wait until the worker has kept Home, or deleted it."""
    eventually(lambda: page.evaluate(KEPT), lambda found: found == number)


@pytest.fixture
def offline(page: Page) -> Iterator[BrowserContext]:
    """The browser without a connection, until the test ends."""
    page.context.set_offline(True)
    yield page.context
    page.context.set_offline(False)


@pytest.mark.e2e
@stacks.BOTH_MODES
def test_without_a_connection_the_last_home_is_shown_as_such(
    page: Page, site: str, offline: BrowserContext
) -> None:
    page.goto(site)
    expect(page.locator("[data-kept]")).to_be_visible()
    expect(page.locator("[data-kept]")).to_contain_text("You are offline. This is Home as of")
    assert "%(time)s" not in page.locator("[data-kept]").inner_text()
    expect(page.get_by_test_id("post").first).to_contain_text("words of today")
    # With its style.
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.goto(f"{site}/notifications")
    expect(page.get_by_role("heading", level=1).first).to_have_text("You are offline")
    expect(page.get_by_role("heading", level=1).last).to_have_text("你已离线")
    assert "words of today" not in page.content()
    offline.set_offline(False)
    page.goto(site)
    expect(page.locator("[data-kept]")).to_be_hidden()


@pytest.mark.e2e
@stacks.IN_ONE_PROCESS
def test_only_home_is_kept_and_static_files(page: Page, site: str) -> None:
    for path in ("/recommended", "/settings/devices"):
        page.goto(site + path)
        page.wait_for_load_state("networkidle")
    words = "async () => (await (await caches.open('home')).match('/')).text()"
    assert "words of today" in page.evaluate(words)
    assert "You are offline. This is Home" in page.evaluate(words)
    kept = page.evaluate(
        """async () => {
          const found = [];
          for (const name of await caches.keys()) {
            const cache = await caches.open(name);
            for (const { url } of await cache.keys()) found.push(new URL(url).pathname);
          }
          return found;
        }"""
    )
    others = {path for path in kept if not path.startswith("/static/")}
    assert others == {"/", "/offline"}


@pytest.mark.e2e
@stacks.IN_ONE_PROCESS
def test_nothing_is_kept_after_a_log_out(page: Page, site: str) -> None:
    page.get_by_text("Account and settings").locator("..").click()
    page.get_by_test_id("logout").click()
    expect(page.get_by_test_id("logout")).to_have_count(0)
    wait_for_kept(page, 0)
    page.context.set_offline(True)
    page.goto(site)
    expect(page.get_by_role("heading", level=1).first).to_have_text("You are offline")
    page.context.set_offline(False)


@pytest.mark.e2e
@stacks.IN_ONE_PROCESS
def test_nothing_is_kept_after_the_sign_in_ended_elsewhere(page: Page, site: str) -> None:
    """The browser was closed meanwhile: the first page that it opens ends what it kept."""
    context = page.context
    page.goto("about:blank")
    context.clear_cookies()
    page.goto(f"{site}/login")
    wait_for_kept(page, 0)
    context.set_offline(True)
    page.goto(site)
    assert "words of today" not in page.content()
    context.set_offline(False)


@pytest.mark.e2e
@stacks.IN_ONE_PROCESS
def test_the_kept_home_is_shown_for_a_day(page: Page, site: str) -> None:
    page.evaluate(AGE)
    page.context.set_offline(True)
    page.goto(site)
    expect(page.get_by_role("heading", level=1).first).to_have_text("You are offline")
    wait_for_kept(page, 0)
    page.context.set_offline(False)


@pytest.mark.e2e
@stacks.IN_ONE_PROCESS
def test_the_site_can_be_installed(page: Page) -> None:
    devtools = page.context.new_cdp_session(page)
    errors = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    # The contexts of these tests are incognito windows.
    assert {error["errorId"] for error in errors} <= {"in-incognito"}
    manifest = devtools.send("Page.getAppManifest")
    assert manifest["errors"] == []
    for icon in json.loads(manifest["data"])["icons"]:
        size = page.evaluate(
            """async (url) => {
              const image = await createImageBitmap(await (await fetch(url)).blob());
              return `${image.width}x${image.height}`;
            }""",
            icon["src"],
        )
        assert size == icon["sizes"]


@pytest.mark.django_db
def test_the_manifest_is_in_the_language_of_the_browser() -> None:
    found: dict[str, Any] = {}
    for language in ("en", "zh-hans"):
        answer = Client().get("/manifest.webmanifest", headers={"accept-language": language})
        assert answer["Content-Type"] == "application/manifest+json"
        assert "Accept-Language" in answer["Vary"]
        assert "public" in answer["Cache-Control"]
        found[language] = answer.json()
    assert found["en"]["shortcuts"][1]["name"] == "Notifications"
    assert found["zh-hans"]["shortcuts"][1]["name"] == "通知"
    for values in found.values():
        assert (values["start_url"], values["scope"], values["display"]) == ("/", "/", "standalone")
        assert {icon["purpose"] for icon in values["icons"]} == {"any", "maskable"}


@pytest.mark.django_db
def test_the_worker_has_a_new_version_with_each_script(monkeypatch: pytest.MonkeyPatch) -> None:
    from socialsite.pages import web_app

    first = Client().get("/sw.js")
    assert first["Content-Type"].startswith("text/javascript")
    assert first["Cache-Control"] == "no-cache"
    monkeypatch.setattr(web_app, "static", lambda name: f"/static/{name}?other")
    assert Client().get("/sw.js").content.split(b"\n")[0] != first.content.split(b"\n")[0]
