"""An announcement: a member dismisses it for good, a guest sees it until it is over."""

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.support import admin_forms
from socialsite.tests.support.newcomers import newcomer

LOADS = 6  # more than one for each HTTP worker
TEXT = "Tonight we move to a new server. More at https://example.org/a-rather-long-address-of-it"


def write(page: Page) -> None:
    page.goto("/admin/core/announcement/add/")
    page.get_by_label("Text in English").fill(TEXT)
    for name, day in (("starts_at", "2026-01-01"), ("ends_at", "2100-01-01")):
        page.locator(f"[name={name}_0]").fill(day)
        page.locator(f"[name={name}_1]").fill("10:00:00")
    page.get_by_label("Guests see it too").check()
    admin_forms.save(page)


def delete(page: Page) -> None:
    page.goto("/admin/core/announcement/")
    page.get_by_role("link", name=TEXT).click()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("list").filter(has_text="deleted successfully")).to_be_visible()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_a_dismissed_announcement_stays_away(stack: Stack, browser: Browser, script: bool) -> None:
    kind = "js" if script else "plain"
    admin = newcomer(browser, stack.url, f"herald{kind}", "Herald")
    stack.manage("promote", f"herald{kind}", "--role", "admin")
    member = newcomer(browser, stack.url, f"hearer{kind}", "Hearer", java_script_enabled=script)
    guest = browser.new_context(base_url=stack.url, java_script_enabled=script).new_page()
    write(admin)
    try:
        for page in (member, guest):
            for width in (320, 1200):
                page.set_viewport_size({"width": width, "height": 700})
                page.goto("/recommended")
                expect(page.get_by_test_id("announcement")).to_contain_text("a new server")
                assert page.evaluate("document.documentElement.scrollWidth") <= width
        member.get_by_role("button", name="Do not show again").press("Enter")
        for page, shown in ((member, 0), (guest, 1)):
            for _ in range(LOADS):
                page.goto("/settings/reading")
                expect(page.get_by_test_id("announcement")).to_have_count(shown)
        expect(guest.get_by_role("button", name="Do not show again")).to_have_count(0)
    finally:
        delete(admin)
    guest.reload()
    expect(guest.get_by_test_id("announcement")).to_have_count(0)
    for page in (admin, member, guest):
        page.context.close()
