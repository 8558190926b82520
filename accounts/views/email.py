"""Pages of one's e-mail address."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts import actions, budgeting, devices, entry, links
from accounts.authentication import signed_in
from accounts.budgeting import takes
from accounts.views import forms
from socialsite.core import budgets, errors

# The path is a secret: no page is told where one came from, not even one of ours.
PRIVATE = "strict-origin"


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def show(request: HttpRequest) -> HttpResponse:
    """Show the address; POST sends a link to a new one, or removes it."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        removes = "remove" in request.POST
        try:
            budgeting.spend(request)
            names = ("password",) if removes else ("email", "password")
            values = {"email": "", **forms.fields(request, *names, maximum=forms.EMAIL_MAX)}
            entry.change_email(request, user, **values)
            return forms.redirect(f"{reverse('email')}?{'removed' if removes else 'sent'}")
        except forms.SHOWN as found:
            error = found
    context = {
        "form_errors": {"remove" if "remove" in request.POST else "set": forms.texts_of(error)},
        "values": {"email": request.POST.get("email", "")[: forms.EMAIL_MAX]},
        "email": user.email,
        "sent": error is None and "sent" in request.GET,
        "removed": error is None and "removed" in request.GET and not user.email,
    }
    return forms.page(request, "accounts/email.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.LINK,), POST=(budgets.LINK,))
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Ask once more, as programs open links too; POST stores the address."""
    error, link = None, None
    try:
        if request.method == "POST":
            actions.confirm_email(token, address=devices.address_of(request))
        else:
            link = links.confirming(token)
    except errors.WrongLink as found:
        error = found
    context = {
        "address": link.address if link else "",
        "wrong": "" if error is None else error.detail,
        "token": token,
    }
    response = forms.page(request, "accounts/email_link.html", context, error)
    response.headers["Referrer-Policy"] = PRIVATE
    return response
