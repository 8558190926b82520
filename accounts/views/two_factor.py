"""Pages of two-factor authentication: the code at log-in, and the settings.

Between password and code, the form contains a signed ticket. It proves that this person's current
password was entered correctly within TICKET_SECONDS. It is valid for nothing else.
"""

from typing import Any

import orjson
import segno
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts import sign_in_log
from accounts.credentials import passkeys as credentials
from accounts.credentials import two_factor
from accounts.models import Passkey, User
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow, guarded, passkeys
from accounts.views import closing, forms, tickets
from socialsite.core import errors
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import takes
from socialsite.core.times import iso_of

TICKET_SECONDS = 300
SHOWN = (*forms.SHOWN, errors.OtpNotCorrected)


# --- at log-in ----------------------------------------------------------------------------------
def code_form(
    request: HttpRequest, ticket: str, error: errors.AppError | None = None
) -> HttpResponse:
    """Show the code form to a person whose password was right."""
    texts = forms.texts_of(error)
    holder = tickets.holder_of(ticket, "login-code", TICKET_SECONDS)
    options = passkeys.options_for_code(holder.user) if holder else None
    context = {
        "form_errors": texts,
        "next": forms.next_of(request),
        "ticket": ticket,
        "passkey_options": orjson.dumps(options).decode() if options else "",
    }
    return forms.page(request, "accounts/two_factor_login.html", context, error)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def login(request: HttpRequest) -> HttpResponse:
    """Log in with a code; without a valid ticket, start again with the password."""
    if request.user.is_authenticated:
        return forms.redirect(forms.safe_next(request))
    if request.method != "POST":
        return forms.redirect(reverse("login"))
    ticket = request.POST.get("ticket", "")
    holder = tickets.holder_of(ticket, "login-code", TICKET_SECONDS)
    if holder is None:
        late = errors.NotAuthenticated(_("That took too long. Please log in again."))
        return forms.form(request, "accounts/login.html", ("username",), late)
    passkey = 0
    try:
        request_budgets.spend(request)
        if "credential" in request.POST:
            credential = forms.credential(request)
            proof = passkeys.prove_code(request, holder.user, credential)
            passkey = proof.passkey
            pair = passkeys.enter(request, holder.user, forms.browser(request), proof)
        else:
            code = forms.fields(request, "otp")["otp"]
            pair = flow.finish(request, holder.user, forms.browser(request), code)
        return forms.entered(request, pair)
    except errors.AccountClosing as error:
        ticket = tickets.for_person(holder.user, "reopen", coded=True, passkey=passkey)
        return closing.offer(request, ticket, error)
    except errors.OtpRequired:
        return code_form(request, ticket)
    except SHOWN as error:
        return code_form(request, ticket, error)


# --- settings -----------------------------------------------------------------------------------
@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def show(request: HttpRequest) -> HttpResponse:
    """Show the state of the second factor; POST begins its set-up."""
    user, _principal = signed_in(request)
    if request.method != "POST":
        return page(request, user)
    try:
        request_budgets.spend(request)
        guarded.begin_two_factor(user, **forms.fields(request, "password"))
    except SHOWN as error:
        return page(request, user, error, "begin")
    wanted = forms.next_of(request)
    query = "?" + urlencode({"next": wanted}) if wanted else ""
    return forms.redirect(reverse("two_factor") + query)


@require_POST
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def confirm(request: HttpRequest) -> HttpResponse:
    """Turn the second factor on, and show the recovery codes, only now."""
    user, principal = signed_in(request)
    try:
        request_budgets.spend(request)
        codes = guarded.confirm_two_factor(
            request, user, principal, *forms.fields(request, "otp").values()
        )
    except SHOWN as error:
        return page(request, user, error, "confirm")
    return page(request, user, codes=codes)


@require_POST
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def renew(request: HttpRequest) -> HttpResponse:
    """Replace the recovery codes, and show the new ones, only now."""
    user, _principal = signed_in(request)
    try:
        request_budgets.spend(request)
        codes = guarded.renew_recovery_codes(request, user, *forms.fields(request, "otp").values())
    except SHOWN as error:
        return page(request, user, error, "codes")
    return page(request, user, codes=codes)


@require_POST
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def turn_off(request: HttpRequest) -> HttpResponse:
    """Turn the second factor off."""
    user, _principal = signed_in(request)
    try:
        request_budgets.spend(request)
        guarded.end_two_factor(request, user, *forms.fields(request, "password", "otp").values())
    except SHOWN as error:
        return page(request, user, error, "off")
    return forms.redirect(reverse("two_factor"))


def page(
    request: HttpRequest,
    user: User,
    error: errors.AppError | None = None,
    where: str = "",
    codes: list[str] | None = None,
) -> HttpResponse:
    """Show the settings, with an error at its form, or with new recovery codes."""
    is_on = two_factor.is_on(user)
    device = None if is_on else two_factor.begun(user)
    set_up = device and two_factor.set_up(device, user)
    context = {
        "is_on": is_on,
        "is_staff": user.is_staff,
        "missing": two_factor.is_missing(user),
        "codes": codes,
        "codes_left": two_factor.codes_left(user) if is_on else 0,
        "set_up": set_up,
        "qr": _qr(set_up.url) if set_up else "",
        "passkeys": [_passkey(row) for row in credentials.of_person(user)],
        "passkeys_available": credentials.is_available(),
        "passkeys_max": credentials.MAX,
        "name_max": Passkey.NAME_MAX,
        "is_fresh": sign_in_log.is_fresh(user.pk, signed_in(request)[1].client),
        "form_errors": {where: forms.texts_of(error)},
        "next": forms.next_of(request),
    }
    return forms.page(request, "accounts/two_factor.html", context, error)


def _passkey(row: Passkey) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "backed_up": row.backed_up,
        "created_at": iso_of(row.created_at),
        "last_used": row.last_used and iso_of(row.last_used),
    }


def _qr(text: str) -> str:
    """Return a QR code as SVG without styles, dark on light in every theme."""
    return segno.make_qr(text, error="m").svg_inline(
        border=3, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None
    )
