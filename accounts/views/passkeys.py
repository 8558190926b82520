"""Pages of passkeys: the log-in, and the forms that rename one or remove it.

Scripts ask the API for options and add passkeys there; the log-in is a form, as it sets cookies.
"""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actions import Proof
from accounts.models import User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import passkeys
from accounts.views import acts, closing, forms, tickets, two_factor
from socialsite.core import errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def login(request: HttpRequest) -> HttpResponse:
    """Log in by passkey alone; after a refusal, show the log-in page."""
    if request.user.is_authenticated:
        return forms.redirect(forms.safe_next(request))
    if request.method != "POST":
        return forms.redirect(reverse("login"))
    try:
        request_budgets.spend(request)
        user, proof = passkeys.prove(request, forms.credential(request))
        return _enter(request, user, proof)
    except forms.SHOWN as found:
        # The fields of an answer are not those of the form.
        found.fields = None
        return forms.form(request, "accounts/login.html", ("username",), found)


def _enter(request: HttpRequest, user: User, proof: Proof) -> HttpResponse:
    try:
        pair = passkeys.enter(request, user, forms.browser(request), proof)
        return forms.entered(request, pair)
    except errors.AccountClosing as found:
        ticket = tickets.for_person(user, "reopen", coded=True, passkey=proof.passkey)
        return closing.offer(request, ticket, found)
    except (errors.UserBanned, errors.Suspended) as found:
        return acts.outside(request, tickets.for_person(user, "appeal", coded=True), found)


@require_POST
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def rename(request: HttpRequest) -> HttpResponse:
    """Give the passkey of the field `passkey` the name of the field `name`."""
    user, _principal = signed_in(request)
    passkey_id = forms.number(request, "passkey")
    try:
        request_budgets.spend(request)
        passkeys.rename(request, user, passkey_id, *forms.fields(request, "name").values())
    except forms.SHOWN as found:
        return two_factor.page(request, user, found, f"passkey-{passkey_id}")
    except errors.NotFound:
        pass  # removed in the meantime, as in another tab
    return forms.redirect(reverse("two_factor"))


@require_POST
@takes(POST=(budgets.ACCOUNT,))
def remove(request: HttpRequest) -> HttpResponse:
    """Remove the passkey of the field `passkey`; ask for the password first after a while."""
    user, principal = signed_in(request)
    page = reverse("two_factor")
    try:
        passkeys.check_fresh(request, user, principal)
        passkeys.remove(request, user, forms.number(request, "passkey"))
    except errors.FreshLoginNeeded:
        return forms.redirect(f"{reverse('prove')}?{urlencode({'next': page})}")
    except errors.NotFound:
        pass  # removed already, as in another tab
    return forms.redirect(page)
