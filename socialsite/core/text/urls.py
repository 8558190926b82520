"""Bring addresses that people or other sites wrote into the form in which they are requested.

Browsers do the same: bytes beyond ASCII are percent-encoded, blanks become `%20`, and the host gets
its ASCII form (`xn--…`). Nothing else changes, so checks of the result see what will be requested.
"""

import re
from urllib.parse import quote, urlsplit, urlunsplit

import idna

HOST_MAX = 253
PLACE_MAX = HOST_MAX + 6  # with a port
# Characters that stay. "%" begins an escape, and checks that follow refuse what has no place here.
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


def ascii_host(host: str) -> str:
    """Return the ASCII form of a host. Raises ValueError for a name that no host can have."""
    if host.isascii():
        return host
    if len(host) > HOST_MAX:
        raise ValueError("too long a host")
    return idna.encode(host, uts46=True).decode()  # IDNAError is a ValueError


def ascii_url(address: str) -> str:
    """Return the ASCII form of an absolute address. Raises ValueError for a malformed one."""
    address = address.strip(" ")
    if address.isascii() and " " not in address:
        return address
    if not all(letter.isprintable() or ord(letter) > 0x7F for letter in address):
        raise ValueError("control characters")
    # `urlsplit` normalizes this part, which takes the square of the number of combining letters.
    place = re.split("[/?#]", address.partition("//")[2], maxsplit=1)[0]
    if len(place) > PLACE_MAX:
        raise ValueError("too long a host")
    parts = urlsplit(address)
    user, at, place = parts.netloc.rpartition("@")
    host, colon, port = place.partition(":")
    netloc = user + at + (place if place.startswith("[") else ascii_host(host) + colon + port)
    path, query, fragment = (quote(part, _PRINTABLE) for part in parts[2:])
    return urlunsplit((parts.scheme, netloc, path, query, fragment))


def ascii_bytes(place: bytes) -> str:
    """Return an address, or a part of one, that came as bytes: those beyond ASCII are encoded."""
    return quote(place, f"{_PRINTABLE} ")
