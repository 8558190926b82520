"""Read addresses that a client sends: where a form came from, which page is open."""

from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest
from django.utils.http import MAX_URL_LENGTH, url_has_allowed_host_and_scheme


def own(request: HttpRequest, address: str | None) -> str:
    """Return an address when it leads to this site, otherwise an empty text.

    Django refuses addresses that are too long before it parses them: `urlsplit` raises ValueError
    for some texts and normalizes the characters of others in quadratic time.
    """
    text = (address or "").strip()
    hosts = {request.get_host()}
    return text if url_has_allowed_host_and_scheme(text, hosts, request.is_secure()) else ""


def own_path(request: HttpRequest, address: str | None) -> str:
    """Return the path of an address of this site, empty for any other text."""
    return urlsplit(own(request, address)).path


def leading_back(address: str, wanted: str) -> str:
    """Return an address of this site that leads back to `wanted` afterwards.

    One that is too long is left out: nobody would follow it back, and the proxy in front holds only
    so much of a header.
    """
    if len(wanted) > MAX_URL_LENGTH:
        return address
    return f"{address}?{urlencode({'next': wanted})}"
