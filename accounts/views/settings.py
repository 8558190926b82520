"""Settings pages: the person's password and devices."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts import devices, queries, sign_in_log
from accounts.credentials import passkeys as credentials
from accounts.credentials import password_rules, two_factor
from accounts.models import User
from accounts.request_auth import cookies
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import flow, guarded, passkeys
from accounts.tokens import Principal
from accounts.views import forms
from accounts.views.sign_in import logout
from socialsite.core import errors
from socialsite.core.http import api, page_sizes
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def password(request: HttpRequest) -> HttpResponse:
    """Change the password: this browser gets new cookies, everything else is signed out."""
    user, principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            return _change_password(request, user, principal)
        except forms.SHOWN as found:
            error = found
    context = {
        "form_errors": forms.texts_of(error),
        "password_hint": password_rules.hint(),
        "password_min": password_rules.shortest(),
        "notices": messages.get_messages(request),
    }
    return forms.page(request, "accounts/password.html", context, error)


def _change_password(request: HttpRequest, user: User, principal: Principal) -> HttpResponse:
    values = forms.fields(request, "old_password", "new_password", "again")
    old, new = values["old_password"], values["new_password"]
    if new != values["again"]:
        raise errors.InvalidInput(fields={"again": [_("The passwords do not match.")]})
    pair = guarded.change_password(request, user, principal, old, new)
    messages.success(request, _("Your password is changed, and all other devices were signed out."))
    user.refresh_from_db(fields=["email_waiting"])
    if user.email_waiting:
        # Whoever knew the old password may have entered it.
        messages.warning(request, user.email_waiting)
    response = forms.redirect(reverse("password"))
    cookies.put(response, pair)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.ACCOUNT,))
def prove(request: HttpRequest) -> HttpResponse:
    """Ask somebody whose log-in was a while ago for password and code, or a passkey; lead on."""
    user, principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            _prove(request, user, principal)
            return forms.redirect(forms.safe_next(request))
        except (*forms.SHOWN, errors.OtpRequired, errors.OtpNotCorrected) as refusal:
            error = refusal
    context = {
        "form_errors": forms.texts_of(error),
        "needs_code": two_factor.is_on(user),
        "has_passkey": credentials.is_available() and credentials.number_of(user) > 0,
        "next": forms.safe_next(request),
    }
    return forms.page(request, "accounts/prove.html", context, error)


def _prove(request: HttpRequest, user: User, principal: Principal) -> None:
    if "credential" not in request.POST:
        found = forms.fields(request, "password")["password"]
        guarded.prove(request, user, principal, found, request.POST.get("otp", ""))
        return
    try:
        passkeys.prove_fresh(request, user, principal, forms.credential(request))
    except errors.InvalidInput as error:
        # The fields of an answer are not those of the form.
        error.fields = None
        raise


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=(budgets.DEVICES,), POST=(budgets.DEVICES,))
def show_devices(request: HttpRequest) -> HttpResponseBase:
    """List the devices; POST signs out the device of the field `client`, or all `others`."""
    user, principal = signed_in(request)
    if request.method == "POST":
        if request.POST.get("client") == principal.client:
            return logout(request)
        messages.success(request, _sign_out(request, user, principal))
        return forms.redirect(reverse("devices"))
    found = queries.devices(user.pk, principal.client)
    # The requesting device comes first, as people look for foreign ones among the others.
    found.sort(key=lambda device: not device["current"])
    context = {
        "devices": found,
        "per_device": devices.per_device(),
        "notices": messages.get_messages(request),
    }
    return forms.page(request, "accounts/devices.html", context, None)


@require_safe
@takes(GET=READS)
def show_sign_ins(request: HttpRequest) -> HttpResponse:
    """List the sign-ins of the last months, the newest first."""
    user, principal = signed_in(request)
    cursor = api.cursor_of(request)
    page = sign_in_log.of_person(user.pk, principal.client, cursor, page_sizes.PAGE_SIZE)
    context = {"page": page, "days": sign_in_log.DAYS, "is_first": cursor is None}
    return render(request, "accounts/sign_ins.html", context)


def _sign_out(request: HttpRequest, user: User, principal: Principal) -> str:
    """Sign out as the form asks; return the message to show. Raises InvalidInput for bad fields."""
    if "others" in request.POST:
        count = flow.sign_out_others(request, user, principal)
        text = ngettext("%(n)s device was signed out.", "%(n)s devices were signed out.", count)
        return text % {"n": count}
    client = request.POST.get("client", "")
    if not client:
        raise errors.InvalidInput(fields={"client": [_("Please fill this in.")]})
    try:
        flow.sign_out(request, user, principal, client)
    except errors.NotFound:
        return _("That device was signed out already.")
    return _("The device was signed out.")
