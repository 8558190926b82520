"""Pages to close one's account, and to take it back at the log-in.

Between the log-in and the button that takes the account back, the form contains a signed ticket. It
proves that password and code, or a passkey, were right within TICKET_SECONDS, and logs nobody in.
"""

from datetime import datetime

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.credentials import two_factor
from accounts.request_auth import cookies
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow, guarded
from accounts.views import forms, tickets
from socialsite.core import errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.times import iso_of

TICKET_SECONDS = 3600
# The page after the closing gets its time in the address; nobody else can make one up.
SALT = "accounts.closed"
SHOWN = (*forms.SHOWN, errors.OtpRequired, errors.OtpNotCorrected, errors.Forbidden)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def close(request: HttpRequest) -> HttpResponse:
    """Explain what closing the account does; POST closes it and signs out everywhere."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            password = forms.fields(request, "password")["password"]
            return _leave(request, guarded.close(request, user, password, _code(request)))
        except SHOWN as found:
            error = found
    days = settings.CLOSE_GRACE_DAYS
    erased_after = ngettext(
        "After %(days)s day everything is erased: your profile, posts, comments, pictures, videos,"
        " drafts, likes and follows.",
        "After %(days)s days everything is erased: your profile, posts, comments, pictures, videos,"
        " drafts, likes and follows.",
        days,
    )
    context = {
        "form_errors": forms.texts_of(error),
        "days": days,
        "erased_after": erased_after % {"days": days},
        "needs_code": two_factor.is_on(user),
    }
    return forms.page(request, "accounts/close.html", context, error)


def _code(request: HttpRequest) -> str:
    return forms.fields(request, "otp")["otp"] if request.POST.get("otp") else ""


def _leave(request: HttpRequest, moment: datetime) -> HttpResponse:
    # Without a grace the page has no time to say.
    until = iso_of(moment) if settings.CLOSE_GRACE_DAYS else ""
    query = urlencode({"until": signing.dumps(until, salt=SALT)})
    response = forms.redirect(f"{reverse('closed')}?{query}")
    cookies.clear(response)
    rotate_token(request)
    return response


@require_safe
@takes(GET=READS)
def closed(request: HttpRequest) -> HttpResponse:
    """Tell a person who closed their account until when they can take it back."""
    until = time_in(request.GET.get("until", ""))
    if until is None:
        return forms.redirect(reverse("login"))
    return render(request, "accounts/closed.html", {"until": until})


def time_in(text: str) -> str | None:
    """Return the signed time of an address, which may be empty; None for any other text."""
    try:
        return str(signing.loads(text, salt=SALT))
    except signing.BadSignature:
        return None


# --- at log-in ----------------------------------------------------------------------------------
def offer(request: HttpRequest, ticket: str, error: errors.AccountClosing) -> HttpResponse:
    """Offer a person with the right credentials to take their closed account back."""
    context = {"until": error.closes_at, "ticket": ticket, "next": forms.next_of(request)}
    return forms.page(request, "accounts/reopen.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def reopen(request: HttpRequest) -> HttpResponse:
    """Take a closed account back, and sign in; without a valid ticket, begin with the password."""
    if request.user.is_authenticated:
        return forms.redirect(forms.safe_next(request))
    if request.method != "POST":
        return forms.redirect(reverse("login"))
    holder = tickets.holder_of(request.POST.get("ticket", ""), "reopen", TICKET_SECONDS)
    error: errors.AppError = errors.NotAuthenticated(_("That took too long. Please log in again."))
    if holder is not None:
        try:
            request_budgets.spend(request)
            pair = flow.reopen(
                request,
                holder.user,
                forms.browser(request),
                coded=holder.coded,
                passkey=holder.passkey,
            )
            return forms.entered(request, pair)
        except errors.OtpRequired:
            pass  # turned on since
        except forms.SHOWN as found:
            error = found
    return forms.form(request, "accounts/login.html", ("username",), error)
