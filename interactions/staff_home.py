"""The part of interactions in the staff home: open cases, wrong counts, and reports by day."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from interactions.actions import recount
from interactions.models import Case, Report
from socialsite.core.rights import Right
from socialsite.core.staff_home.day_counts import Kind, Span
from socialsite.core.staff_home.tiles import Figure, Tile, ago, bounded, checked, waiting


def open_cases() -> Figure:
    """Return the number of open cases, and the age of the oldest open report."""
    times = Report.objects.filter(is_open=True).order_by("created_at")
    first = times.values_list("created_at", flat=True).first()
    number, value = bounded(Case.objects.filter(open_count__gt=0))
    if first is None:
        return Figure(value, _("No report is open."), waiting(number))
    text = _("The oldest open report came %(time)s ago.") % {"time": ago(first)}
    return Figure(value, text, waiting(number))


def wrong_counts() -> Figure:
    """Return how many posts, comments, polls and cases had a wrong count at the last check."""
    check = recount.last()
    if check is None:
        return checked(None)
    return checked(check.finished_at, check.wrong, fixed=check.fixed)


def reports(span: Span) -> int:
    """Return how many reports came on a day, open or closed."""
    rows = Report.objects.filter(created_at__gte=span.start_ms, created_at__lt=span.end_ms)
    # Two ranges of one index: it begins with `is_open`, which is True or NULL.
    return rows.filter(is_open=True).count() + rows.filter(is_open=None).count()


OPEN_CASES = Tile(
    gettext_lazy("Open cases"),
    open_cases,
    page="admin:interactions_case_changelist",
    rights=Right.CASES,
)
WRONG_COUNTS = Tile(gettext_lazy("Wrong counts of likes"), wrong_counts, rights=Right.OPERATION)
DAYS = (Kind("reports", gettext_lazy("Reports"), reports),)
