"""The composer as a person uses it: its field, its pictures and their uploads."""

import io

from PIL import Image
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from socialsite.tests.support.newcomers import newcomer

MEDIA = "**/api/v1/media"


def composer(page: Page) -> Locator:
    return page.get_by_test_id("composer").locator("textarea[name=content]")


def open_composer(page: Page) -> Locator:
    """Show the tools of the composer, as somebody without JavaScript does; return the form."""
    form = page.get_by_test_id("composer")
    more = form.get_by_label("More for this post")
    tools = form.locator(".composer-tools")
    expect(more.or_(tools).filter(visible=True)).not_to_have_count(0)  # the page may be on its way
    if not tools.is_visible():
        more.click()
    expect(tools).to_be_visible()
    return form


def open_part(page: Page, name: str) -> None:
    """Open the poll, the content note or the time of the composer."""
    open_composer(page).locator("summary").and_(page.get_by_label(name, exact=True)).click()


def choose_kind(page: Page, kind: str) -> None:
    open_composer(page).locator(f"input[name=kind][value={kind}]").check(force=True)


def save_draft(page: Page) -> None:
    open_composer(page).get_by_test_id("save-draft").click()


def at_home(browser: Browser, site: str, name: str) -> Page:
    return newcomer(browser, site, name, name.capitalize())


def picture(name: str, size: tuple[int, int] = (40, 30), turned: int = 1) -> FilePayload:
    """Return a picture; `turned` is its orientation as cameras write it."""
    out = io.BytesIO()
    image = Image.effect_noise(size, 80) if size[0] > 2048 else Image.new("RGB", size, "red")
    exif = Image.Exif()
    exif[0x0112] = turned
    image.convert("RGB").save(out, "JPEG", exif=exif, quality=95)
    return FilePayload(name=name, mimeType="image/jpeg", buffer=out.getvalue())


def animation(kind: str, size: tuple[int, int] = (40, 30)) -> FilePayload:
    """Return an animation of two frames; `kind` is gif, png or webp."""
    out = io.BytesIO()
    first, second = (Image.effect_noise(size, 80).convert("RGB") for _ in range(2))
    options = {"lossless": True} if kind == "webp" else {}
    first.save(out, kind, save_all=True, append_images=[second], **options)
    return FilePayload(name=f"moves.{kind}", mimeType=f"image/{kind}", buffer=out.getvalue())


def choose(page: Page, *files: FilePayload) -> None:
    page.set_input_files("input[name=images]", files=list(files))


def uploaded(page: Page, number: int) -> None:
    expect(page.locator(".preview input[name=keep]")).to_have_count(number)
