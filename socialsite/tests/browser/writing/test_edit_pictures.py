"""Pictures that are added to a post on its edit page upload when they are chosen."""

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import MEDIA, at_home, choose, composer, picture, uploaded
from socialsite.tests.browser.kept_texts import stored

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


def editing(browser: Browser, site: str, name: str) -> Page:
    """Return the edit page of a new post with one picture."""
    page = at_home(browser, site, name)
    choose(page, picture("old.jpg"))
    uploaded(page, 1)
    composer(page).fill("with a picture")
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").filter(has_text=f"@{name}")
    expect(post.locator("[data-viewer] img")).to_have_count(1)
    page.goto(f"/posts/{post.get_attribute('data-post-id')}/edit")
    return page


def test_chosen_pictures_are_uploaded_kept_and_saved(site: str, browser: Browser) -> None:
    page = editing(browser, site, "edits1")
    choose(page, picture("a.jpg"), picture("b.jpg"))
    uploaded(page, 2)
    page.get_by_label("Describe this picture (b.jpg)").fill("The second")
    page.get_by_role("button", name="Move this picture forward (b.jpg)").click()
    page.get_by_role("button", name="Remove this picture (a.jpg)").click()
    stored(page, 1)
    page.wait_for_timeout(500)
    page.reload()
    uploaded(page, 1)
    page.get_by_test_id("save").click()
    images = page.get_by_test_id("post").first.locator("[data-viewer] img")
    expect(images).to_have_count(2)
    expect(images.last).to_have_attribute("alt", "The second")
    stored(page, 0)


def test_saving_waits_for_an_upload_and_a_failed_one_is_tried_again(
    site: str, browser: Browser
) -> None:
    page = editing(browser, site, "edits2")
    page.route(MEDIA, lambda route: route.abort())
    choose(page, picture("a.jpg"))
    alert = page.locator(".preview [role=alert]")
    expect(alert).to_contain_text("a.jpg: No connection to the site.")
    page.get_by_test_id("save").click()
    again = alert.get_by_role("button", name="Try again")
    expect(again).to_be_focused()
    page.unroute(MEDIA)
    held: list[Route] = []
    page.route(MEDIA, lambda route: held.append(route))
    again.click()
    expect(page.get_by_role("progressbar", name="a.jpg")).to_be_visible()
    for _ in range(2):
        page.get_by_test_id("save").click()
    expect(page.get_by_test_id("edit-form")).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    expect(page.get_by_test_id("post").first.locator("[data-viewer] img")).to_have_count(2)


def test_an_upload_is_cancelled_and_pictures_that_stay_take_their_room(
    site: str, browser: Browser
) -> None:
    page = editing(browser, site, "edits3")
    page.route(MEDIA, lambda route: None)
    choose(page, *[picture(f"{number}.jpg") for number in range(9)])
    expect(page.locator(".toast")).to_contain_text("At most 9 pictures fit in a post.")
    expect(page.locator(".preview")).to_have_count(8)
    for number in range(8):
        page.get_by_role("button", name=f"Remove this picture ({number}.jpg)").click()
    page.unroute(MEDIA)
    page.get_by_label("Remove this picture", exact=True).check()
    choose(page, *[picture(f"{number}.jpg") for number in range(9)])
    uploaded(page, 9)
    page.get_by_test_id("save").click()
    expect(page.get_by_test_id("post").first.locator("[data-viewer] img")).to_have_count(9)


def test_without_javascript_pictures_go_with_the_form(site: str, browser: Browser) -> None:
    page = editing(browser, site, "edits4")
    state = page.context.storage_state()
    plain = browser.new_context(
        base_url=site, locale="en", java_script_enabled=False, storage_state=state
    ).new_page()
    plain.goto(page.url)
    expect(plain.get_by_text("Only the first picture of an animation is kept.")).to_be_visible()
    plain.get_by_label("Describe the picture").fill("Sent along")
    choose(plain, picture("a.jpg"))
    plain.get_by_test_id("save").click()
    images = plain.get_by_test_id("post").first.locator("[data-viewer] img")
    expect(images).to_have_count(2)
    expect(images.last).to_have_attribute("alt", "Sent along")
