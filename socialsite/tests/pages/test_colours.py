"""The admin has the colours of the site, light and dark, and no others."""

import re
from pathlib import Path

import django
import pytest
from django.conf import settings

pytestmark = pytest.mark.once

SITE = Path(settings.BASE_DIR, "static/css/site.css")
ADMIN = Path(settings.BASE_DIR, "static/css/admin.css")
DJANGO = Path(django.__file__).parent / "contrib/admin/static/admin/css/base.css"
LIGHT, SYSTEM, DARK = ":root", ':root:not([data-theme="light"])', '[data-theme="dark"]'
# Texts of the admin and what is behind them.
PAIRS = [
    *[(text, "body-bg") for text in ("body-fg", "body-quiet-color", "link-fg", "error-fg")],
    *[(text, "darkened-bg") for text in ("body-fg", "body-quiet-color", "link-fg")],
    *[("header-color", "header-bg"), ("header-link-color", "header-bg")],
    *[("breadcrumbs-fg", "breadcrumbs-bg"), ("breadcrumbs-link-fg", "breadcrumbs-bg")],
    *[("body-fg", f"message-{kind}-bg") for kind in ("success", "warning", "error")],
    *[("button-fg", f"{name}button-bg") for name in ("", "default-", "close-", "delete-")],
    *[("body-fg", "selected-bg"), ("body-fg", "selected-row"), ("link-fg", "selected-row")],
    ("object-tools-fg", "object-tools-bg"),
]


def variables(css: str, selector: str) -> dict[str, str]:
    """Return the variables of the first block whose selectors end so."""
    body = re.search(re.escape(selector) + r"(?:, [^{]*)? \{([^}]*)\}", css)
    assert body, selector
    found = re.findall(r"--([\w-]+):\s*([^;]+);", body[1])
    return {name: " ".join(value.split()) for name, value in found}


def mapped() -> dict[str, str]:
    """Return which variable of the site each variable of Django's admin is."""
    found = variables(ADMIN.read_text(), "/* Django's names for them. */\n:root")
    return {name: value.removeprefix("var(--").removesuffix(")") for name, value in found.items()}


@pytest.mark.parametrize("theme", [LIGHT, SYSTEM, DARK])
def test_the_values_of_the_admin_are_those_of_the_site(theme: str) -> None:
    site, admin = (variables(path.read_text(), theme) for path in (SITE, ADMIN))
    assert len(admin) >= 15
    assert admin == {name: site[name] for name in admin}
    assert set(mapped().values()) <= set(variables(ADMIN.read_text(), LIGHT))


def test_no_colour_of_django_is_left() -> None:
    own = variables(DJANGO.read_text(), ":root") | variables(ADMIN.read_text(), LIGHT)
    used = set(re.findall(r"^\s+--([\w-]+):", DJANGO.read_text(), re.MULTILINE))
    assert used <= set(own)
    assert used - {"accent", "font-family-monospace"} <= set(mapped())


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize(("text", "behind"), PAIRS)
def test_texts_of_the_admin_are_readable(theme: str, text: str, behind: str) -> None:
    css = ADMIN.read_text()
    known = variables(css, LIGHT) | variables(css, theme)
    names = mapped()
    dark, light = sorted(luminance(known[names[name]]) for name in (text, behind))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
