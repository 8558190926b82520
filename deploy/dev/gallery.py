"""`make gallery`: screenshots of every page on phone and desktop, in both themes and languages.

It starts the site in one process with demo data in a temporary directory, and writes the pictures
and an `index.html` to `data/gallery`. With `--axe` it also prints the accessibility problems that
axe-core finds on each page, and exits with 1 if there are any. `--docs` renews the
pictures of the README and of docs/design-system.md.
"""

import argparse
import html
import io
import os
import sys
import tempfile
from pathlib import Path

import django
from PIL import Image
from playwright.sync_api import FloatRect, Page

from deploy.services.site_processes import PROJECT_DIR
from socialsite.tests import stacks
from socialsite.tests.browser import accessibility
from socialsite.tests.browser.catalogue import (
    LOOKS,
    THEMES,
    VIEWS,
    Catalogue,
    Look,
    View,
    demo_site,
)

FOLDER = PROJECT_DIR / "data" / "gallery"
IMAGES = PROJECT_DIR / "docs" / "images"
# A picture shows at most this many pixels of a long page.
HEIGHT = 2400
# The pictures of the README: file, view, look and height in pixels.
README = (
    ("home", "home", Look("desktop", "light", "en"), 900),
    ("post-dark", "post", Look("desktop", "dark", "en"), 900),
    ("home-phone-zh", "home", Look("phone", "dark", "zh-Hans"), 844),
    ("profile-phone", "profile", Look("phone", "light", "en"), 844),
)
# The pictures of docs/design-system.md, light beside dark: file, view, element.
PARTS = (
    ("part-composer", "home-writing", "[data-composer]"),
    ("part-post", "post", ".post"),
    ("part-profile", "profile", ".profile"),
    ("part-people", "suggestions", ".people"),
    ("part-notifications", "notifications", ".notes"),
    ("part-form", "settings-password", "main form"),
    ("part-empty", "search-nothing", ".empty"),
)
PART_HEIGHT = 560


def main() -> int:
    """Take the pictures that the command line asks for."""
    parser = argparse.ArgumentParser(description="Screenshots of every page.")
    parser.add_argument("--views", default="", help="names of views, with commas (default: all)")
    parser.add_argument("--looks", default="", help="such as phone-dark-en (default: all)")
    parser.add_argument("--axe", action="store_true", help="also check each page with axe-core")
    parser.add_argument("--docs", action="store_true", help="renew the pictures of the documents")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    django.setup()
    views = [v for v in VIEWS if not options.views or v.name in options.views.split(",")]
    looks = [look for look in LOOKS if not options.looks or str(look) in options.looks.split(",")]
    with (
        tempfile.TemporaryDirectory(prefix="socialsite-gallery-") as folder,
        demo_site(Path(folder), 120, 600) as site,
        stacks.browser(stacks.CHROMIUM) as browser,
    ):
        catalogue = Catalogue(site, browser)
        if options.docs:
            return _docs(catalogue)
        problems = [line for look in looks for line in _taken(catalogue, look, views, options)]
    _index(views, looks)
    print("\n".join([*problems, f"{len(views) * len(looks)} pictures are in {FOLDER}"]))
    return 1 if problems else 0


def _taken(
    catalogue: Catalogue, look: Look, views: list[View], options: argparse.Namespace
) -> list[str]:
    """Take the pictures of one look; return the accessibility problems."""
    problems: list[str] = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    for who in dict.fromkeys(view.by for view in views):
        context = catalogue.context(who, look)
        page = context.new_page()
        for view in (one for one in views if one.by == who):
            catalogue.open(page, view)
            _picture(page).save(FOLDER / f"{view.name}-{look}.webp", quality=80)
            if options.axe:
                found = accessibility.problems(page)
                problems += [f"{view.name} {look}: {one}" for one in found]
        context.close()
    print(f"{look}: {len(problems)} problems" if options.axe else look, flush=True)
    return problems


def _picture(page: Page, height: int = HEIGHT) -> Image.Image:
    """Return a picture of a page from its top, at most `height` pixels high."""
    whole = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]  # type: ignore[index]
    clip = FloatRect(x=0, y=0, width=width, height=min(whole, height))
    return Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))


def _docs(catalogue: Catalogue) -> int:
    """Renew the pictures of the README and of the design system."""
    views = {view.name: view for view in VIEWS}
    for name, view, look, height in README:
        with catalogue.page(views[view], look) as page:
            _stored(_picture(page, height), name)
    for name, view, element in PARTS:
        halves = []
        for theme in THEMES:
            with catalogue.page(views[view], Look("desktop", theme, "en")) as page:
                part = page.locator(element).first.screenshot()
                halves.append(Image.open(io.BytesIO(part)).convert("RGB"))
        width, height = halves[0].size
        both = Image.new("RGB", (2 * width, min(height, PART_HEIGHT)))
        for number, half in enumerate(halves):
            both.paste(half, (number * width, 0))
        _stored(both, name)
    return 0


def _stored(picture: Image.Image, name: str) -> None:
    """Write a picture into the documents, with few colours to keep it small."""
    few = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(IMAGES / f"{name}.png", optimize=True)


def _index(views: list[View], looks: list[Look]) -> None:
    """Write a page that shows all pictures, one row for each view."""
    rows = [
        f"<h2>{html.escape(view.name)}</h2><p>"
        + "".join(
            f'<a href="{view.name}-{look}.webp"><img loading="lazy" alt="{look}" title="{look}" '
            f'src="{view.name}-{look}.webp"></a>'
            for look in looks
        )
        for view in views
    ]
    style = "body{font:1rem sans-serif;background:#888}img{height:28rem;margin:.25rem}"
    text = f"<!doctype html><meta charset=utf-8><title>Gallery</title><style>{style}</style>"
    (FOLDER / "index.html").write_text(text + "\n".join(rows))


if __name__ == "__main__":
    sys.exit(main())
