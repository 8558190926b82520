"""The page that asks people to accept the terms of the site, and what leads there."""

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts import actions, queries
from accounts.request_auth import cookies
from accounts.request_auth.requests import PageRequest, member
from accounts.views import forms
from socialsite.core import site
from socialsite.core.errors import TermsNotAccepted
from socialsite.core.http import ip_addresses, return_addresses
from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.site import documents
from socialsite.core.site.documents import Kind


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.ACCOUNT,))
def accept(request: PageRequest) -> HttpResponse:
    """Show the terms; POST accepts the version that was shown, unless there is a newer one."""
    user = member(request)
    here = site.current()
    accepted = queries.terms_accepted(user.pk)
    if request.method == "POST" and accepted < here.terms_needed:
        try:
            wanted = forms.number(request, "version")
            actions.accept_terms(user, wanted, ip_addresses.address_of(request))
            accepted = wanted
        except TermsNotAccepted:
            here = site.current()
    if accepted >= here.terms_needed:
        response = forms.redirect(forms.safe_next(request))
        cookies.put_terms(response, accepted)
        return response
    context = {
        "document": documents.current(here, Kind.TERMS),
        "was_accepted": accepted,
        "next": forms.next_of(request),
    }
    return render(request, "accounts/terms.html", context)


class AskTerms:
    """Leads people who have not accepted the terms from the page that they opened to `accept`.

    The settings and the person are known once the page is made, so nothing is asked for again.
    The account is asked only if the browser's cookie does not say that it has accepted.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer."""
        response = self.get_response(request)
        needed = site.known().terms_needed
        if not needed or cookies.terms(request) >= needed or not _is_page(request, response):
            return response
        accepted = queries.terms_accepted(member(cast("PageRequest", request)).pk)
        if accepted >= needed:
            cookies.put_terms(response, accepted)
            return response
        here = request.get_full_path()
        return forms.redirect(return_addresses.leading_back(reverse("accept_terms"), here))


def _is_page(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Return whether a member opened a page other than the texts of the site."""
    visitor = getattr(request, "visitor", None)
    if visitor is None or visitor.principal is None or request.method != "GET":
        return False
    if response.status_code != 200 or getattr(request, "htmx", False):
        return False
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    free = [reverse("accept_terms"), *(reverse(kind) for kind in Kind)]
    return is_html and request.path not in free and not request.path.startswith("/admin/")
