"""Helpers of all views of interactions: the redirect back, and refused forms."""

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from accounts.request_auth.requests import PageRequest
from socialsite.core import errors
from socialsite.core.http import api, form_keys, form_warnings, return_addresses

UNPROCESSABLE = 422


def back(request: PageRequest, fallback: str, anchor: str) -> HttpResponse:
    """Redirect to the page in the form's field `next`, if it is a page of this site."""
    address = return_addresses.own(request, request.POST.get("next")) or fallback
    return see(address.partition("#")[0] + anchor)


def see(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)


def accepted(request: PageRequest, address: str) -> HttpResponse:
    """Redirect after a form in which the person wrote; the browser then drops its draft."""
    return form_keys.accepted(request, see(address))


def wrong_in(error: errors.AppError) -> dict[str, Any]:
    """Return what is wrong with a text, by the place in its form that says so."""
    found = {at: (error.fields or {}).get(at) for at in ("content", form_warnings.ERROR)}
    return {at: wrong for at, wrong in found.items() if wrong} or {"__all__": [error.detail]}


def refused(
    request: PageRequest, template: str, context: dict[str, Any], error: errors.AppError
) -> HttpResponse:
    """Show a refused form again: htmx swaps in a 422, and leaves the page as it is on a 429."""
    status = error.status if isinstance(error, errors.RateLimited) else UNPROCESSABLE
    return api.add_headers(render(request, template, context, status=status), error)
