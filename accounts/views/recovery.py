"""Pages of password recovery by e-mail."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts import actions
from accounts.api.serializers import EMAIL_MAX
from accounts.credentials import password_rules
from accounts.mail import links
from accounts.sign_in import guarded
from accounts.views import forms
from accounts.views.email import PRIVATE
from accounts.views.link_cookie import RECOVERY
from socialsite.core import errors
from socialsite.core.http import ip_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import takes


@require_http_methods(["GET", "HEAD", "POST"])
def request(request: HttpRequest) -> HttpResponse:
    """Ask for the address; POST sends links, and does not reveal whether an account has it."""
    error = None
    if request.method == "POST":
        try:
            values = forms.fields(request, "email", maximum=EMAIL_MAX)
            guarded.request_recovery(request, **values)
            return forms.redirect(reverse("recover") + "?sent")
        except forms.SHOWN as found:
            error = found
    return _request_form(request, error)


def _request_form(request: HttpRequest, error: errors.AppError | None) -> HttpResponse:
    context = {
        "form_errors": forms.texts_of(error),
        "values": {"email": request.POST.get("email", "")[:EMAIL_MAX]},
        "sent": error is None and "sent" in request.GET,
        "done": error is None and "done" in request.GET,
    }
    return forms.page(request, "accounts/recover.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Redirect from the mailed link to the form; a POST counts as that of the form."""
    if request.method == "POST":
        return _choose(request, token)
    try:
        links.recovering(token)
    except errors.WrongLink as found:
        response = _request_form(request, found)
    else:
        response = forms.redirect(reverse("recover_choose"))
        RECOVERY.put(response, token)
    response.headers["Referrer-Policy"] = PRIVATE
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def choose(request: HttpRequest) -> HttpResponse:
    """Ask for a new password; POST sets it and signs out everywhere."""
    return _choose(request, RECOVERY.token(request))


def _choose(request: HttpRequest, token: str) -> HttpResponse:
    error = None
    try:
        user = links.recovering(token)
        # If two links were opened one after the other, the cookie belongs to the second.
        if request.POST.get("username", user.username) != user.username:
            raise errors.WrongLink
        if request.method == "POST":
            try:
                values = forms.fields(request, "new_password")
                address = ip_addresses.address_of(request)
                actions.recover(token, values["new_password"], address=address)
                response = forms.redirect(reverse("recover") + "?done")
                RECOVERY.drop(response)
                return response
            except forms.SHOWN as found:
                error = found
    except errors.WrongLink as found:
        response = _request_form(request, found)
    else:
        context = {
            "form_errors": forms.texts_of(error),
            "username": user.username,
            "password_hint": password_rules.hint(),
            "password_min": password_rules.shortest(),
        }
        response = forms.page(request, "accounts/recover_link.html", context, error)
        RECOVERY.put(response, token)
    response.headers["Referrer-Policy"] = PRIVATE
    return response
