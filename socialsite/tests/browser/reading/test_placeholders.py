"""The place of a picture while it loads: as large as the picture, and in its colours."""

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import choose, picture, uploaded
from socialsite.tests.support.newcomers import newcomer
from socialsite.tests.support.waiting import eventually

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]

PICTURES = re.compile(r"/media/")
PLACES = """() => [...document.querySelectorAll("article, .pics img, .prose img")].map((part) => {
  const { x, y, width, height } = part.getBoundingClientRect();
  return [x, y, width, height].map(Math.round);
})"""
LOADED = """() =>
  [...document.querySelectorAll(".pics img, .prose img")].every((one) => one.naturalWidth)"""


def publish(page: Page, words: str, *sizes: tuple[int, int]) -> None:
    choose(page, *(picture(f"{number}.jpg", size) for number, size in enumerate(sizes)))
    uploaded(page, len(sizes))
    page.get_by_test_id("composer").locator("textarea[name=content]").fill(words)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text(words)


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desktop"])
def test_nothing_moves_when_pictures_arrive_and_their_colours_are_there_before(
    site: str, browser: Browser, width: int
) -> None:
    page = newcomer(
        browser, site, f"holder{width}", "Holder", viewport={"width": width, "height": 5000}
    )
    page.goto("/")
    publish(page, "wide", (1600, 700))
    publish(page, "tall", (500, 1500))
    publish(page, "small", (40, 30))
    publish(page, "two", (800, 600), (600, 800))
    publish(page, "five", *[(300 + 50 * number, 300) for number in range(5)])
    held: list[Route] = []
    page.route(PICTURES, lambda route: held.append(route))
    page.goto("/", wait_until="domcontentloaded")
    images = page.locator(".pics img")
    expect(images).to_have_count(10)
    eventually(lambda: page.wait_for_timeout(50) or len(held), lambda count: count == 10)
    for image in images.all():
        # The pictures are red.
        background = image.evaluate("(image) => getComputedStyle(image).backgroundImage")
        assert background.count("radial-gradient") == 3
        assert re.search(r"rgb\((238|255), 0, 0\)", background), background
    before = page.evaluate(PLACES)
    for route in held:
        route.continue_()
    page.wait_for_function(LOADED)
    assert page.evaluate(PLACES) == before
