"""What the views of interactions share: who asks, and the way back."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from accounts.models import User
from socialsite.core import addresses, api, errors

UNPROCESSABLE = 422


def member(request: HttpRequest) -> User:
    """Return who asks; NotAuthenticated for a guest."""
    if not isinstance(request.user, User):
        raise errors.NotAuthenticated
    return request.user


def back(request: HttpRequest, fallback: str, anchor: str) -> HttpResponse:
    """Return to the page that the form's field `next` names, if it is one of ours."""
    address = addresses.own(request, request.POST.get("next")) or fallback
    return see(address.partition("#")[0] + anchor)


def see(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)


def refused(
    request: HttpRequest, template: str, context: dict[str, Any], error: errors.AppError
) -> HttpResponse:
    """Show a form again that was refused: htmx puts in a 422, and leaves what is there on a 429."""
    status = error.status if isinstance(error, errors.RateLimited) else UNPROCESSABLE
    return api.add_headers(render(request, template, context, status=status), error)
