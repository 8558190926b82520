"""What kind of device speaks to us, and from where (A10, T12).

One login per kind: an API client names its kind at login, for a browser it is read from the
User-Agent. A phone's browser counts as the phone, so that phone and desktop do not end each other.
"""

import ipaddress
import re

from django.conf import settings
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

USER_AGENT_MAX = 300


class Client(models.TextChoices):
    """The kinds of device; the `cli` of a token."""

    ANDROID = "android", "Android"
    IOS = "ios", "iOS"
    CHROME = "chrome", "Chrome"
    FIREFOX = "firefox", "Firefox"
    SAFARI = "safari", "Safari"
    EDGE = "edge", "Edge"
    WINDOWS = "windows", "Windows"
    MACOS = "macos", "macOS"
    LINUX = "linux", "Linux"
    OTHER = "other", _("Another device")


# The first match counts: nearly every browser also claims to be another one.
_BROWSERS = (
    (re.compile(r"iPhone|iPad|iPod"), Client.IOS),
    (re.compile(r"Android"), Client.ANDROID),
    (re.compile(r"Edg/"), Client.EDGE),
    (re.compile(r"OPR/|SamsungBrowser/"), Client.OTHER),
    (re.compile(r"Firefox/"), Client.FIREFOX),
    (re.compile(r"Chrome/|Chromium/"), Client.CHROME),
    (re.compile(r"Version/.*Safari/"), Client.SAFARI),
)


# Order counts here too: an Android calls itself Linux.
_SYSTEMS = (
    (re.compile(r"iPhone|iPad|iPod"), "iOS"),
    (re.compile(r"Android"), "Android"),
    (re.compile(r"Windows"), "Windows"),
    (re.compile(r"Mac OS X|Macintosh"), "macOS"),
    (re.compile(r"CrOS"), "ChromeOS"),
    (re.compile(r"Linux|X11"), "Linux"),
)


def browser_of(user_agent: str) -> Client:
    """Return the kind of a browser; `other` for what is not known."""
    for pattern, client in _BROWSERS:
        if pattern.search(user_agent):
            return client
    return Client.OTHER


def name_of(client: str, user_agent: str) -> str:
    """Return what to call a device before its person: "Chrome, Windows", "Android"."""
    kind = str(Client(client.partition(":")[0]).label)
    system = next((name for pattern, name in _SYSTEMS if pattern.search(user_agent)), "")
    return f"{kind}, {system}" if system and system != kind else kind


def user_agent_of(request: HttpRequest) -> str:
    """Return what the client calls itself, cut to the length that is kept."""
    return request.META.get("HTTP_USER_AGENT", "")[:USER_AGENT_MAX]


def address_of(request: HttpRequest) -> str:
    """Return the client's IP address: of the entry that our own outermost proxy wrote.

    An X-Forwarded-For is believed only as many entries deep as there are proxies of ours.
    """
    address = request.META.get("REMOTE_ADDR") or ""
    if settings.TRUSTED_PROXIES:
        entries = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        address = entries[max(0, len(entries) - settings.TRUSTED_PROXIES)].strip() or address
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return ""
