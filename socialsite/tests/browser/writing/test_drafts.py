"""Drafts on the server and posts of a later time, in a browser."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose, open_part, picture, save_draft, uploaded
from socialsite.tests.support.newcomers import PASSWORD, newcomer
from socialsite.tests.support.waiting import eventually

pytestmark = pytest.mark.e2e

BOTH_WAYS = pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
SHOWN = "%Y-%m-%dT%H:%M"


def writer(browser: Browser, site: str, name: str, *, script: bool) -> Page:
    """Return the home page of a new person in Shanghai, eight hours before UTC."""
    return newcomer(
        browser,
        site,
        name,
        "Drafter",
        java_script_enabled=script,
        timezone_id="Asia/Shanghai",
    )


def text(page: Page) -> str:
    return page.get_by_test_id("composer").locator("textarea[name=content]").input_value()


@BOTH_WAYS
@stacks.IN_ONE_PROCESS
def test_a_draft_is_opened_on_another_device_and_deleted(
    site: str, browser: Browser, script: bool
) -> None:
    name = f"drafter{'js' if script else 'plain'}"
    page = writer(browser, site, name, script=script)
    if script:
        choose(page, picture("one.jpg"))
        uploaded(page, 1)
    page.get_by_test_id("composer").locator("textarea[name=content]").fill("half a thought")
    save_draft(page)
    expect(page).to_have_url(re.compile(r"/drafts/\d+$"))

    other = browser.new_context(
        base_url=site,
        locale="en",
        java_script_enabled=script,
        viewport={"width": 390, "height": 800},
    ).new_page()
    other.goto("/login?next=/drafts")
    other.fill("input[name=username]", name)
    other.fill("input[name=password]", PASSWORD)
    other.get_by_test_id("login").click()
    draft = other.get_by_test_id("draft")
    expect(draft).to_contain_text("half a thought")
    expect(draft.locator("img")).to_have_count(int(script))
    other.get_by_test_id("edit-draft").click()
    assert text(other) == "half a thought"
    other.get_by_test_id("composer").locator("textarea[name=content]").fill("a whole thought")
    save_draft(other)
    expect(other.get_by_test_id("draft")).to_contain_text("a whole thought")
    other.get_by_test_id("delete-draft").click()
    if script:
        other.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(other.get_by_test_id("draft")).to_have_count(0)


@pytest.mark.parametrize(
    ("site", "script"),
    [("stack", True), ("embedded_site", False)],
    indirect=["site"],
    ids=["full-script", "embedded-plain"],
)
def test_a_post_is_scheduled_and_published_by_the_worker(
    site: str, browser: Browser, script: bool
) -> None:
    name = f"later{'js' if script else 'plain'}"
    words = f"an early bird of {name}"
    page = writer(browser, site, name, script=script)
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(words)
    open_part(page, "Publish at")
    time = page.locator("input[name=publish_at]")
    publish = page.get_by_test_id("publish")
    # Without JavaScript the site does not know the zone of the browser, and says that it is UTC.
    expect(page.locator("[data-zone]")).to_have_count(0 if script else 1)
    now = datetime.now(UTC) + timedelta(hours=8 if script else 0)
    time.fill((now - timedelta(hours=2)).strftime(SHOWN))
    expect(publish).to_have_text("Schedule" if script else "Publish")
    publish.click()
    expect(page.locator("#err-publish_at")).to_contain_text("This time is in the past")
    expect(page.locator("textarea[name=content]")).to_have_value(words)
    time.fill((now + timedelta(days=1)).strftime(SHOWN))
    publish.click()
    draft = page.get_by_test_id("draft")
    expect(draft).to_contain_text("Scheduled")
    page.goto("/")
    expect(page.get_by_test_id("composer")).to_be_visible()
    expect(page.get_by_test_id("post").filter(has_text=words)).to_have_count(0)
    # The form knows minutes only.
    api = stacks.Client.known(site, name)
    (waiting,) = api("GET", "drafts")["items"]

    def is_scheduled() -> bool:
        soon = datetime.now(UTC) + timedelta(seconds=3)
        try:
            api("PUT", f"drafts/{waiting['id']}", content=words, publish_at=soon.isoformat())
        except AssertionError:  # the time was over before it arrived
            return False
        return True

    eventually(is_scheduled)

    def is_published() -> bool:
        page.goto("/")
        return page.get_by_test_id("post").filter(has_text=words).count() == 1

    eventually(is_published)
    page.goto("/drafts")
    expect(draft).to_have_count(0)


# Sends the form to its scripts only, and returns the minutes that the site adds to the time.
OFFSET = """() => {
  const form = document.querySelector("[data-composer]");
  delete form.dataset.busy;
  form.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));
  return Number(form.elements.utc_offset.value);
}"""


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York", "Pacific/Auckland"])
@stacks.IN_ONE_PROCESS
def test_the_time_is_that_of_the_writers_zone(site: str, browser: Browser, zone: str) -> None:
    local = (datetime.now(ZoneInfo(zone)) + timedelta(days=20)).replace(hour=8, minute=30)
    chosen, in_utc = local.strftime(SHOWN), local.astimezone(UTC).strftime(SHOWN)
    name = f"zone{zone.partition('/')[2].replace('_', '').lower()}"
    page = newcomer(browser, site, name, "Drafter", timezone_id=zone)
    page.get_by_test_id("composer").locator("textarea[name=content]").fill("in the morning")
    open_part(page, "Publish at")
    time = page.locator("input[name=publish_at]")
    time.fill(chosen)
    page.get_by_test_id("publish").click()
    expect(page).to_have_url(re.compile("/drafts$"))
    (draft,) = stacks.Client.known(site, name)("GET", "drafts")["items"]
    assert draft["publish_at"].startswith(in_utc)
    page.get_by_test_id("edit-draft").click()
    expect(time).to_have_value(chosen)
    # What is saved again without a change stays at its time.
    save_draft(page)
    (draft,) = stacks.Client.known(site, name)("GET", "drafts")["items"]
    assert draft["publish_at"].startswith(in_utc)


@stacks.IN_ONE_PROCESS
def test_a_time_that_the_clocks_skip_is_never_earlier(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "skipper", "Drafter", timezone_id="Europe/Berlin")
    page.get_by_test_id("composer").locator("textarea[name=content]").fill("in the night")
    open_part(page, "Publish at")
    # The clocks of Berlin go from 2:00 to 3:00 on 31 March 2030, and back on 27 October.
    for chosen, in_utc in (
        ("2030-03-31T01:59", "2030-03-31T00:59"),
        ("2030-03-31T02:30", "2030-03-31T01:30"),
        ("2030-03-31T03:00", "2030-03-31T01:00"),
        ("2030-10-27T02:30", "2030-10-27T00:30"),  # the first of the two
        ("2030-10-27T03:00", "2030-10-27T02:00"),
    ):
        page.locator("input[name=publish_at]").fill(chosen)
        moment = datetime.fromisoformat(chosen) + timedelta(minutes=page.evaluate(OFFSET))
        assert moment == datetime.fromisoformat(in_utc), chosen
