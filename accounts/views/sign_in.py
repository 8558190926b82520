"""Pages: log-in, sign-up, log-out."""

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import actions, invites, queries
from accounts.models import SignUpRequest
from accounts.request_auth import cookies
from accounts.request_auth.authentication import signed_in
from accounts.sign_in import challenge, flow
from accounts.views import acts, closing, forms, tickets, two_factor
from socialsite.core.errors import AccountClosing, OtpRequired, Suspended, UserBanned
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.LOGIN,))
def login(request: HttpRequest) -> HttpResponse:
    """Log in, or continue with the code; redirect people who are already signed in."""
    if request.user.is_authenticated:
        return forms.redirect(forms.safe_next(request))
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            values = forms.fields(request, "username", "password")
            values["username"] = values["username"].strip()
            user = flow.begin(request, **values)
            try:
                pair = flow.finish(request, user, forms.browser(request))
            except OtpRequired:
                return two_factor.code_form(request, tickets.for_person(user, "login-code"))
            except AccountClosing as found:
                return closing.offer(request, tickets.for_person(user, "reopen"), found)
            return forms.entered(request, pair)
        except (UserBanned, Suspended) as found:
            person = queries.any_by_name(request.POST["username"].strip())
            if person is not None:  # as it is: the password was right
                return acts.outside(request, tickets.for_person(person, "appeal"), found)
        except forms.SHOWN as found:
            error = found
    return forms.form(request, "accounts/login.html", ("username",), error)


@require_http_methods(["GET", "HEAD", "POST"])
def register(request: HttpRequest) -> HttpResponse:
    """Create an account and sign in."""
    if request.user.is_authenticated:
        return forms.redirect(forms.safe_next(request))
    error = None
    if request.method == "POST":
        try:
            values = forms.fields(request, "username", "nickname", "password")
            values["email"] = request.POST.get("email", "").strip()
            found = flow.sign_up(
                request,
                **values,
                client=forms.browser(request),
                terms=forms.number(request, "terms"),
                reason=request.POST.get("reason", ""),
                invite=request.POST.get("invite", ""),
                solution=request.POST.get("challenge", ""),
            )
            if isinstance(found, SignUpRequest):
                return forms.redirect(f"{reverse('register_sent')}?state={found.state}")
            return forms.entered(request, found[1], reverse("welcome"))
        except forms.SHOWN as found:
            error = found
    typed = ("username", "nickname", "email", "reason", "terms")
    code = request.POST.get("invite") or request.GET.get("invite") or ""
    invite = invites.usable(code)
    more = {
        "task": challenge.new_if_needed(request),
        "invite": code if invite else "",
        "invited_by": invite and invite.maker,
        "was_invited": bool(code),
    }
    return forms.form(request, "accounts/register.html", typed, error, **more)


@require_safe
@takes(GET=READS)
def register_sent(request: HttpRequest) -> HttpResponse:
    """Tell a person what their sign-up waits for."""
    is_confirmed = request.GET.get("state") != SignUpRequest.State.UNCONFIRMED
    return render(request, "accounts/register_sent.html", {"is_confirmed": is_confirmed})


@require_POST
@takes(POST=(budgets.DEVICES,))
def logout(request: HttpRequest) -> HttpResponse:
    """End the sign-in of this browser, on the server too."""
    if request.user.is_authenticated:
        user, principal = signed_in(request)
        actions.log_out(user, principal.client, principal.version)
    response = forms.redirect(reverse("home"))
    cookies.clear(response)
    rotate_token(request)
    return response
