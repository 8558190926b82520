"""What kind of device speaks to us, which one, what to call it, and from where.

- The `cli` of a token is the kind of device, or with CLIENT_POLICY=device `kind:id`.
- An API client names its kind at login, for a browser it is read from the User-Agent. A phone's
  browser counts as the phone, so that phone and desktop do not end each other.
- An id is what the device says of itself, no secret and no credential: an API client keeps its own,
  a browser has one in a cookie.
"""

import ipaddress
import re
import secrets

from django.conf import settings
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from ua_parser import parse_os, parse_user_agent

USER_AGENT_MAX = 300
NAME_MAX = 80  # what TokenVersion.ended_by holds
ID = re.compile(r"[A-Za-z0-9_-]{8,40}")


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

# What the parser of User-Agents adds to the name of a browser, and people do not.
_TAIL = re.compile(r"( Mobile)?( WebView| iOS)?$")
_FAMILIES = {
    "Mobile Safari": "Safari",
    "Mobile Safari UI/WKWebView": "Safari",
    "WeChat Browser": "WeChat",
}
_SYSTEMS = {"Mac OS X": "macOS", "Chrome OS": "ChromeOS"}
# A program begins with its own name; everything that shows pages begins with this.
_PAGES = "Mozilla/"
_PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{1,31}(?=/|$)")


def browser_of(user_agent: str) -> Client:
    """Return the kind of a browser; `other` for what is not known."""
    for pattern, client in _BROWSERS:
        if pattern.search(user_agent):
            return client
    return Client.OTHER


def per_device() -> bool:
    """True when each device may be signed in, false when one of each kind."""
    return str(settings.CLIENT_POLICY) == "device"


def new_id() -> str:
    """Return an id for a device that has none."""
    return secrets.token_urlsafe(18)


def client_of(kind: str, device: str) -> str:
    """Return the `cli` of a kind and a device's id, as the policy wants it."""
    return f"{kind}:{device}" if per_device() else kind


def kind_of(client: str) -> str:
    """Return the kind in a `cli`."""
    return client.partition(":")[0]


def id_of(client: str) -> str:
    """Return the id in a `cli`, empty for none."""
    return client.partition(":")[2]


def is_client(text: str) -> bool:
    """True for what can be a `cli`, of either policy."""
    kind, colon, device = text.partition(":")
    return kind in Client.values and (not colon or ID.fullmatch(device) is not None)


def name_of(client: str, user_agent: str) -> str:
    """Return what to call a device before its person: "Chrome, Windows", "Android"."""
    kind = Client(kind_of(client))
    system = _system(user_agent)
    own = "" if kind == Client.OTHER else str(kind.label)
    if user_agent.startswith(_PAGES):
        own = _browser(user_agent) or own
    elif kind == Client.OTHER:
        program = _PROGRAM.match(user_agent)
        own = program[0] if program else ""
    # An Android of the kind Android is not said twice.
    parts = dict.fromkeys(part for part in (own, system) if part)
    return ", ".join(parts)[:NAME_MAX] or str(Client.OTHER.label)


def _browser(user_agent: str) -> str:
    found = parse_user_agent(user_agent)
    family = found.family if found else ""
    return _FAMILIES.get(family) or _TAIL.sub("", family)


def _system(user_agent: str) -> str:
    found = parse_os(user_agent)
    return _SYSTEMS.get(found.family, found.family) if found else ""


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
