"""The site and its admin have the same colours: tokens with a value for light and one for dark."""

import re
from pathlib import Path

import django
import pytest
from django.conf import settings

pytestmark = pytest.mark.once

SHEETS = Path(settings.BASE_DIR, "static/css")
TOKENS, SITE, ADMIN = (SHEETS / f"{name}.css" for name in ("tokens", "site", "admin"))
DJANGO = Path(django.__file__).parent / "contrib/admin/static/admin/css/base.css"
LIGHT, DARK = 0, 1
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


def tokens() -> dict[str, str]:
    """Return the design tokens."""
    return variables(TOKENS.read_text(), ":root:root")


def colours(theme: int) -> dict[str, str]:
    """Return the tokens that are one colour, in the light or the dark theme."""
    found = {
        name: re.fullmatch(r"light-dark\((#\w+), (#\w+)\)", value)
        for name, value in tokens().items()
    }
    return {name: match[theme + 1] for name, match in found.items() if match}


def mapped() -> dict[str, str]:
    """Return which token each variable of Django's admin is."""
    found = variables(ADMIN.read_text(), "/* Django's names for them. */\n:root")
    return {name: value.removeprefix("var(--").removesuffix(")") for name, value in found.items()}


def test_each_token_is_set_once_and_is_no_colour_of_one_theme_alone() -> None:
    assert len(colours(LIGHT)) >= 19
    for name in tokens():
        assert TOKENS.read_text().count(f" --{name}:") == 1
    single = re.sub(r"light-dark\([^()]*(?:\([^()]*\)[^()]*)*\)", "", " ".join(tokens().values()))
    assert not re.search(r"#|rgb|transparent", single)


def test_other_stylesheets_set_no_token_of_the_page_anew() -> None:
    for sheet in (SITE, ADMIN):
        for block in re.findall(r":root[^{]*\{([^}]*)\}", sheet.read_text()):
            assert not set(re.findall(r"--([\w-]+):", block)) & set(tokens()), sheet.name
    assert set(mapped().values()) <= set(tokens())


def test_no_colour_of_django_is_left() -> None:
    own = variables(DJANGO.read_text(), ":root") | tokens()
    used = set(re.findall(r"^\s+--([\w-]+):", DJANGO.read_text(), re.MULTILINE))
    assert used <= set(own)
    assert used - {"accent", "font-family-monospace"} <= set(mapped())


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize(("text", "behind"), PAIRS)
def test_texts_of_the_admin_are_readable(theme: int, text: str, behind: str) -> None:
    known = colours(theme)
    names = mapped()
    dark, light = sorted(luminance(known[names[name]]) for name in (text, behind))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
