"""Pages of the acts of staff on a person, and of appeals against them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import actions, staff_acts
from accounts.credentials import two_factor
from accounts.models import Appeal, User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow
from accounts.views import forms, tickets
from socialsite.core import errors
from socialsite.core.http import api, page_sizes
from socialsite.core.ids import number_of
from socialsite.core.positions import Position
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes

# How long a person who cannot log in may write an appeal.
TICKET_SECONDS = 3600
SHOWN = (
    *forms.SHOWN,
    errors.AlreadyAppealed,
    errors.OtpRequired,
    errors.OtpNotCorrected,
)


@require_safe
@takes(GET=READS)
def show(request: HttpRequest) -> HttpResponse:
    """Show what staff decided about oneself."""
    user, _principal = signed_in(request)
    return _own(request, user, api.cursor_of(request))


@require_POST
@takes(in_form=True, POST=(budgets.APPEAL,))
def appeal(request: HttpRequest, act_id: str) -> HttpResponse:
    """Object to an act."""
    user, _principal = signed_in(request)
    ident = number_of(act_id) or 0
    try:
        request_budgets.spend(request)
        actions.appeal(user, ident, request.POST.get("text", ""))
    except SHOWN as error:
        # The page begins with this act, wherever it is in the list.
        return _own(request, user, Position(0, ident + 1), error)
    return forms.redirect(reverse("acts"))


def _own(
    request: HttpRequest,
    user: User,
    cursor: Position | None,
    error: errors.AppError | None = None,
) -> HttpResponse:
    page = staff_acts.of_person(user.pk, cursor, page_sizes.PAGE_SIZE)
    context = _context(request, page.items, error) | {"next": page.next}
    return forms.page(request, "accounts/acts.html", context, error)


# --- people who cannot log in -------------------------------------------------------------------
def outside(
    request: HttpRequest, user: User, error: errors.AppError, *, may_fail: bool = False
) -> HttpResponse:
    """Show the acts to a person whose password was right, but whom staff keep from logging in.

    `may_fail`: the error is a mistake in the form of an appeal.
    """
    page = staff_acts.of_person(user.pk, None, page_sizes.PAGE_SIZE)
    context = _context(request, page.items, error if may_fail else None) | {
        "why": "" if may_fail else str(error.detail),
        "ticket": tickets.for_person(user),
        "needs_code": two_factor.is_on(user),
    }
    return forms.page(request, "accounts/acts_outside.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def appeal_outside(request: HttpRequest) -> HttpResponse:
    """Object to an act without being signed in; without a valid ticket, begin with the password."""
    if request.method != "POST":
        return forms.redirect(reverse("login"))
    user = tickets.person_of(request.POST.get("ticket", ""), TICKET_SECONDS)
    if user is None:
        late = errors.NotAuthenticated(_("That took too long. Please log in again."))
        return forms.form(request, "accounts/login.html", ("username",), late)
    try:
        request_budgets.spend(request)
        flow.check_code(request, user, request.POST.get("otp", ""))
        actions.appeal(user, number_of(request.POST.get("act", "")) or 0, request.POST["text"])
    except SHOWN as error:
        return outside(request, user, error, may_fail=True)
    return forms.redirect(reverse("appeal_sent"))


@require_safe
@takes(GET=READS)
def appeal_sent(request: HttpRequest) -> HttpResponse:
    """Tell a person who cannot log in that the appeal was received."""
    return forms.page(request, "accounts/appeal_sent.html", {}, None)


def _context(
    request: HttpRequest, items: list[staff_acts.ActBody], error: errors.AppError | None
) -> dict[str, Any]:
    wrong = request.resolver_match and request.resolver_match.kwargs.get("act_id")
    return {
        "acts": [act | staff_acts.in_words(act) for act in items],
        "form_errors": forms.texts_of(error),
        # The act whose form is shown with its mistakes, and what was typed there.
        "wrong": request.POST.get("act") or wrong if error else None,
        "typed": request.POST.get("text", "")[: forms.TYPED_MAX] if error else "",
        "text_max": Appeal.TEXT_MAX,
    }
