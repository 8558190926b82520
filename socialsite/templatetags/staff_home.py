"""The tag of the staff home's template."""

from datetime import date
from typing import Any

from django import template
from django.utils import timezone

from accounts.models import User
from socialsite.core.staff_home import day_counts
from socialsite.staff_home.charts import chart, text_of
from socialsite.staff_home.contents import DAYS, TILES

register = template.Library()


@register.inclusion_tag("socialsite/_staff_home.html")
def staff_home(viewer: User) -> dict[str, Any]:
    """Show the tiles that a member of staff may see, and the charts of the last days."""
    tiles = [tile.show() for tile in TILES if viewer.rights & tile.rights]
    days = day_counts.days_before(timezone.now().date())
    found = day_counts.numbers([kind.name for kind in DAYS], days)
    return {
        "tiles": [tile for tile in tiles if tile is not None],
        "charts": [chart(kind.name, str(kind.title), days, found[kind.name]) for kind in DAYS],
        "ends": (days[0], days[-1]),
        "rows": _rows(days, found),
    }


def _rows(days: list[date], found: dict[str, dict[date, int]]) -> list[tuple[date, list[str]]]:
    """Return the table of all numbers, the newest day first."""
    return [(day, [_cell(found[kind.name].get(day)) for kind in DAYS]) for day in reversed(days)]


def _cell(number: int | None) -> str:
    return "–" if number is None else text_of(number)
