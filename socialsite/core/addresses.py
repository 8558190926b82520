"""Read addresses that a client sends: where a form came from, which page is open."""

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


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
