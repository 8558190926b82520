"""New terms of use: a newcomer accepts them at sign-up, a member before the next page."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.stack import Stack
from socialsite.tests.support import admin_forms
from socialsite.tests.support.newcomers import newcomer

ADD = "/admin/core/sitedocument/add/?kind=terms"


def publish(page: Page, english: str, chinese: str = "") -> None:
    page.goto(ADD)
    page.get_by_label("Text in English").fill(english)
    page.get_by_label("Text in Chinese").fill(chinese)
    admin_forms.save(page)


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_terms_are_accepted_once(stack: Stack, browser: Browser, script: bool) -> None:
    kind = "js" if script else "plain"
    admin = newcomer(browser, stack.url, f"lawyer{kind}", "Lawyer")
    stack.manage("promote", f"lawyer{kind}", "--role", "admin")
    member = newcomer(browser, stack.url, f"reader{kind}", "Reader", java_script_enabled=script)
    publish(admin, "## Be fair\n\nTo everybody.", "请公平待人")
    try:
        member.goto("/search?q=words")
        expect(member).to_have_url(re.compile("/terms/accept"))
        expect(member.get_by_role("heading", name="Be fair")).to_be_visible()
        for width in (320, 1200):
            member.set_viewport_size({"width": width, "height": 700})
            assert member.evaluate("document.documentElement.scrollWidth") <= width
        member.get_by_role("button", name="I accept the terms").click()
        expect(member).to_have_url(re.compile(r"/search\?q=words$"))
        member.goto("/")
        expect(member).to_have_url(re.compile("/$"))

        guest = browser.new_context(
            base_url=stack.url, locale="zh-CN", java_script_enabled=script
        ).new_page()
        guest.goto("/register")
        for name, value in {"username": f"new{kind}", "nickname": "Newcomer"}.items():
            guest.locator(f"[name={name}]").fill(value)
        guest.locator("[name=password]").fill("right.pass1")
        guest.get_by_test_id("register").click()
        # The browser itself asks for the box.
        expect(guest).to_have_url(re.compile("/register$"))
        guest.get_by_label("我接受使用条款").check()
        guest.get_by_test_id("register").click()
        expect(guest).to_have_url(re.compile("/welcome$"))
        guest.goto("/terms")
        expect(guest.get_by_test_id("document")).to_contain_text("请公平待人")
        guest.context.close()
    finally:
        publish(admin, "")
    for page in (admin, member):
        page.context.close()
