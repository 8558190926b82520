"""Pages of the acts of staff on a person, and of appeals against them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
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
    request: HttpRequest, ticket: str, error: errors.AppError | None, *, in_form: bool = False
) -> HttpResponse:
    """Show the acts to a person whose password was right, but whom staff keep from logging in.

    With a second factor, ask for its code first. `in_form`: the error is a mistake in the form.
    Without a valid ticket, begin with the password.
    """
    holder = tickets.holder_of(ticket, "appeal", TICKET_SECONDS)
    if holder is None:
        late = errors.NotAuthenticated(_("That took too long. Please log in again."))
        return forms.form(request, "accounts/login.html", ("username",), late)
    needs_code = two_factor.is_on(holder.user) and not holder.coded
    acts: list[staff_acts.ActBody] = []
    if not needs_code:
        acts = staff_acts.of_person(holder.user.pk, None, page_sizes.PAGE_SIZE).items
    context = _context(request, acts, error if in_form else None) | {
        "why": "" if in_form or error is None else str(error.detail),
        "ticket": ticket,
        "needs_code": needs_code,
    }
    return forms.page(request, "accounts/acts_outside.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def appeal_outside(request: HttpRequest) -> HttpResponse:
    """Object to an act without being signed in, after the code of the second factor if needed."""
    if request.method != "POST":
        return forms.redirect(reverse("login"))
    ticket = request.POST.get("ticket", "")
    holder = tickets.holder_of(ticket, "appeal", TICKET_SECONDS)
    if holder is None:
        return outside(request, ticket, None)
    try:
        request_budgets.spend(request)
        if two_factor.is_on(holder.user) and not holder.coded:
            flow.check_code(request, holder.user, request.POST.get("otp", ""))
            ticket = tickets.for_person(holder.user, "appeal", coded=True)
            return outside(request, ticket, None)
        act_id = number_of(request.POST.get("act", "")) or 0
        actions.appeal(holder.user, act_id, request.POST.get("text", ""))
    except SHOWN as error:
        return outside(request, ticket, error, in_form=True)
    return forms.redirect(reverse("appeal_sent"))


@require_safe
@takes(GET=READS)
def appeal_sent(request: HttpRequest) -> HttpResponse:
    """Tell a person who cannot log in that the appeal was received."""
    return render(request, "accounts/appeal_sent.html")


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
