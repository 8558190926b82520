"""Following and blocking in a real browser, with and without JavaScript."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from socialsite.tests import stacks
from socialsite.tests.support.newcomers import newcomer

pytestmark = [pytest.mark.e2e, stacks.BOTH_MODES]


def sign_up(
    browser: Browser, site: str, name: str, *, script: bool = True, width: int = 1280
) -> Page:
    """A page of a new, logged-in person; a script error or a CSP violation fails the test."""
    viewport = {"width": width, "height": 800}
    return newcomer(
        browser, site, name, f"{name}Nick", java_script_enabled=script, viewport=viewport
    )


def publish(page: Page, text: str) -> None:
    """Publish from the home page."""
    page.goto("/")
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(text)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text(text)


def test_follow_become_friends_block_vanish_and_unblock(site: str, browser: Browser) -> None:
    me, other = sign_up(browser, site, "annajs"), sign_up(browser, site, "bertajs")
    publish(other, "words of berta")
    other.goto("/@annajs")
    other.get_by_test_id("follow").click()
    expect(other.get_by_test_id("follow")).to_have_attribute("aria-pressed", "true")

    # Both directions are shown, and a follow back updates the text and the button in place.
    me.goto("/@bertajs")
    me.evaluate("window.sameDocument = true")
    expect(me.get_by_test_id("relation")).to_have_text("Follows you")
    expect(me.get_by_test_id("follow")).to_contain_text("Follow back")
    me.get_by_test_id("follow").click()
    expect(me.get_by_test_id("relation")).to_have_text("Friends")
    expect(me.get_by_test_id("follow")).to_contain_text("Following")
    expect(me.get_by_test_id("follow")).to_be_focused()
    assert me.evaluate("window.sameDocument === true")
    me.goto("/")
    expect(me.get_by_test_id("post").first).to_contain_text("words of berta")

    # Blocking asks for confirmation.
    me.goto("/@bertajs")
    dialog = me.get_by_role("dialog", name="Block @bertajs?")
    for answer in ("Cancel", "Block"):
        me.get_by_test_id("person-menu").click()
        me.get_by_test_id("block").click()
        expect(dialog).to_be_visible()
        expect(dialog).to_contain_text("or follow each other")
        dialog.get_by_role("button", name=answer, exact=True).click()
        expect(dialog).to_be_hidden()
        if answer == "Cancel":
            me.reload()
            expect(me.get_by_test_id("relation")).to_have_text("Friends")
    expect(me.get_by_test_id("relation")).to_have_text("Blocked")
    expect(me.get_by_test_id("unblock")).to_be_visible()
    expect(me.get_by_test_id("post")).to_have_count(0)
    expect(me.locator("main")).not_to_contain_text("Followers")

    # Each is hidden from the other at once.
    me.goto("/")
    expect(me.locator("main")).not_to_contain_text("words of berta")
    for page, name in ((me, "bertajs"), (other, "annajs")):
        page.goto(f"/search?q={name}")
        expect(page.get_by_test_id("person")).to_have_count(0)
    response = other.goto("/@annajs")
    assert response
    assert response.status == 404

    # The settings list the block and can remove it in place, which can be undone.
    me.goto("/")
    me.locator(".account summary").click()
    me.get_by_role("link", name="Settings").click()
    me.goto("/settings/blocked")
    row = me.get_by_test_id("person")
    expect(row).to_contain_text("@bertajs")
    row.get_by_test_id("unblock").click()
    expect(row.get_by_test_id("relation")).to_have_text("")
    row.get_by_role("button", name="Block again").click()
    expect(row.get_by_test_id("relation")).to_have_text("Blocked")
    row.get_by_test_id("unblock").click()
    expect(row.get_by_role("button", name="Block again")).to_be_visible()
    me.reload()
    expect(me.locator("main")).to_contain_text("You have blocked nobody")
    other.goto("/@annajs")
    expect(other.get_by_test_id("follow")).to_contain_text("Follow")
    expect(other.get_by_test_id("relation")).to_have_text("")


def test_the_same_without_javascript_on_a_phone(site: str, browser: Browser) -> None:
    me = sign_up(browser, site, "annaplain", script=False, width=390)
    other = sign_up(browser, site, "bertaplain", script=False, width=390)
    other.goto("/@annaplain")
    other.get_by_test_id("follow").click()
    me.goto("/search?q=bertaplain")
    expect(me.get_by_test_id("relation")).to_have_text("Follows you")
    me.get_by_test_id("follow").click()
    expect(me).to_have_url(re.compile(r"/search\?q=bertaplain$"))
    expect(me.get_by_test_id("relation")).to_have_text("Friends")

    me.goto("/@annaplain/following")
    search = me.get_by_test_id("search-own")
    for text, count in (("zzz", 0), ("BERTA", 1)):
        search.locator("input").fill(text)
        search.get_by_role("button").click()
        expect(me.get_by_test_id("person")).to_have_count(count)

    me.get_by_test_id("person-menu").click()
    me.get_by_test_id("block").click()
    expect(me.get_by_test_id("block-page")).to_contain_text("Block @bertaplain?")
    me.get_by_role("link", name="Cancel").click()
    expect(me.get_by_test_id("relation")).to_have_text("Friends")
    me.goto("/@bertaplain")
    me.get_by_test_id("person-menu").click()
    me.get_by_test_id("block").click()
    me.get_by_test_id("confirm-block").click()
    expect(me).to_have_url(re.compile("/@bertaplain$"))
    expect(me.get_by_test_id("relation")).to_have_text("Blocked")

    # A person who cannot see the other's pages blocks them back by name.
    other.goto("/settings/blocked")
    other.get_by_test_id("block-by-name").locator("input").fill("@AnnaPlain")
    other.get_by_test_id("block-by-name").get_by_role("button").click()
    other.get_by_test_id("confirm-block").click()
    sides = ((other, "annaplain"), (me, "bertaplain"))
    for page, name in sides:
        response = page.goto(f"/@{name}")
        assert response
        assert response.status == 404
    for page, name in sides:
        page.goto("/settings/blocked")
        expect(page.get_by_test_id("person")).to_contain_text(f"@{name}")
        page.get_by_test_id("unblock").click()
        expect(page).to_have_url(re.compile("/settings/blocked$"))
        expect(page.get_by_test_id("person")).to_have_count(0)
    me.goto("/@bertaplain")
    expect(me.get_by_test_id("follow")).to_contain_text("Follow")


def test_the_people_i_follow_are_searched_as_i_type_and_blocked_in_their_row(
    site: str, browser: Browser
) -> None:
    me = sign_up(browser, site, "annarow")
    api = {name: stacks.Client.new(site, name) for name in ("rowalpha", "rowbeta", "rowbetty")}
    for name in api:
        me.goto(f"/@{name}")
        me.get_by_test_id("follow").click()
        expect(me.get_by_test_id("follow")).to_have_attribute("aria-pressed", "true")
    me.goto("/@annarow/following")
    me.evaluate("window.sameDocument = true")
    people = me.get_by_test_id("person")
    expect(people).to_have_count(3)
    field = me.get_by_test_id("search-own").locator("input")
    field.press_sequentially("rowbe", delay=20)
    expect(people).to_have_count(2)
    expect(me.locator("#found")).to_have_text("People found: 2")
    field.fill("nobody")
    expect(me.locator("#results")).to_contain_text("Nobody found")
    field.fill("")
    expect(people).to_have_count(3)

    row = people.filter(has_text="@rowbetty")
    row.get_by_test_id("person-menu").click()
    row.get_by_test_id("block").click()
    me.get_by_role("dialog").get_by_role("button", name="Block", exact=True).click()
    expect(row.get_by_test_id("relation")).to_have_text("Blocked")
    row.get_by_test_id("unblock").click()
    expect(row.get_by_test_id("follow")).to_have_attribute("aria-pressed", "false")
    assert me.evaluate("window.sameDocument === true")
    me.reload()
    expect(people).to_have_count(2)
