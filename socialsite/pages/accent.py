"""The accent of the site in the colour that staff chose, as design tokens of both themes.

Every text stays readable: a token keeps the hue of the colour, and as much of its lightness as its
contrast allows. The colours behind are those of `static/css/tokens.css`.
"""

from collections.abc import Sequence
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from socialsite.core import site
from socialsite.core.errors import NotFound
from socialsite.core.requests.request_budgets import READS, takes

# WCAG 2.2, 1.4.6: texts on what is behind them.
CONTRAST = 7.0
# `--bg`, `--card` and `--sunken` of the light and of the dark theme.
BEHIND = (("#f5f6f3", "#ffffff", "#eef1ec"), ("#0f1513", "#171f1c", "#202a26"))
WHITE = "#ffffff"
# Steps of lightness in OKLCH, which looks even.
STEP = 0.01
YEAR = {"Cache-Control": "public, max-age=31536000, immutable"}

Tokens = dict[str, tuple[str, str]]


@lru_cache(4)
def tokens(colour: str) -> Tokens:
    """Return the tokens that depend on an accent `#rrggbb`: name → light and dark."""
    tints = _colour(colour, 0.95, 0.03), _colour(colour, 0.32, 0.045)
    lightness = _lightness(colour)
    accents = (
        _readable(colour, [*BEHIND[0], tints[0]], lightness, -STEP),
        _readable(colour, [*BEHIND[1], tints[1]], lightness, STEP),
    )
    hovers = [_moved(accents[0], -0.05), _moved(accents[1], 0.05)]
    end = _moved(accents[0], -0.12)
    dark = _readable(_colour(colour, 0.3, 0.05), [accents[1], hovers[1]], 0.3, -STEP)
    return {
        "accent": accents,
        "accent-hover": (hovers[0], hovers[1]),
        "on-accent": (WHITE, dark),
        "tint": tints,
        "on-tint": (accents[0], hovers[1]),
        "focus": (accents[0], hovers[1]),
        # The ends of a gradient, with white texts in both themes.
        "hero": (accents[0], accents[0]),
        "hero-end": (end, end),
    }


def _readable(colour: str, behind: Sequence[str], start: float, step: float) -> str:
    """Return a colour in the first lightness, counted from `start`, that has enough contrast.

    Black or white have it on all that is `behind`, so there always is one.
    """
    from coloraide import Color  # 0.1 s, and only sites with an accent need it

    lightness = start
    while True:
        found = _colour(colour, lightness, 1.0)
        ink = Color(found)
        if all(ink.contrast(one) >= CONTRAST for one in behind):
            return found
        lightness += step


def _colour(colour: str, lightness: float, most: float) -> str:
    """Return a colour with another lightness, and at most so much chroma; within sRGB."""
    from coloraide import Color

    found = Color(colour).convert("oklch")
    chroma = min(found["chroma"], most)
    made = Color("oklch", [min(1.0, max(0.0, lightness)), chroma, found["hue"]])
    return str(made.convert("srgb").fit().to_string(hex=True))


def _moved(colour: str, by: float) -> str:
    return _colour(colour, _lightness(colour) + by, 1.0)


def _lightness(colour: str) -> float:
    from coloraide import Color

    return float(Color(colour).convert("oklch")["lightness"])


@require_safe
@takes(GET=READS)
def stylesheet(request: HttpRequest, colour: str) -> HttpResponse:
    """The tokens of the site's accent; the address names it, so that browsers keep the answer."""
    accent = site.current().accent
    if accent != f"#{colour}":
        raise NotFound
    rules = [
        f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in tokens(accent).items()
    ]
    css = ":root:root:root {\n  " + "\n  ".join(rules) + "\n}\n"
    return HttpResponse(css, content_type="text/css; charset=utf-8", headers=YEAR)
