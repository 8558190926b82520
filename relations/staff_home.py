"""The part of relations in the staff home: the last check of the counters."""

from django.utils.translation import gettext_lazy

from relations.counters import recount
from socialsite.core.rights import Right
from socialsite.core.staff_home.tiles import Figure, Tile, checked


def wrong_counters() -> Figure:
    """Return how many people had a wrong counter at the last check."""
    check = recount.last()
    if check is None:
        return checked(None)
    return checked(check.finished_at, check.wrong, fixed=check.fixed)


WRONG_COUNTERS = Tile(
    gettext_lazy("Wrong counts of follows"), wrong_counters, rights=Right.OPERATION
)
