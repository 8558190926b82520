"""Helpers of the account forms: reading input, showing mistakes, redirecting afterwards."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from accounts import devices, queries, sign_out_reasons, tokens
from accounts.api.passkey_serializers import CREDENTIAL_MAX, AssertionSerializer
from accounts.api.serializers import INPUT_MAX
from accounts.credentials import passkeys, password_rules
from accounts.naming import name_rules
from accounts.request_auth import cookies
from accounts.sign_in import known_devices
from accounts.tokens import TokenPair
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.ids import number_of

# Characters of a field that a form shows again after a mistake.
TYPED_MAX = 4000

# Errors that show the form again instead of an error page.
SHOWN = (
    errors.UserNotFound,
    errors.PasswordNotCorrected,
    errors.UserBanned,
    errors.Suspended,
    errors.RegMatchError,
    errors.DuplicatedUser,
    errors.InvalidInput,
    errors.RateLimited,
    errors.SignUpClosed,
    errors.ApprovalPending,
    errors.QuotaExceeded,
    errors.TermsNotAccepted,
    errors.ChallengeNeeded,
    errors.PasskeyRefused,
)


def safe_next(request: HttpRequest) -> str:
    """Return where to redirect: a path of this site from `next`, or the home page."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted
    return reverse("home")


def redirect(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)


def entered(request: HttpRequest, pair: TokenPair, otherwise: str = "") -> HttpResponse:
    """Redirect a person who just signed in, with cookies and a new CSRF secret.

    To the page that they wanted, else to `otherwise` or home. Marks the browser as known to them.
    """
    rotate_token(request)
    wanted = safe_next(request)
    response = redirect(otherwise if otherwise and wanted == reverse("home") else wanted)
    cookies.put(response, pair)
    if devices.per_device():
        cookies.put_device(response, cookies.device_of(request))
    user_id = tokens.decode_access(pair.access).user_id
    known_devices.remember(request, response, user_id)
    user = queries.by_id(user_id)
    put_language(response, user.language)
    cookies.put_account(request, response, user)
    return response


def put_language(response: HttpResponse, language: str) -> None:
    """Make this browser use the language of an account; without one it keeps its own."""
    if language:
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            language,
            path=settings.LANGUAGE_COOKIE_PATH,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            samesite="Lax",
        )


def fields(request: HttpRequest, *names: str, maximum: int = INPUT_MAX) -> dict[str, str]:
    values = {name: request.POST.get(name, "") for name in names}
    wrong = {name: [_("That is too long.")] for name in names if len(values[name]) > maximum}
    wrong |= {name: [_("Please fill this in.")] for name in names if not values[name]}
    if wrong:
        raise errors.InvalidInput(fields=wrong)
    return values


def credential(request: HttpRequest) -> dict[str, Any]:
    """Return the answer of a passkey, which a script wrote into the form. Raises InvalidInput."""
    text = request.POST.get("credential", "")
    try:
        found = orjson.loads(text if len(text) <= CREDENTIAL_MAX else "")
    except orjson.JSONDecodeError:
        raise errors.InvalidInput from None
    return api.read(AssertionSerializer, found)


def number(request: HttpRequest, name: str) -> int:
    """Return a field of the form that a page fills in with a number; 0 for anything else."""
    return number_of(request.POST.get(name, "")) or 0


def form(
    request: HttpRequest,
    template: str,
    names: tuple[str, ...],
    error: errors.AppError | None,
    **more: Any,
) -> HttpResponse:
    """Render a form; after a mistake, with the typed values except the password.

    `more` are further values of the template.
    """
    context = more | {
        "form_errors": texts_of(error),
        "values": {name: request.POST.get(name, "")[:TYPED_MAX] for name in names},
        "next": next_of(request),
        "password_hint": password_rules.hint(),
        "password_min": password_rules.shortest(),
        "name_lengths": name_rules.NAME_LENGTHS,
        "nickname_hint": name_rules.nickname_hint(),
        "ways": sign_out_reasons.ways(),
        "passkeys_available": passkeys.is_available(),
    }
    return page(request, template, context, error)


def page(
    request: HttpRequest, template: str, context: dict[str, Any], error: errors.AppError | None
) -> HttpResponse:
    """Render a page; after a mistake, with the status of its error."""
    response = render(request, template, context, status=error.status if error else 200)
    if error is not None and error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def texts_of(error: errors.AppError | None) -> dict[str, list[str]]:
    """Return the messages by field; `__all__` stands for the form itself."""
    if error is None:
        return {}
    texts = error.fields or {"__all__": [error.detail]}
    return {name: [str(text) for text in part] for name, part in texts.items()}


def next_of(request: HttpRequest) -> str:
    """Return the path to redirect to, empty for the home page."""
    wanted = safe_next(request)
    return "" if wanted == reverse("home") else wanted


def browser(request: HttpRequest) -> str:
    """Return the `cli` of the requesting browser."""
    kind = devices.browser_of(devices.user_agent_of(request))
    return devices.client_of(kind, cookies.device_of(request))
