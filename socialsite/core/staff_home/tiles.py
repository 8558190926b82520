"""Tiles of the staff home: each shows one figure about waiting work or the state of the site.

An app declares its tiles in its module `staff_home`. The function of a tile uses indexes and counts
at most COUNTED_MAX rows. If a figure cannot be read, its tile says so and the page is shown.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import DatabaseError
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from socialsite.core.redis import RedisDown
from socialsite.core.rights import READING

logger = logging.getLogger(__name__)

COUNTED_MAX = 1000
# The checks run every night; an older result means that the schedule does not run.
CHECK_VALID = timedelta(days=2)


# States of a tile, and classes in its markup. CALLS: somebody should act.
CALM, CALLS, UNKNOWN = "calm", "calls", "unknown"


class Figure(NamedTuple):
    """What a tile shows: a number or a size, one sentence, and what that means for staff."""

    value: str
    text: str
    state: str = CALM


class Shown(NamedTuple):
    """A tile as the template gets it; `address` is empty for a tile without a page."""

    title: str
    value: str
    text: str
    state: str
    address: str


@dataclass(frozen=True)
class Tile:
    """A tile: its title, the function that reads its figure, and the name of the linked page.

    The function returns None if the site does not need the tile.
    """

    title: Promise
    read: Callable[[], Figure | None]
    # Its list of the admin, such as "admin:core_event_changelist".
    page: str = ""
    # Shown to whoever has one of these rights.
    rights: int = READING

    def show(self) -> Shown | None:
        """Return the tile with its present figure."""
        address = reverse(self.page) if self.page else ""
        try:
            figure = self.read()
        except (OSError, DatabaseError, RedisDown) as error:
            logger.warning("tile %s has no figure: %s", self.read.__name__, error)
            text = _("This is unknown at the moment.")
            return Shown(str(self.title), "?", text, UNKNOWN, address)
        if figure is None:
            return None
        return Shown(str(self.title), *figure, address)


def bounded(rows: "QuerySet[Any]") -> tuple[int, str]:
    """Return the number of rows up to COUNTED_MAX, and its text: "1000+" if there are more."""
    number = len(rows.order_by().values_list("pk")[: COUNTED_MAX + 1])
    if number > COUNTED_MAX:
        return COUNTED_MAX, f"{COUNTED_MAX}+"
    return number, str(number)


def ago(moment: datetime | int) -> str:
    """Return the time since a moment (aware, or Unix ms) in words, such as "3 hours"."""
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(moment / 1000, UTC)
    if timezone.now() - moment < timedelta(minutes=1):
        return _("less than a minute")
    return timesince(moment, depth=1)


def checked(finished_ms: int | None, wrong: int = 0, *, fixed: bool = False) -> Figure:
    """Return the figure of a nightly check: how much was wrong; None for no check yet."""
    if finished_ms is None:
        return Figure("–", _("There was no check yet."), UNKNOWN)
    time = {"time": ago(finished_ms)}
    if fixed and wrong:
        text = _("They were wrong and are corrected. The check was %(time)s ago.") % time
    elif wrong:
        text = _("They are wrong. The check was %(time)s ago.") % time
    else:
        text = _("All are right. The check was %(time)s ago.") % time
    finished = datetime.fromtimestamp(finished_ms / 1000, UTC)
    is_old = timezone.now() - finished > CHECK_VALID
    return Figure(str(wrong), text, CALLS if wrong or is_old else CALM)


def waiting(number: int) -> str:
    """Return the state of a tile about so much work that waits."""
    return CALLS if number else CALM
