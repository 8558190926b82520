"""The certificate of the public address, its redirect from http, and HSTS.

The requests go to SITE_URL only, so they need none of the guards of `socialsite.core.client`.
"""

import contextlib
import http.client
import ssl
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from socialsite.doctor.checks import configuration
from socialsite.doctor.findings import Finding, error, ok, unknown, warning

TIMEOUT_SECONDS = 3.0
SOON_DAYS, VERY_SOON_DAYS = 21, 7
HSTS_MIN = 15_552_000  # half a year
DAY_SECONDS = 86_400
HTTP_PORT, HTTPS_PORT = 80, 443
PATH = "/healthz"


def tls(trust: ssl.SSLContext | None = None) -> Iterator[Finding]:
    """Connect to SITE_URL as a browser does; `trust` replaces the authorities of this machine."""
    parts = urlsplit(settings.SITE_URL)
    host = parts.hostname or ""
    if parts.scheme != "https":
        yield _without(host)
        return
    port = parts.port or HTTPS_PORT
    connection = http.client.HTTPSConnection(
        host, port, timeout=TIMEOUT_SECONDS, context=trust or ssl.create_default_context()
    )
    with contextlib.closing(connection):
        try:
            connection.connect()
        except ssl.SSLCertVerificationError as reason:
            yield error(
                _("Browsers refuse the certificate of %(host)s: %(reason)s.")
                % {"host": host, "reason": reason.verify_message},
                _(
                    "Renew the certificate, for this name and with its whole chain. If it is of an"
                    " authority of your own, let this machine trust that"
                    " (`update-ca-certificates`)."
                ),
            )
            return
        except OSError as reason:
            yield _unreachable(f"{host}:{port}", reason)
            return
        yield _remaining(connection)
        yield from _hsts(connection)
    if port == HTTPS_PORT:
        yield from redirect(host, HTTP_PORT)


def _without(host: str) -> Finding:
    if configuration.is_loopback(host):
        return ok(_("SITE_URL is an address of this machine, which needs no certificate."))
    return warning(
        _("SITE_URL is not https: whoever is on the way can read passwords."),
        _("Put a proxy with a certificate in front, and set SITE_URL to its address."),
    )


def _remaining(connection: http.client.HTTPSConnection) -> Finding:
    found = connection.sock.getpeercert() or {}
    days = int((ssl.cert_time_to_seconds(str(found["notAfter"])) - time.time()) // DAY_SECONDS)
    text = _("The certificate is valid for %(days)d more days.") % {"days": days}
    advice = _("Renew it, and look why that did not happen by itself.")
    if days < VERY_SOON_DAYS:
        return error(text, advice)
    return warning(text, advice) if days < SOON_DAYS else ok(text)


def _hsts(connection: http.client.HTTPSConnection) -> Iterator[Finding]:
    try:
        connection.request("GET", PATH)
        answer = connection.getresponse()
    except (OSError, http.client.HTTPException) as reason:
        yield error(
            _("The site does not answer at its public address: %(reason)s") % {"reason": reason},
            _("Check the proxy in front, and that it forwards to the site."),
        )
        return
    if answer.status != http.client.OK:
        yield error(
            _("The public address answers with %(status)d instead of the site.")
            % {"status": answer.status},
            _("Check the proxy in front, and that it forwards to the site."),
        )
    words = (answer.getheader("Strict-Transport-Security") or "").lower().split(";")
    ages = [word.strip()[8:].strip('"') for word in words if word.strip().startswith("max-age=")]
    if not ages or not ages[0].isdigit() or int(ages[0]) < HSTS_MIN:
        yield warning(
            _("Browsers are not told to use https only (HSTS)."),
            _("Let the proxy in front pass the header Strict-Transport-Security on."),
        )


def redirect(host: str, port: int) -> Iterator[Finding]:
    """Whether the address with http leads to https."""
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    with contextlib.closing(connection):
        try:
            connection.request("GET", PATH)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as reason:
            yield _unreachable(f"{host}:{port}", reason)
            return
    target = answer.getheader("Location") or ""
    if answer.status // 100 != 3 or not target.startswith("https://"):
        yield error(
            _("http://%(host)s does not redirect to https.") % {"host": host},
            _("Let the proxy in front redirect all requests to https."),
        )


def _unreachable(address: str, reason: Exception) -> Finding:
    return unknown(
        _("%(address)s cannot be reached from here: %(reason)s")
        % {"address": address, "reason": reason},
        _("If people reach the site, this machine may not know its public address."),
    )
