"""The settings page of one's own profile."""

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts import actions
from accounts.models import User
from accounts.naming import name_rules
from accounts.request_auth.authentication import signed_in
from accounts.views import forms
from socialsite.core import errors
from socialsite.core.media import encoding, pictures
from socialsite.core.rate_limits import buckets, budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import takes

TEXTS = ("nickname", "bio", "place", "pronouns", "language")
SHAPES = {"avatar": encoding.AVATAR, "banner": encoding.BANNER}
SHOWN = (
    *forms.SHOWN,
    errors.UnsupportedMedia,
    errors.PayloadTooLarge,
    errors.Unavailable,
)
# Longer texts are not shown again.
SHOWN_MAX = 1000


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, POST=(budgets.PROFILE,))
def profile(request: HttpRequest) -> HttpResponse:
    """Show one's own profile in a form; POST changes the fields that it has."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            return _saved(request, _save(request, user))
        except SHOWN as found:
            error = found
    context = {
        "form_errors": forms.texts_of(error),
        "values": _stored(user) | (_typed(request) if error else {}),
        "person": user,
        "nickname_hint": name_rules.nickname_hint(),
        "notices": messages.get_messages(request),
    }
    return forms.page(request, "accounts/edit_profile.html", context, error)


def _stored(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in (*TEXTS, "links", "likes_shown")}


def _typed(request: HttpRequest) -> dict[str, Any]:
    """Return the fields that the form has, except the pictures."""
    found: dict[str, Any] = {
        name: request.POST[name][:SHOWN_MAX] for name in TEXTS if name in request.POST
    }
    if "links" in request.POST:
        typed = [text.strip()[:SHOWN_MAX] for text in request.POST.getlist("links")]
        # People write `example.org`, as browsers show it.
        found["links"] = [text if "://" in text else f"https://{text}" for text in typed if text]
    if "likes_shown" in request.POST:  # a hidden field comes before the box
        found["likes_shown"] = request.POST["likes_shown"] == "1"
    return found


def _save(request: HttpRequest, user: User) -> User:
    """Change the profile as the form says; what is wrong leaves it and its pictures as they are."""
    values = _typed(request)
    if "nickname" in values:
        values["nickname"] = values["nickname"].strip()
    actions.check_profile(user, values)  # before a picture is stored for nothing
    found = {name: request.FILES.get(name) for name in SHAPES}
    files: dict[str, UploadedFile] = {name: file for name, file in found.items() if file}
    for name in SHAPES:
        if name not in files and f"remove_{name}" in request.POST:
            values[name] = 0
    if not files:
        return actions.edit_profile(user, **values)
    buckets.spend(budgets.UPLOAD, user.pk, cost=len(files))
    stored = _store(user, files)
    try:
        return actions.edit_profile(
            user, **values, **{name: item.pk for name, item in stored.items()}
        )
    except BaseException:
        pictures.discard(stored.values())
        raise


def _store(user: User, files: dict[str, UploadedFile]) -> dict[str, Any]:
    uploads: list[Any] = [(file, "") for file in files.values()]
    try:
        stored = pictures.store_all(user.pk, uploads, [SHAPES[name] for name in files])
    except (errors.UnsupportedMedia, errors.PayloadTooLarge, errors.Unavailable) as error:
        error.fields = {next(iter(files)) if len(files) == 1 else "__all__": [error.detail]}
        raise
    return dict(zip(files, stored, strict=True))


def _saved(request: HttpRequest, user: User) -> HttpResponse:
    with translation.override(user.language or translation.get_language()):
        messages.success(request, _("Your profile is saved."))
    response = forms.redirect(reverse("profile_settings"))
    if "language" in request.POST:
        forms.put_language(response, user.language)
    return response
