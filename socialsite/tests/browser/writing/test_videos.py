"""Videos in a real browser: uploaded, published, prepared, played; a killed worker."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, Route, expect

from deploy.stack import Stack
from socialsite.core.tests.media.videos import samples
from socialsite.tests import stacks
from socialsite.tests.browser.composing import at_home, choose_kind, composer
from socialsite.tests.support.waiting import LIMIT_MS, eventually

pytestmark = pytest.mark.e2e
UPLOAD = "**/api/v1/media/uploads**"
MOVES = "async (video) => { video.muted = true; await video.play(); }"


def film(seconds: int = 3) -> FilePayload:
    data = samples.video(size="320x180", seconds=seconds)
    return FilePayload(name="film.mp4", mimeType="video/mp4", buffer=data)


def choosing(browser: Browser, site: str, name: str) -> Page:
    """Return a home page with the composer of a video."""
    page = at_home(browser, site, name)
    choose_kind(page, "video")
    return page


def state(page: Page) -> Locator:
    return page.locator(".composer-video-state")


def published(page: Page, name: str, words: str) -> Locator:
    composer(page).fill(words)
    page.get_by_test_id("publish").click()
    return page.get_by_test_id("post").filter(has_text=f"@{name}")


def plays(video: Locator) -> None:
    """Play a video until its time advances, then seek, which asks for a range."""
    video.evaluate(MOVES)
    eventually(lambda: video.evaluate("(video) => video.currentTime"), lambda at: at > 0.3)
    video.evaluate("(video) => { video.currentTime = video.duration - 0.5; }")
    eventually(lambda: bool(video.evaluate("(video) => video.ended || !video.seeking")))
    assert video.evaluate("(video) => video.error") is None


@stacks.BOTH_MODES
def test_a_video_is_uploaded_published_and_played(site: str, browser: Browser) -> None:
    page = choosing(browser, site, "films1")
    page.set_input_files("#id-video", files=[film()])
    expect(page.locator("input[name=video]")).not_to_have_value("")
    post = published(page, "films1", "a film")
    video = post.locator("video")
    expect(video).to_be_visible()
    plays(video)
    expect(state(page)).to_be_hidden()
    box = video.bounding_box()
    assert box is not None
    assert box["width"] / box["height"] == pytest.approx(320 / 180, rel=0.02)


@stacks.IN_ONE_PROCESS
def test_an_upload_shows_its_progress_and_can_be_cancelled(site: str, browser: Browser) -> None:
    page = choosing(browser, site, "films2")
    held: list[Route] = []
    page.route(UPLOAD, lambda route: held.append(route))
    page.set_input_files("#id-video", files=[film()])
    expect(state(page)).to_contain_text("The video is being uploaded.")
    expect(state(page).get_by_role("progressbar")).to_be_visible()
    state(page).get_by_role("button", name="Cancel").click()
    expect(state(page)).to_be_hidden()
    expect(page.get_by_label("Address of the video")).to_be_visible()
    page.unroute(UPLOAD)
    page.set_input_files("#id-video", files=[film()])
    expect(state(page)).to_contain_text("The video is ready.")
    page.reload()  # the text that is kept in the browser has the video
    expect(state(page)).to_contain_text("The video is ready.")


@stacks.IN_ONE_PROCESS
def test_what_is_wrong_is_said_and_the_upload_tried_again(site: str, browser: Browser) -> None:
    page = choosing(browser, site, "films3")
    wrong = FilePayload(name="a.mp4", mimeType="video/mp4", buffer=b"#EXTM3U\n" * 10)
    page.set_input_files("#id-video", files=[wrong])
    expect(state(page).get_by_role("alert")).to_contain_text("Browsers cannot play this file.")
    state(page).get_by_role("button", name="Remove this video").click()
    page.clock.install()
    page.route(UPLOAD, lambda route: route.abort())
    page.set_input_files("#id-video", files=[film()])
    alert = state(page).get_by_role("alert")

    def is_told() -> bool:
        page.clock.run_for(10_000)  # the pauses between the tries
        return alert.is_visible()

    eventually(is_told)
    expect(alert).to_contain_text("No connection to the site.")
    page.unroute(UPLOAD)
    state(page).get_by_role("button", name="Try again").click()
    expect(state(page)).to_contain_text("The video is ready.")
    expect(published(page, "films3", "after all").locator("video")).to_be_visible()


@stacks.BOTH_MODES
def test_a_broken_connection_costs_one_part(site: str, browser: Browser) -> None:
    page = choosing(browser, site, "films5")
    padding = 9_000_000
    data = samples.video(size="320x180")
    data += padding.to_bytes(4, "big") + b"free" + bytes(padding - 8)
    seen: list[tuple[str, str]] = []

    def carry(route: Route) -> None:
        request = route.request
        seen.append((request.method, request.headers.get("upload-offset", "")))
        # The second part gets lost on its way, then the answer to the third.
        if len(seen) == 3:
            route.abort("connectionreset")
        elif len(seen) == 6:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(UPLOAD, carry)
    film = FilePayload(name="film.mp4", mimeType="video/mp4", buffer=data)
    page.set_input_files("#id-video", files=[film])
    expect(page.locator("input[name=video]")).not_to_have_value("")
    part = 4 * 1024 * 1024
    places = [offset for method, offset in seen if method == "PATCH"]
    assert places == ["0", f"{part}", f"{part}", f"{2 * part}"]
    assert [method for method, _ in seen] == [
        *("POST", "PATCH", "PATCH", "GET", "PATCH", "PATCH", "GET"),
    ]
    expect(published(page, "films5", "whole").locator("video")).to_be_visible()


@stacks.BOTH_MODES
def test_captions_are_added_and_shown(site: str, browser: Browser) -> None:
    page = choosing(browser, site, "films6")
    page.set_input_files("#id-video", files=[film()])
    link = state(page).get_by_role("link", name="Captions and description")
    expect(link).to_be_visible()
    with page.expect_popup() as opened:
        link.click()
    texts = opened.value
    words = b"WEBVTT\n\n00:00.000 --> 00:02.000\nGood morning\n"
    file = FilePayload(name="a.vtt", mimeType="text/vtt", buffer=words)
    texts.set_input_files("[name=file]", files=[file])
    texts.get_by_label("Language of the captions").select_option("en")
    texts.get_by_role("textbox", name="Description").fill("A hill at dawn")
    texts.get_by_test_id("save-texts").click()
    expect(texts.get_by_test_id("captions")).to_contain_text("English")
    video = published(page, "films6", "with words").locator("video")
    expect(video).to_have_attribute("aria-label", "A hill at dawn")
    video.evaluate("(video) => { video.textTracks[0].mode = 'showing'; }")
    cues = "(video) => [...video.textTracks[0].cues ?? []].map((cue) => cue.text)"
    assert eventually(lambda: video.evaluate(cues)) == ["Good morning"]


@pytest.fixture
def dying(stack: Stack) -> Iterator[Stack]:
    """A stack whose worker of videos dies in the middle of its first conversion."""
    worker = stack.processes["video"]
    worker.stop()
    normal = worker.env
    worker.env = {**(normal or {}), "FAILPOINT": "video-converting"}
    worker.start()
    yield stack
    worker.kill()
    worker.env = normal
    worker.start()


def test_the_video_of_a_killed_worker_is_prepared_by_the_next(
    dying: Stack, browser: Browser
) -> None:
    worker = dying.processes["video"]
    page = choosing(browser, dying.url, "films4")
    page.set_input_files("#id-video", files=[film()])
    expect(page.locator("input[name=video]")).not_to_have_value("")
    post = published(page, "films4", "dies")
    eventually(lambda: not worker.running)
    worker.kill()
    expect(post.get_by_test_id("player-wait")).to_contain_text("This video is being prepared.")
    # The poster was made before.
    expect(post.get_by_test_id("player-wait").locator("img")).to_be_visible()
    worker.env = {**(worker.env or {}), "FAILPOINT": ""}
    worker.start()
    # The video's lease must end first: see LEASE_MS of the jobs.
    expect(post.locator("video")).to_be_visible(timeout=2 * LIMIT_MS)
    plays(post.locator("video"))
