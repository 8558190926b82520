"""An admin names the site and closes the sign-up; guests of both HTTP workers see it at once."""

import re

from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.support import admin_forms
from socialsite.tests.support.newcomers import newcomer

LOADS = 6  # more than one for each HTTP worker


def save(page: Page, name: str, sign_up: str) -> None:
    page.goto("/admin/core/sitesettings/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("combobox", name="Sign-up").select_option(sign_up)
    admin_forms.save(page, "changed")


def test_an_admin_names_the_site_and_closes_it(stack: Stack, browser: Browser) -> None:
    admin = newcomer(browser, stack.url, "namer1", "Namer")
    stack.manage("promote", "namer1", "--role", "admin")
    guest = browser.new_context(base_url=stack.url, locale="en").new_page()
    save(admin, "Garden & Tea", "closed")
    try:
        for _ in range(LOADS):
            guest.goto("/login")
            expect(guest).to_have_title("Log in · Garden & Tea")
            expect(guest.get_by_role("link", name="Sign up")).to_have_count(0)
        guest.goto("/register")
        expect(guest.get_by_role("heading", name="Sign-up is closed")).to_be_visible()
        expect(guest.get_by_role("textbox")).to_have_count(0)
        for width in (320, 1200):
            guest.set_viewport_size({"width": width, "height": 700})
            assert guest.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        save(admin, "", "")
    for _ in range(LOADS):
        guest.goto("/login")
        expect(guest).to_have_title("Log in · socialsite")
    guest.get_by_role("link", name="Sign up").click()
    expect(guest).to_have_url(re.compile("/register$"))
    expect(guest.get_by_label("Username")).to_be_visible()
    guest.context.close()
    admin.context.close()
