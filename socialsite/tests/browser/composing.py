"""The composer as a person uses it: its field, its pictures and their uploads."""

import io

from PIL import Image
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from socialsite.tests.support.newcomers import newcomer

MEDIA = "**/api/v1/media"


def composer(page: Page) -> Locator:
    return page.get_by_test_id("composer").locator("textarea[name=content]")


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
