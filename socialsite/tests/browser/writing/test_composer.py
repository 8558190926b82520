"""The composer in a real browser: pictures upload when they are chosen; a post appears once."""

import re

import pytest
from playwright.sync_api import Browser, FilePayload, Route, expect

from socialsite.tests import stacks
from socialsite.tests.browser.composing import (
    MEDIA,
    animation,
    at_home,
    choose,
    choose_kind,
    composer,
    open_composer,
    picture,
    uploaded,
)
from socialsite.tests.browser.kept_texts import stored
from socialsite.tests.support.newcomers import PASSWORD

pytestmark = [pytest.mark.e2e, stacks.IN_ONE_PROCESS]


def test_pictures_are_uploaded_when_chosen_described_ordered_and_published(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "shows1")
    choose(page, picture("first.jpg"), picture("second.jpg"), picture("third.jpg"))
    uploaded(page, 3)
    for name in ("first", "second", "third"):
        page.get_by_label(f"Describe this picture ({name}.jpg)").fill(f"The {name}")
    forward = page.get_by_role("button", name="Move this picture forward (third.jpg)")
    forward.press("Enter")
    expect(forward).to_be_focused()
    forward.press("Enter")
    page.get_by_role("button", name="Remove this picture (second.jpg)").press("Enter")
    uploaded(page, 2)
    stored(page, 1)
    page.reload()  # a draft has its pictures, their order and their words
    uploaded(page, 2)
    page.get_by_test_id("publish").click()
    post = page.get_by_test_id("post").filter(has_text="@shows1")
    expect(post.locator("[data-viewer] img")).to_have_count(2)
    alts = post.locator("[data-viewer] img").evaluate_all("(all) => all.map((one) => one.alt)")
    assert alts == ["The third", "The first"]
    expect(page.locator(".preview")).to_have_count(0)
    stored(page, 0)


def test_a_large_photo_is_made_smaller_and_stays_upright(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "shows2")
    photo = picture("photo.jpg", (3000, 2000), turned=6)
    assert len(photo["buffer"]) > 1024 * 1024
    with page.expect_request(MEDIA) as sent:
        choose(page, photo)
    uploaded(page, 1)
    answer = sent.value.response()
    assert answer is not None
    assert (answer.json()["width"], answer.json()["height"]) == (1365, 2048)
    assert int(sent.value.all_headers()["content-length"]) < len(photo["buffer"])


def test_an_animation_that_is_not_kept_is_named_before_the_post_is_sent(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "moves1")
    # Large files are made smaller in the browser, so the server gets no animation.
    large = [animation(kind, (1000, 700)) for kind in ("png", "webp")]
    assert all(len(file["buffer"]) > 1024 * 1024 for file in large)
    choose(page, animation("gif"), animation("png"), animation("webp"), *large, picture("x.jpg"))
    uploaded(page, 6)
    notes = page.locator(".preview [role=status]")
    expect(notes).to_have_text(
        ["The animation is not kept: only its first picture is published."] * 5
    )
    expect(page.locator(".preview").last.locator("[role=status]")).to_have_count(0)
    stored(page, 1)
    page.reload()
    expect(notes).to_have_count(5)


def test_an_animation_that_arrives_while_the_form_waits_is_named_first(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "moves2")
    held: list[Route] = []
    page.route(MEDIA, lambda route: held.append(route))
    choose(page, animation("gif"))
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_test_id("publish").click()
    held.pop().continue_()
    expect(page.locator(".toast")).to_contain_text("The animation is not kept")
    posts = page.get_by_test_id("post").filter(has_text="Moves2")
    expect(page.locator(".preview")).to_have_count(1)
    expect(posts).to_have_count(0)
    page.get_by_test_id("publish").click()
    expect(posts).to_have_count(1)


def test_a_field_that_stops_the_form_is_unfolded(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "notes1")
    composer(page).fill("words")
    note = page.locator("input[name=note]")
    folded = page.locator(".composer-part", has=note).locator("summary")
    folded.click()
    note.fill("n" * 101)
    folded.click()
    expect(note).to_be_hidden()
    page.get_by_test_id("publish").click()
    expect(note).to_be_focused()
    note.fill("n" * 100)
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").filter(has_text="n" * 100)).to_have_count(1)


def test_wrong_files_are_named_and_not_sent(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "shows3")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    text = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"no picture")
    huge = FilePayload(name="huge.gif", mimeType="image/gif", buffer=b"GIF89a" + bytes(11 << 20))
    choose(page, text, huge)
    alerts = page.locator(".preview [role=alert]")
    expect(alerts.nth(0)).to_contain_text(
        "notes.txt: This is not a JPEG, PNG, WEBP or GIF picture."
    )
    expect(alerts.nth(1)).to_contain_text("huge.gif: A picture may have at most 10 MB.")
    assert not any(url.endswith("/api/v1/media") for url in sent)
    # They hold the post back until they are removed.
    composer(page).fill("with pictures")
    page.get_by_test_id("publish").click()
    expect(alerts.nth(0).get_by_role("button", name="Try again")).to_be_focused()
    for name in ("notes.txt", "huge.gif"):
        page.get_by_role("button", name=f"Remove this picture ({name})").click()
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text("with pictures")


def test_an_upload_that_fails_is_tried_again_and_one_that_lasts_is_cancelled(
    site: str, browser: Browser
) -> None:
    page = at_home(browser, site, "shows4")
    page.route(MEDIA, lambda route: route.abort())
    choose(page, picture("a.jpg"))
    alert = page.locator(".preview [role=alert]")
    expect(alert).to_contain_text("a.jpg: No connection to the site.")
    page.unroute(MEDIA)
    held: list[Route] = []
    page.route(MEDIA, lambda route: held.append(route))
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("progressbar", name="a.jpg")).to_be_visible()
    # The post waits for its picture.
    composer(page).fill("late picture")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("composer")).to_have_attribute("aria-busy", "true")
    held.pop().continue_()
    page.unroute(MEDIA)
    expect(page.get_by_test_id("post").first.locator("[data-viewer] img")).to_have_count(1)

    page.route(MEDIA, lambda route: held.append(route))
    choose(page, picture("b.jpg"))
    expect(page.get_by_role("progressbar", name="b.jpg")).to_be_visible()
    page.get_by_role("button", name="Remove this picture (b.jpg)").click()
    expect(page.locator(".preview")).to_have_count(0)


def test_a_post_is_published_once_in_place_and_announced(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "shows5")
    page.evaluate("window.sameDocument = true")
    held: list[Route] = []
    page.route("**/posts", lambda route: held.append(route))
    composer(page).fill("once only")
    for _ in range(3):
        composer(page).press("Control+Enter")
    form = page.get_by_test_id("composer")
    expect(form).to_have_attribute("aria-busy", "true")
    expect(page.get_by_test_id("publish")).to_be_disabled()
    page.wait_for_timeout(300)
    assert len(held) == 1
    held[0].continue_()
    page.unroute("**/posts")
    expect(page.locator("#feed").get_by_test_id("post")).to_have_count(1)
    expect(page.locator("#toasts")).to_contain_text("Your post was published.")
    expect(composer(page)).to_be_focused()
    expect(composer(page)).to_have_value("")
    # A second one comes above it, and its buttons work.
    composer(page).fill("another")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text("another")
    page.get_by_test_id("like").first.click()
    expect(page.get_by_test_id("like").first).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("window.sameDocument === true")


def test_an_answer_that_is_lost_makes_no_second_post(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "shows6")

    def lose(route: Route) -> None:
        route.fetch()  # it arrives
        route.abort()

    page.route("**/posts", lose)
    composer(page).fill("sent twice")
    page.get_by_test_id("publish").click()
    expect(page.locator("#toasts")).to_contain_text("No connection to the site.")
    page.unroute("**/posts")
    page.reload()
    expect(composer(page)).to_have_value("sent twice")
    page.get_by_test_id("publish").click()
    expect(composer(page)).to_have_value("")
    page.reload()
    expect(page.locator("#feed").get_by_test_id("post")).to_have_count(1)


def test_what_is_wrong_is_shown_at_its_field(site: str, browser: Browser) -> None:
    page = at_home(browser, site, "shows7")
    choose_kind(page, "video")
    page.fill("input[name=video_url]", "https://localhost/")
    composer(page).fill("a video")
    page.get_by_test_id("publish").click()
    field = page.locator("input[name=video_url]")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(page.locator("#err-video_url")).to_contain_text("https address")
    expect(composer(page)).to_have_value("a video")
    field.fill("https://videos.example/1")
    page.get_by_test_id("publish").click()
    expect(page.get_by_test_id("post").first).to_contain_text("a video")
    expect(page.locator(".composer .errors")).to_have_count(0)


def test_without_script_the_browser_sends_the_files(site: str, browser: Browser) -> None:
    context = browser.new_context(base_url=site, locale="en", java_script_enabled=False)
    page = context.new_page()
    page.goto("/register")
    for name, value in (("username", "shows8"), ("nickname", "Shows8"), ("password", PASSWORD)):
        page.fill(f"input[name={name}]", value)
    page.click("main form[method=post] button:not([type=button])")
    open_composer(page)
    choose(page, picture("photo.jpg", (3000, 2000)))
    expect(page.get_by_text("Only the first picture of an animation is kept.")).to_be_visible()
    page.fill("input[name=alt]", "Noise")
    page.get_by_test_id("publish").click()
    image = page.get_by_test_id("post").first.locator("[data-viewer] img")
    expect(image).to_have_attribute("alt", "Noise")
    expect(image).to_have_attribute("width", "2048")
    expect(page).to_have_url(re.compile("/$"))
