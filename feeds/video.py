"""Addresses of videos: which ones are taken, and the host that a reader sees beside the link.

The site never fetches them. What is checked is that the address says where it leads: a name of a
host that is public in form, without a name of a person, a password or a number in its place. A name
in another script stands there in its ASCII form (`xn--…`), so that it cannot look like another one.
"""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_domain_name

URL_MAX = 500
_SCHEME = "https://"
_REFUSED = frozenset(" \"'<>\\^`{|}")


def host_of(address: str) -> str:
    """Return the host of a video's address in lower case; "" for an address that is not taken."""
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
    except (ValueError, ValidationError):  # the former for brackets and ports out of range
        return ""
    return host
