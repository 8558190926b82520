"""What counts as one place: the address of a client, and the network around it.

Whoever has an IPv6 address has a /64 of them, so that counts as one address.
"""

import ipaddress
import logging

from django.conf import settings
from django.http import HttpRequest

from accounts import devices

logger = logging.getLogger(__name__)

# Lengths of prefixes, of IPv4 and IPv6: one client, and the network it is part of.
CLIENT, AROUND = (32, 64), (24, 48)


def client_of(request: HttpRequest) -> str:
    """Return the address that counts as one client: of IPv6 the network of a household, /64."""
    _warn_of_proxy(request)
    return client(devices.address_of(request))


def network_of(request: HttpRequest) -> str:
    """Return the network around a client: /24 of IPv4, /48 of IPv6."""
    return network(devices.address_of(request), AROUND)


def client(address: str) -> str:
    """Return the address that counts as one client; empty for none."""
    return network(address, CLIENT).removesuffix("/32")


def network(address: str, lengths: tuple[int, int]) -> str:
    """Return the network of an address by its prefix, `lengths` of IPv4 and IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    length = lengths[0] if isinstance(found, ipaddress.IPv4Address) else lengths[1]
    return str(ipaddress.ip_network((found.packed, length), strict=False))


_warned = False


def _warn_of_proxy(request: HttpRequest) -> None:
    """Say once that a proxy seems to stand in front which nobody told us of."""
    global _warned
    if _warned or settings.TRUSTED_PROXIES or "HTTP_X_FORWARDED_FOR" not in request.META:
        return
    _warned = True
    logger.warning(
        "a request from %s has X-Forwarded-For while TRUSTED_PROXIES is 0: if that is your proxy,"
        " all people share its address and the budgets of one address",
        request.META.get("REMOTE_ADDR"),
    )
