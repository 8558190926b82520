"""Pages of accounts: log in, sign up, log out."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts import actions, cookies, devices
from accounts.authentication import signed_in
from accounts.tokens import TokenPair
from socialsite.core import errors

INPUT_MAX = 200
# What a form shows again instead of an error page.
SHOWN = (
    errors.PasswordNotCorrected,
    errors.UserBanned,
    errors.RegMatchError,
    errors.DuplicatedUser,
    errors.InvalidInput,
)


def safe_next(request: HttpRequest) -> str:
    """Return where to go afterwards: a path of this site, or the home page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted
    return reverse("home")


def _redirect(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)


def _entered(request: HttpRequest, pair: TokenPair) -> HttpResponse:
    """Send a person who just signed in on their way, with cookies and a new CSRF secret."""
    rotate_token(request)
    response = _redirect(safe_next(request))
    cookies.put(response, pair)
    return response


def _fields(request: HttpRequest, *names: str) -> dict[str, str]:
    values = {name: request.POST.get(name, "") for name in names}
    if any(len(value) > INPUT_MAX for value in values.values()):
        raise errors.InvalidInput(_("That is too long."))
    missing = {name: [_("Please fill this in.")] for name, value in values.items() if not value}
    if missing:
        raise errors.InvalidInput(fields=missing)
    return values


def _form(
    request: HttpRequest, template: str, names: tuple[str, ...], error: errors.AppError | None
) -> HttpResponse:
    """Show a form, after a mistake with what was typed except the password."""
    found: dict[str, list[str]] = {}
    if error is not None:
        texts = error.fields or {"__all__": [error.detail]}
        found = {name: [str(text) for text in part] for name, part in texts.items()}
    wanted = safe_next(request)
    context = {
        "form_errors": found,
        "values": {name: request.POST.get(name, "")[:INPUT_MAX] for name in names},
        "next": "" if wanted == reverse("home") else wanted,
    }
    return render(request, template, context, status=error.status if error else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Log in; whoever is logged in already goes on."""
    if request.user.is_authenticated:
        return _redirect(safe_next(request))
    error = None
    if request.method == "POST":
        try:
            values = _fields(request, "username", "password")
            _user, pair = actions.login(
                values["username"].strip(),
                values["password"],
                *_device(request),
            )
            return _entered(request, pair)
        except SHOWN as found:
            error = found
    return _form(request, "accounts/login.html", ("username",), error)


@require_http_methods(["GET", "HEAD", "POST"])
def register(request: HttpRequest) -> HttpResponse:
    """Make an account and log in."""
    if request.user.is_authenticated:
        return _redirect(safe_next(request))
    error = None
    if request.method == "POST":
        try:
            user = actions.register(**_fields(request, "username", "nickname", "password"))
            return _entered(request, actions.sign_in(user, *_device(request)))
        except SHOWN as found:
            error = found
    return _form(request, "accounts/register.html", ("username", "nickname"), error)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """End the sign-in of this browser, also on the server (T8)."""
    if request.user.is_authenticated:
        user, principal = signed_in(request)
        actions.log_out(user, principal.client, principal.version)
    response = _redirect(reverse("home"))
    cookies.clear(response)
    rotate_token(request)
    return response


def _device(request: HttpRequest) -> tuple[str, str, str]:
    user_agent = devices.user_agent_of(request)
    return devices.browser_of(user_agent), user_agent, devices.address_of(request)


def admin_login(request: HttpRequest) -> HttpResponse:
    """The admin's login is the site's; who is logged in and still sent here is not staff."""
    if request.user.is_authenticated:
        raise errors.Forbidden
    wanted = request.GET.get("next") or reverse("admin:index")
    return HttpResponseRedirect(reverse("login") + "?" + urlencode({"next": wanted}))


def admin_password(request: HttpRequest) -> HttpResponse:
    """The admin changes no passwords."""
    raise errors.NotFound
