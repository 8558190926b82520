"""IP addresses of clients, also behind proxies, and the networks by which they are counted.

An IPv6 subscriber has a whole /64, so a /64 counts as one client.
"""

import ipaddress
import logging
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from socialsite.core import redis

logger = logging.getLogger(__name__)

# Prefix lengths for IPv4 and IPv6: one client, and the network around it.
CLIENT, AROUND = (32, 64), (24, 48)


def address_of(request: HttpRequest) -> str:
    """Return the client's IP address, from the entry that our outermost proxy wrote.

    Of X-Forwarded-For, only as many entries count as there are configured proxies.
    """
    address = request.META.get("REMOTE_ADDR") or ""
    if settings.TRUSTED_PROXIES:
        entries = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        address = entries[max(0, len(entries) - settings.TRUSTED_PROXIES)].strip() or address
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return ""


def client_of(request: HttpRequest) -> str:
    """Return the client of a request: its IPv4 address or IPv6 /64."""
    _warn_of_proxy(request)
    return client(address_of(request))


def network_of(request: HttpRequest) -> str:
    """Return the network around a client: IPv4 /24, IPv6 /48."""
    return network(address_of(request), AROUND)


def client(address: str) -> str:
    """Return the client that an address counts as; empty for an invalid address."""
    return network(address, CLIENT).removesuffix("/32")


def network(address: str, lengths: tuple[int, int]) -> str:
    """Return the network of an address; `lengths` are the prefix lengths of IPv4 and IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    length = lengths[0] if isinstance(found, ipaddress.IPv4Address) else lengths[1]
    return str(ipaddress.ip_network((found.packed, length), strict=False))


# Kept in Redis, so that other processes know of the proxy too.
PROXY_KEY, PROXY_SECONDS = "uncounted_proxy", 7 * 24 * 3600
_warned = False


def uncounted_proxy() -> str:
    """Return the address that sent X-Forwarded-For last while TRUSTED_PROXIES was 0, or ""."""
    try:
        found: Any = redis.call(lambda connection: connection.get(PROXY_KEY))
    except redis.RedisDown:
        return ""
    return found.decode() if found else ""


def _warn_of_proxy(request: HttpRequest) -> None:
    """Warn once that a proxy seems to be in front which TRUSTED_PROXIES does not count."""
    global _warned
    if _warned or settings.TRUSTED_PROXIES or "HTTP_X_FORWARDED_FOR" not in request.META:
        return
    _warned = True
    address = request.META.get("REMOTE_ADDR") or "?"
    redis.send_later("SET", PROXY_KEY, address, "EX", PROXY_SECONDS)
    logger.warning(
        "a request from %s has X-Forwarded-For while TRUSTED_PROXIES is 0: if that is your proxy,"
        " all people share its address and the budgets of one address",
        address,
    )
