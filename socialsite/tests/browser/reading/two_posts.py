"""New people with two posts of their own."""

from playwright.sync_api import Browser, Page, expect

from socialsite.tests.support.newcomers import newcomer


def sign_up(browser: Browser, site: str, name: str, *, script: bool) -> Page:
    """A page of a new, logged-in person; a script error or a CSP violation fails the test."""
    viewport = {"width": 390, "height": 800}
    page = newcomer(
        browser, site, name, f"{name}Nick", java_script_enabled=script, viewport=viewport
    )
    for text in ("first words", "second words"):
        page.get_by_test_id("composer").locator("textarea[name=content]").fill(text)
        page.get_by_test_id("publish").click()
        expect(page.get_by_test_id("post").first).to_contain_text(text)
    return page
