"""Check the addresses to return to after a form: only those of this site are followed."""

from urllib.parse import urlencode, urlsplit

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.utils.http import MAX_URL_LENGTH, url_has_allowed_host_and_scheme


def own(request: HttpRequest, address: str | None) -> str:
    """Return the address if it leads to this site, otherwise an empty string.

    Addresses that are too long are rejected before Django parses them: `urlsplit` raises ValueError
    for some texts and normalizes the characters of others in quadratic time.
    """
    text = (address or "").strip()
    try:
        hosts = {request.get_host()}
    except DisallowedHost:  # the error page asks too
        return ""
    return text if url_has_allowed_host_and_scheme(text, hosts, request.is_secure()) else ""


def own_path(request: HttpRequest, address: str | None) -> str:
    """Return the path of an address of this site, or an empty string for any other text."""
    return urlsplit(own(request, address)).path


def own_page(request: HttpRequest, address: str | None) -> str:
    """Return path and query of an address of this site, or an empty string for any other text."""
    page = urlsplit(own(request, address))
    return f"{page.path}?{page.query}" if page.query else page.path


def leading_back(address: str, wanted: str) -> str:
    """Return an address of this site that redirects back to `wanted` afterwards.

    A `wanted` that is too long is dropped: nobody would follow it back, and the proxy in front
    limits the size of a header.
    """
    if len(wanted) > MAX_URL_LENGTH:
        return address
    return f"{address}?{urlencode({'next': wanted})}"
