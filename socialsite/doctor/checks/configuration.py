"""Keys, proxies, origin and the switches for trials: what the environment says."""

import ipaddress
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host
from django.utils.translation import gettext as _

from socialsite.core.http import ip_addresses
from socialsite.core.runtime import own_keys
from socialsite.doctor.findings import Finding, error, ok, unknown, warning

SECRET_MIN, DIFFERENT_MIN = 32, 8
TOKEN_MIN = 20
DEFAULT_PORTS = {"http": 80, "https": 443}


# --- keys ---------------------------------------------------------------------------------------
def keys() -> Iterator[Finding]:
    """Where keys come from, how strong they are, and who can read them."""
    generated, problems = [], list(_weak())
    path = Path(settings.DATA_DIR) / own_keys.FILE
    try:
        stored = json.loads(path.read_text()) if path.exists() else {}
    except (OSError, ValueError) as reason:
        yield unknown(
            _("%(path)s cannot be read: %(reason)s") % {"path": path, "reason": reason},
            _("Run the command as the account of the site."),
        )
        stored = {}
    for name, value in _used():
        if value and stored.get(name) == value:
            generated.append(name)
    problems += _modes(path)
    if generated and not settings.EMBEDDED:
        problems.append(
            warning(
                _("Generated keys are in use: %(names)s.") % {"names": ", ".join(generated)},
                _(
                    "Put them into the environment: processes with another DATA_DIR would have"
                    " other keys, and what they sign would not be accepted."
                ),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("Keys are strong, and only the account of the site can read them."))


def _used() -> list[tuple[str, str]]:
    """Return the names in keys.json with the values in use."""
    return [
        ("SECRET_KEY", settings.SECRET_KEY),
        ("JWT_KEY", settings.JWT_KEYS[0]),
        ("METRICS_TOKEN", settings.METRICS_TOKEN),
        ("VAPID_PRIVATE_KEY", settings.VAPID_PRIVATE_KEY),
    ]


def _weak() -> Iterator[Finding]:
    """Keys that can be guessed, and keys with two purposes."""
    secret, token = settings.SECRET_KEY, settings.METRICS_TOKEN
    if len(secret) < SECRET_MIN or len(set(secret)) < DIFFERENT_MIN:
        yield error(
            _("SECRET_KEY can be guessed: it is short or has few different characters."),
            _("Replace it by a key of `manage.py make_key`, and move it to SECRET_KEY_FALLBACKS."),
        )
    if len(token) < TOKEN_MIN or len(set(token)) < DIFFERENT_MIN:
        yield warning(
            _("METRICS_TOKEN can be guessed: it is short or has few different characters."),
            _("Replace it by a key of `manage.py make_key`, also in Prometheus."),
        )
    others = {secret, *settings.JWT_KEYS, *(service.key for service in settings.SERVICE_KEYS)}
    if token in others:
        yield error(
            _("METRICS_TOKEN is also another key of the site."),
            _("Replace both keys: whoever reads metrics knows the other one."),
        )


def _modes(path: Path) -> Iterator[Finding]:
    """Files of keys that other accounts can read."""
    if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield error(
            _("Other accounts can read %(path)s.") % {"path": path},
            _("Run `chmod 600` on it, and replace the keys if others use this machine."),
        )
    directory = Path(settings.DATA_DIR)
    # A group may traverse it: FILES_GROUP.
    if directory.stat().st_mode & (stat.S_IRGRP | stat.S_IWGRP | stat.S_IRWXO):
        yield error(
            _("Other accounts can enter or list %(path)s.") % {"path": directory},
            _("Use a directory that only the account of the site can enter (`chmod 700`)."),
        )


# --- proxies ------------------------------------------------------------------------------------
def proxies() -> Iterator[Finding]:
    """TRUSTED_PROXIES, compared with the requests that came."""
    number = settings.TRUSTED_PROXIES
    if number:
        text = _("X-Forwarded-For is read as from this number of proxies: %(number)s.")
        yield ok(
            text % {"number": number},
            _("Check under “Audit entries” in the admin that people have different addresses."),
        )
        return
    if seen := ip_addresses.uncounted_proxy():
        yield error(
            _("A proxy at %(address)s forwards requests, but TRUSTED_PROXIES is 0.")
            % {"address": seen},
            _(
                "Set TRUSTED_PROXIES to the number of your proxies: all people share one address"
                " now, and with it their budgets."
            ),
        )
    elif settings.HTTPS:
        yield warning(
            _("SITE_URL is https, so a proxy is in front, but TRUSTED_PROXIES is 0."),
            _("Set TRUSTED_PROXIES to the number of your proxies."),
        )
    else:
        yield ok(_("No request showed a proxy in front of the site."))


# --- origin -------------------------------------------------------------------------------------
def origin() -> Iterator[Finding]:
    """SITE_URL as browsers write it in the header Origin, which forms and WebSockets compare."""
    site = settings.SITE_URL
    parts = urlsplit(site)
    host, problems = parts.hostname or "", False
    if (wanted := origin_of(site)) != site:
        problems = True
        yield error(
            _("Browsers send the Origin %(wanted)s, but SITE_URL is %(site)s.")
            % {"wanted": wanted, "site": site},
            _("Set SITE_URL to %(wanted)s: forms and live updates are refused now.")
            % {"wanted": wanted},
        )
    if not validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS):
        problems = True
        yield error(
            _("The host %(host)s of SITE_URL is not in ALLOWED_HOSTS.") % {"host": host},
            _("Add it to ALLOWED_HOSTS: all requests to it are refused now."),
        )
    if "*" in settings.ALLOWED_HOSTS:
        problems = True
        yield warning(
            _("ALLOWED_HOSTS accepts every host name."),
            _("List the names of the site: others can make it write foreign links."),
        )
    if not settings.EMBEDDED and is_loopback(host):
        problems = True
        yield warning(
            _("SITE_URL is an address of this machine only: %(site)s.") % {"site": site},
            _("Set SITE_URL to the address that people use: links in mails begin with it."),
        )
    if not problems:
        yield ok(_("Forms and live updates from %(site)s are accepted.") % {"site": site})


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it: lower case, without the default port."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    is_default = parts.port in (None, DEFAULT_PORTS.get(parts.scheme))
    return f"{parts.scheme}://{host}{'' if is_default else f':{parts.port}'}"


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# --- switches -----------------------------------------------------------------------------------
def _remove(name: str) -> str:
    text = _("Remove %s from the environment and restart (site.env and `site reload`).")
    return text % name


def switches() -> Iterator[Finding]:
    """Settings for trials, which a public site must not have."""
    problems = []
    if settings.DEBUG:
        problems.append(
            error(
                _("DEBUG is on: error pages show the code and settings."),
                _remove("DEBUG"),
            )
        )
    if settings.ENV.DEMO and settings.HTTPS:
        problems.append(
            error(
                _("DEMO is on: everybody knows its log-ins, and one of them is an admin's."),
                _("Remove DEMO, and ban the people of the demo or start with an empty database."),
            )
        )
    if not settings.ENV.BUDGETS:
        problems.append(
            error(
                _("BUDGETS is 0: nothing limits what one client may do."),
                _remove("BUDGETS"),
            )
        )
    if settings.FAILPOINT:
        problems.append(
            error(
                _("FAILPOINT is set: processes end themselves at some point."),
                _remove("FAILPOINT"),
            )
        )
    if settings.OUTGOING_LOOPBACK:
        problems.append(
            warning(
                _("OUTGOING_LOOPBACK is on: links of members can reach services of this machine."),
                _remove("OUTGOING_LOOPBACK"),
            )
        )
    yield from problems
    if not problems:
        yield ok(_("No setting for trials is on."))
