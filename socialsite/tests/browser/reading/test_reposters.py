"""The names of all who reposted a post are reached by touch and by keyboard."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests import stacks
from socialsite.tests.browser import accessibility
from socialsite.tests.stacks import Client
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_the_names_behind_a_number_are_opened_by_touch_and_by_keyboard(
    site: str, browser: Browser, script: bool
) -> None:
    kind = "js" if script else "plain"
    page = newcomer(browser, site, f"names{kind}", "Reader")
    me = Client(site)
    login = {"username": f"names{kind}", "password": "right.pass1", "client": "other"}
    me.token = me("POST", "auth/login", **login)["access"]
    author = Client.new(site, f"origin{kind}")
    post = author("POST", "posts", content="known to many")["id"]
    for number in range(3):
        friend = Client.new(site, f"by{number}{kind}")
        me("POST", f"users/{friend.id}/follow")
        friend("POST", f"posts/{post}/repost")
    touch = browser.new_context(
        base_url=site,
        locale="en",
        viewport={"width": 390, "height": 844},
        has_touch=True,
        java_script_enabled=script,
        storage_state=page.context.storage_state(),
    ).new_page()
    touch.goto("/")
    line = touch.get_by_test_id("reposted-by")
    expect(line).to_contain_text(f"Reposted by by2{kind}Nick and 2 more")
    names = line.get_by_role("link")
    expect(names).to_have_count(0)
    opener = line.locator("summary")
    box = opener.bounding_box()
    assert box
    assert box["height"] >= 24
    opener.tap()
    expect(names).to_have_count(3)
    if script:
        assert accessibility.problems(touch) == []
    opener.press("Enter")
    expect(names).to_have_count(0)
    opener.press("Enter")
    for number in (2, 1, 0):
        touch.keyboard.press("Tab")
        expect(names.nth(2 - number)).to_be_focused()
        expect(names.nth(2 - number)).to_have_text(f"by{number}{kind}Nick")
    names.last.press("Enter")
    touch.wait_for_url(f"**/@by0{kind}")
