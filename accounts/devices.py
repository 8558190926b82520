"""Clients: the kind of a device, its id and its display name.

- The `cli` claim of a token is the kind of device, or with CLIENT_POLICY=device `kind:id`.
- An API client names its kind at log-in; a browser's kind is read from the User-Agent. A phone's
  browser counts as the phone, so that phone and desktop do not sign each other out.
- The id is what the device says, neither a secret nor a credential. An API client stores its own, a
  browser has one in a cookie.
"""

import re
import secrets

from django.conf import settings
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from ua_parser import parse_os, parse_user_agent

from accounts.models import TokenVersion

ID_MIN, ID_MAX = 8, 40
ID = re.compile(rf"[A-Za-z0-9_-]{{{ID_MIN},{ID_MAX}}}")


class Client(models.TextChoices):
    """Kinds of device; the `cli` claim of a token."""

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


# The first match wins: nearly every browser also claims to be another one.
_BROWSERS = (
    (re.compile(r"iPhone|iPad|iPod"), Client.IOS),
    (re.compile(r"Android"), Client.ANDROID),
    (re.compile(r"Edg/"), Client.EDGE),
    (re.compile(r"OPR/|SamsungBrowser/"), Client.OTHER),
    (re.compile(r"Firefox/"), Client.FIREFOX),
    (re.compile(r"Chrome/|Chromium/"), Client.CHROME),
    (re.compile(r"Version/.*Safari/"), Client.SAFARI),
)

# Suffixes that the User-Agent parser adds and people do not say.
_TAIL = re.compile(r"( Mobile)?( WebView| iOS)?$")
_FAMILIES = {
    "Mobile Safari": "Safari",
    "Mobile Safari UI/WKWebView": "Safari",
    "WeChat Browser": "WeChat",
}
_SYSTEMS = {"Mac OS X": "macOS", "Chrome OS": "ChromeOS"}
# Programs begin with their own name, browsers with this.
_PAGES = "Mozilla/"
_PROGRAM = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{1,31}(?=/|$)")


def browser_of(user_agent: str) -> Client:
    """Return the kind of a browser; `other` for an unknown one."""
    for pattern, client in _BROWSERS:
        if pattern.search(user_agent):
            return client
    return Client.OTHER


def per_device() -> bool:
    """Return whether each device has its own sign-in (True) or each kind of device has one."""
    return str(settings.CLIENT_POLICY) == "device"


def new_id() -> str:
    """Return a new device id."""
    return secrets.token_urlsafe(18)


def client_of(kind: str, device: str) -> str:
    """Return the `cli` for a kind and a device id, according to CLIENT_POLICY."""
    return f"{kind}:{device}" if per_device() else kind


def kind_of(client: str) -> str:
    """Return the kind in a `cli`."""
    return client.partition(":")[0]


def id_of(client: str) -> str:
    """Return the device id in a `cli`; empty for none."""
    return client.partition(":")[2]


def is_client(text: str) -> bool:
    """Return whether a text is a valid `cli` of either policy."""
    kind, colon, device = text.partition(":")
    return kind in Client.values and (not colon or ID.fullmatch(device) is not None)


def name_of(client: str, user_agent: str) -> str:
    """Return a device's display name: "Chrome, Windows", "Android"."""
    kind = Client(kind_of(client))
    system = _system(user_agent)
    own = "" if kind == Client.OTHER else str(kind.label)
    if user_agent.startswith(_PAGES):
        own = _browser(user_agent) or own
    elif kind == Client.OTHER:
        program = _PROGRAM.match(user_agent)
        own = program[0] if program else ""
    # Do not repeat "Android" for a client of that kind.
    parts = dict.fromkeys(part for part in (own, system) if part)
    return ", ".join(parts)[: TokenVersion.ENDED_BY_MAX] or str(Client.OTHER.label)


def _browser(user_agent: str) -> str:
    found = parse_user_agent(user_agent)
    family = found.family if found else ""
    return _FAMILIES.get(family) or _TAIL.sub("", family)


def _system(user_agent: str) -> str:
    found = parse_os(user_agent)
    return _SYSTEMS.get(found.family, found.family) if found else ""


def user_agent_of(request: HttpRequest) -> str:
    """Return the User-Agent, cut to the stored length."""
    return request.META.get("HTTP_USER_AGENT", "")[: TokenVersion.USER_AGENT_MAX]


def own_name(request: HttpRequest, client: str) -> str:
    """Return the display name of the requesting device, whose `cli` is `client`."""
    return name_of(client, user_agent_of(request))
