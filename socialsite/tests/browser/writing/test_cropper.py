"""The pictures of a profile, turned and moved in a real browser before they are sent."""

import io

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect

from socialsite.tests.support.newcomers import newcomer

pytestmark = pytest.mark.e2e

RED, BLUE = (220, 20, 20), (20, 20, 220)


def halves() -> FilePayload:
    """Return a wide picture, red on the left and blue on the right."""
    image = Image.new("RGB", (400, 200), RED)
    image.paste(BLUE, (200, 0, 400, 200))
    out = io.BytesIO()
    image.save(out, "PNG")
    return FilePayload(name="a.png", mimeType="image/png", buffer=out.getvalue())


def saved(page: Page, selector: str) -> Image.Image:
    """Save the form and return the picture that the site shows now."""
    with page.expect_navigation():  # the notice may be that of the save before
        page.get_by_test_id("save-profile").click()
    expect(page.locator(".notice-good")).to_be_visible()
    address = page.locator(selector).get_attribute("src")
    return Image.open(io.BytesIO(page.request.get(str(address)).body()))


def is_red(image: Image.Image, x: float, y: float) -> bool:
    place = int(image.width * x), int(image.height * y)
    return image.getchannel("R").getpixel(place) > image.getchannel("B").getpixel(place)  # type: ignore[operator]


def test_a_picture_is_turned_and_moved_by_keyboard_and_by_pointer(
    site: str, browser: Browser
) -> None:
    page = newcomer(browser, site, "cropper1", "Cropper1")
    page.goto("/settings/profile")
    field = page.locator("[data-picture=avatar]")
    canvas = field.locator("canvas")
    with page.expect_file_chooser() as chooser:  # the picture itself is the button
        field.locator("[data-now]").click()
    chooser.value.set_files([halves()])
    expect(canvas).to_be_visible()
    # Turned to the right, the left half is above; only a part of both halves is in the middle.
    field.locator("[data-turn]").click()
    image = saved(page, "[data-picture=avatar] img")
    assert image.width == image.height
    assert [is_red(image, 0.5, y) for y in (0.2, 0.8)] == [True, False]

    page.set_input_files("input[name=avatar]", files=[halves()])
    expect(canvas).to_be_visible()
    canvas.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    image = saved(page, "[data-picture=avatar] img")
    assert [is_red(image, x, 0.5) for x in (0.1, 0.9)] == [True, True]

    page.set_input_files("input[name=avatar]", files=[halves()])
    expect(canvas).to_be_visible()
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - box["width"], box["y"] + 5, steps=8)
    page.mouse.up()
    image = saved(page, "[data-picture=avatar] img")
    assert [is_red(image, x, 0.5) for x in (0.1, 0.9)] == [False, False]


def test_a_choice_can_be_taken_back(site: str, browser: Browser) -> None:
    page = newcomer(browser, site, "cropper2", "Cropper2")
    page.goto("/settings/profile")
    page.set_input_files("input[name=banner]", files=[halves()])
    field = page.locator("[data-picture=banner]")
    expect(field).to_contain_text("Only the first picture of an animation is kept.")
    expect(field.locator("canvas")).to_be_visible()
    field.locator("[data-cancel]").click()
    expect(field.locator("canvas")).to_be_hidden()
    expect(field.locator("input[type=file]")).to_be_focused()
    with page.expect_file_chooser() as chooser:
        field.locator("input[type=file]").press("Space")
    broken = FilePayload(name="broken.png", mimeType="image/png", buffer=b"no picture")
    chooser.value.set_files([broken])
    expect(field).to_contain_text("broken.png")  # the browser cannot show it
    page.set_input_files("input[name=banner]", files=[])
    expect(field).not_to_contain_text("broken.png")
    page.get_by_test_id("save-profile").click()
    expect(page.locator(".notice-good")).to_be_visible()
    expect(field.locator("img")).to_have_count(0)
