"""The part of accounts in the staff home: what waits for staff, and people and sign-ups by day."""

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Appeal, SignUpRequest, User
from socialsite.core.rights import Right
from socialsite.core.staff_home.day_counts import Kind, Span
from socialsite.core.staff_home.tiles import Figure, Tile, ago, bounded, waiting


def waiting_sign_ups() -> Figure:
    """Return the number of sign-ups that staff are to decide on, and the age of the first."""
    rows = SignUpRequest.objects.filter(state=SignUpRequest.State.WAITING)
    return _people_waiting(rows, "changed_at")


def open_appeals() -> Figure:
    """Return the number of appeals that nobody decided, and the age of the oldest one."""
    return _people_waiting(Appeal.objects.filter(state=Appeal.State.OPEN), "created_at")


def _people_waiting(rows: "QuerySet[Any]", since: str) -> Figure:
    first = rows.order_by(since).values_list(since, flat=True).first()
    number, value = bounded(rows)
    if first is None:
        return Figure(value, _("Nobody waits for a decision."))
    text = _("The first person has waited for %(time)s.") % {"time": ago(first)}
    return Figure(value, text, waiting(number))


def people_seen(span: Span) -> int | None:
    """Return how many people were here on a day that is just over; None for an older day.

    `last_seen` keeps the last time only, so nobody can say it later. Whoever came first in the
    minute between midnight and the count is counted too.
    """
    if not span.is_just_over:
        return None
    return User.objects.filter(last_seen__gte=span.start).count()


def sign_ups(span: Span) -> int:
    """Return how many accounts were made on a day, whatever became of them."""
    return User.objects.filter(created_at__gte=span.start, created_at__lt=span.end).count()


WAITING_SIGN_UPS = Tile(
    gettext_lazy("Sign-ups that wait"),
    waiting_sign_ups,
    page="admin:accounts_signuprequest_changelist",
    rights=Right.SIGN_UPS,
)
OPEN_APPEALS = Tile(
    gettext_lazy("Appeals"),
    open_appeals,
    page="admin:accounts_appeal_changelist",
    rights=Right.APPEALS,
)
DAYS = (
    Kind("people", gettext_lazy("Active people"), people_seen),
    Kind("sign_ups", gettext_lazy("New accounts"), sign_ups),
)
