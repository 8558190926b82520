"""Pages of the person's own e-mail address."""

import contextlib

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts import actions
from accounts.api.serializers import EMAIL_MAX
from accounts.mail import choices, links
from accounts.models import MailKind, User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import guarded
from accounts.views import forms
from accounts.views.link_cookie import CONFIRMATION
from socialsite.core import errors
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import takes

# A link is a secret: no page may see it in a Referer header, not even our own.
PRIVATE = "strict-origin"
# The buttons of the page, besides that of a new address.
FORMS = ("again", "drop", "remove", "choose")


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def show(request: HttpRequest) -> HttpResponse:
    """Show the address and the chosen mails; POST sends a link, drops, removes or chooses."""
    user, _principal = signed_in(request)
    wanted = next(
        (name for name in ("again", "drop", "remove", "choose") if name in request.POST), "set"
    )
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            return forms.redirect(f"{reverse('email')}?{_change(request, user, wanted)}")
        except forms.SHOWN as found:
            error = found
    context = {
        "form_errors": {wanted: forms.texts_of(error)},
        "values": {"email": request.POST.get("email", "")[:EMAIL_MAX]},
        "email": user.email,
        "mails": [(kind.label, title, user.mails & kind) for kind, title in choices.TITLES.items()],
        "chosen": error is None and "chosen" in request.GET,
        "waiting": user.email_waiting,
        "sent": error is None and "sent" in request.GET and bool(user.email_waiting),
        "removed": error is None and "removed" in request.GET and not user.email,
    }
    return forms.page(request, "accounts/email.html", context, error)


def _change(request: HttpRequest, user: User, wanted: str) -> str:
    """Do what a form of the page asks for; return the query of the page that reports it."""
    if wanted == "again":
        with contextlib.suppress(errors.NotFound):  # it was confirmed meanwhile: the page shows it
            guarded.send_confirmation_again(request, user)
        return "sent"
    if wanted == "choose":
        kinds = [kind for kind in MailKind if f"mail_{kind.label}" in request.POST]
        actions.choose_mails(user, sum(kinds))
        return "chosen"
    if wanted == "drop":
        actions.drop_waiting_email(user)
        return "dropped"
    names = ("password",) if wanted == "remove" else ("email", "password")
    values = {"email": "", **forms.fields(request, *names, maximum=EMAIL_MAX)}
    guarded.change_email(request, user, **values)
    return "removed" if wanted == "remove" else "sent"


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Redirect from the mailed link to the confirmation page; a POST counts as the confirmation."""
    if request.method == "POST":
        return _confirm(request, token)
    try:
        links.confirming(token)
    except errors.WrongLink:
        return _confirm(request, token)
    response = forms.redirect(reverse("email_confirm"))
    CONFIRMATION.put(response, token)
    response.headers["Referrer-Policy"] = PRIVATE
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for confirmation, as programs open links too; POST stores the address."""
    return _confirm(request, CONFIRMATION.token(request))


def _confirm(request: HttpRequest, token: str) -> HttpResponse:
    error, found, done = None, None, None
    try:
        found = links.confirming(token)
        # If two links were opened one after the other, the cookie belongs to the second.
        if request.POST.get("address", found.address) != found.address:
            raise errors.WrongLink
        if request.method == "POST":
            done = actions.confirm_email(token, address=ip_addresses.address_of(request))
    except errors.WrongLink as wrong:
        error = wrong
    asks = error is None and request.method != "POST"
    context = {
        "address": found.address if asks and found else "",
        "wrong": "" if error is None else error.detail,
        "done": done and done.value,
    }
    response = forms.page(request, "accounts/email_link.html", context, error)
    if request.method == "POST":
        CONFIRMATION.drop(response)
    response.headers["Referrer-Policy"] = PRIVATE
    return response
