"""Pages of setting a new password by e-mail."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts import actions, devices, entry, links, rules
from accounts.budgeting import takes
from accounts.views import forms
from accounts.views.email import PRIVATE
from socialsite.core import budgets, errors


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Ask for the address; POST has links sent, and tells nothing of who has it."""
    error = None
    if request.method == "POST":
        try:
            values = forms.fields(request, "email", maximum=forms.EMAIL_MAX)
            entry.ask_recovery(request, **values)
            return forms.redirect(reverse("recover") + "?sent")
        except forms.SHOWN as found:
            error = found
    return _ask(request, error)


def _ask(request: HttpRequest, error: errors.AppError | None) -> HttpResponse:
    context = {
        "form_errors": forms.texts_of(error),
        "values": {"email": request.POST.get("email", "")[: forms.EMAIL_MAX]},
        "sent": error is None and "sent" in request.GET,
        "done": error is None and "done" in request.GET,
    }
    return forms.page(request, "accounts/recover.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def choose(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for a new password; POST sets it and signs out everywhere."""
    error = None
    try:
        user = links.recovering(token)
        if request.method == "POST":
            try:
                values = forms.fields(request, "new_password")
                address = devices.address_of(request)
                actions.recover(token, values["new_password"], address=address)
                return forms.redirect(reverse("recover") + "?done")
            except forms.SHOWN as found:
                error = found
    except errors.WrongLink as found:
        response = _ask(request, found)
    else:
        context = {
            "form_errors": forms.texts_of(error),
            "username": user.username,
            "token": token,
            "password_hint": rules.password_hint(),
            "password_min": rules.password_min(),
        }
        response = forms.page(request, "accounts/recover_link.html", context, error)
    response.headers["Referrer-Policy"] = PRIVATE
    return response
