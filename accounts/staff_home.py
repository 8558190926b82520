"""The part of accounts in the staff home: sign-ups that wait."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import SignUpRequest
from socialsite.core.staff_home.tiles import Figure, Tile, ago, bounded, waiting


def waiting_sign_ups() -> Figure:
    """Return the number of sign-ups that staff are to decide on, and the age of the first."""
    rows = SignUpRequest.objects.filter(state=SignUpRequest.State.WAITING)
    first = rows.order_by("changed_at").values_list("changed_at", flat=True).first()
    number, value = bounded(rows)
    if first is None:
        return Figure(value, _("Nobody waits for a decision."))
    text = _("The first person has waited for %(time)s.") % {"time": ago(first)}
    return Figure(value, text, waiting(number))


WAITING_SIGN_UPS = Tile(
    gettext_lazy("Sign-ups that wait"),
    waiting_sign_ups,
    page="admin:accounts_signuprequest_changelist",
)
