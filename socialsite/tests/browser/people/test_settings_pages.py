"""The tabs of the settings on a phone: all of them are in view, and no word is cut."""

import pytest
from playwright.sync_api import Browser, expect

from socialsite.tests.browser.kicking import Member

pytestmark = pytest.mark.e2e

PAGES = (
    *("profile", "devices", "password", "two-factor", "email", "blocked", "notifications"),
    *("acts", "export"),
)
CUT = """all => all.filter((tab) => {
  const box = tab.getBoundingClientRect();
  const isCut = tab.scrollWidth > tab.clientWidth || box.left < 0 || box.right > innerWidth;
  return isCut || box.bottom > innerHeight || box.height > 60;
}).map((tab) => tab.textContent)"""


@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_the_tabs_of_the_settings_fit_on_a_phone(
    locale: str, browser: Browser, embedded_site: str
) -> None:
    member = Member(embedded_site, f"settler{locale[:2]}")
    member.log_in()
    context = member.browser(browser, locale=locale)
    context.add_cookies(
        [{"name": n, "value": member.pair[n], "url": embedded_site} for n in ("access", "refresh")]
    )
    page = context.new_page()
    for width, rows in ((390, 2), (320, 3)):
        page.set_viewport_size({"width": width, "height": 700})
        for name in PAGES:
            page.goto(f"/settings/{name}")
            tabs = page.locator(".settings-tabs a")
            expect(tabs).to_have_count(len(PAGES))
            assert tabs.evaluate_all(CUT) == []
            tops = tabs.evaluate_all("all => all.map((tab) => tab.offsetTop)")
            assert len(set(tops)) <= rows, (name, width)
            expect(page.locator(".settings-tabs [aria-current]")).to_be_in_viewport(ratio=1)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
