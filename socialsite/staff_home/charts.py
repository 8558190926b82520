"""Charts of the last days as SVG: bars for a template, in whole units of the drawing.

No library: pygal writes a style and a script into its SVG, which the site's policy refuses.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from django.utils.translation import gettext as _

# Of the drawing. Its width and height follow the page, so no text is inside.
STEP, BAR, HEIGHT = 10, 8, 100
# The least height of a number above 0.
LEAST = 2
LEADING = (2, 4, 6, 8, 10)


class Bar(NamedTuple):
    """The rectangle of one day; a day without a number is a pale bar over the whole height."""

    x: int
    y: int
    height: int
    known: bool
    title: str


class Chart(NamedTuple):
    """One chart; the labels of its axis are those of the top, the middle and the bottom."""

    name: str
    title: str
    description: str
    bars: list[Bar]
    labels: list[str]
    width: int
    height: int
    bar: int


def chart(name: str, title: str, days: Sequence[date], numbers: Mapping[date, int]) -> Chart:
    """Return the chart of some days, the oldest first."""
    top = top_of(max(numbers.values(), default=0))
    bars = [_bar(place, day, numbers.get(day), top) for place, day in enumerate(days)]
    width = len(days) * STEP
    labels = [text_of(number) for number in (top, top // 2, 0)]
    return Chart(name, title, _described(days, numbers), bars, labels, width, HEIGHT, BAR)


def text_of(number: int) -> str:
    """Return a number with separators, such as 12,345."""
    return f"{number:,}"


def top_of(most: int) -> int:
    """Return the end of an axis: even, at least `most`, and 2, 4, 6, 8 or 10 times a power of 10.

    1 → 2, 7 → 8, 41 → 60, 999 → 1000.
    """
    power = 1
    while LEADING[-1] * power < most:
        power *= 10
    return next(first * power for first in LEADING if first * power >= most)


def _bar(place: int, day: date, number: int | None, top: int) -> Bar:
    x = place * STEP + (STEP - BAR) // 2
    if number is None:
        return Bar(x, 0, HEIGHT, False, _("%(day)s: not counted") % {"day": day})
    height = max(round(number * HEIGHT / top), LEAST) if number else 0
    return Bar(x, HEIGHT - height, height, True, f"{day}: {text_of(number)}")


def _described(days: Sequence[date], numbers: Mapping[date, int]) -> str:
    """Return one sentence about the chart for those who do not see it."""
    if not numbers:
        return _("There are no numbers yet.")
    high = max(numbers, key=lambda day: numbers[day])
    return _("%(total)s in %(known)s days; most on %(day)s: %(most)s. The table has all.") % {
        "total": text_of(sum(numbers.values())),
        "known": len(numbers),
        "day": high,
        "most": text_of(numbers[high]),
    }
