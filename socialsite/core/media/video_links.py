"""Addresses of videos: the accepted ones, and the host name shown beside the link.

The site never fetches them. An address must show where it leads: it needs a host name that is
public in form, without a user name, a password, or a number as host. A name in another script is
stored and shown in its ASCII form (`xn--…`), so that it cannot imitate another one.
"""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_domain_name

from socialsite.core.text.urls import ascii_url

URL_MAX = 500
_SCHEME = "https://"
_REFUSED = frozenset(" \"'<>\\^`{|}")


def normal(address: str) -> str:
    """Return an address as it is stored and requested; a malformed one stays, to be rejected."""
    try:
        return ascii_url(address)
    except ValueError:
        return address


def host_of(address: str) -> str:
    """Return the host of a video's address in lower case; "" for a rejected address."""
    if (
        not address.startswith(_SCHEME)
        or len(address) > URL_MAX
        or not (address.isascii() and address.isprintable())
        or not _REFUSED.isdisjoint(address)
    ):
        return ""
    try:
        parts = urlsplit(address)
        if "@" in parts.netloc or parts.netloc.endswith(":") or parts.port == 0:
            return ""
        host = parts.hostname or ""
        validate_domain_name(host)
    except (ValueError, ValidationError):  # ValueError: for brackets and ports out of range
        return ""
    return host
