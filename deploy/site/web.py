"""nginx and TLS of an installed site.

The certificate is one that the operator has (paths), or one of an ACME authority such as Let's
Encrypt, which Debian's certbot fetches and renews. nginx runs without root's rights, so it reads
copies in /etc/socialsite/tls.
"""

import dataclasses
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.services import nginx
from deploy.services.site_processes import HTTP
from deploy.site import layout, settings
from deploy.site.machine import InstallError, Machine, run, succeeds

CERTIFICATE, KEY = layout.TLS / "certificate.pem", layout.TLS / "key.pem"
PLACEHOLDER_DAYS = 30


@dataclass(frozen=True)
class Web:
    """How the site is reached: its name, and where its certificate comes from.

    With `http_only` the site is reached by http.
    """

    domain: str = ""
    certificate: str = ""
    key: str = ""
    acme_email: str = ""
    acme_server: str = ""
    http_only: bool = False

    @property
    def https(self) -> bool:
        """True if there is a certificate."""
        return bool(self.certificate or self.acme_email)

    @property
    def url(self) -> str:
        """The address of the site."""
        return f"{'https' if self.https else 'http'}://{self.domain}"


FIELDS = tuple(field.name for field in dataclasses.fields(Web))


def stored() -> Web:
    """Return how the site of this machine is reached; everything empty before the first time."""
    known = settings.read(layout.INSTALL)
    values: dict[str, Any] = {name: known.get(name.upper(), "") for name in FIELDS}
    return Web(**{**values, "http_only": bool(values["http_only"])})


def configure(machine: Machine, web: Web, *, without: str = "") -> None:
    """Write nginx's configuration with the certificate, which is a placeholder before ACME.

    `without` names an HTTP worker that is to get no requests, as it is about to stop.
    """
    machine.directory(layout.CHALLENGES, 0o755)
    if web.certificate and Path(web.certificate).exists():  # moved away: the copy stays
        check_certificate(web.domain, Path(web.certificate), Path(web.key))
        copy_certificate(machine, Path(web.certificate), Path(web.key))
    elif web.acme_email and not CERTIFICATE.exists():
        _placeholder(machine, web.domain)
    machine.write(layout.NGINX_CONFIG, configuration(web, without=without))


def configuration(web: Web, *, without: str = "") -> str:
    """Return nginx's configuration; see `configure`."""
    addresses = ["0.0.0.0"]  # noqa: S104  (the site is public)
    if Path("/proc/net/if_inet6").exists():
        addresses.append("[::]")
    tls = nginx.Tls(web.domain, CERTIFICATE, KEY, layout.CHALLENGES) if web.https else None
    return nginx.configuration(
        layout.NGINX_WORK,
        addresses if tls else [f"{address}:80" for address in addresses],
        http_uds=[layout.RUN / f"{name}.sock" for name in HTTP if name != without],
        sockets_uds=layout.RUN / "sockets.sock",
        files=layout.DATA,
        scheme="https" if tls else "http",
        tls=tls,
    )


def check_certificate(domain: str, certificate: Path, key: Path) -> None:
    """Raise InstallError unless these belong together, to the name of the site, and are valid."""
    public = run("openssl", "x509", "-in", str(certificate), "-noout", "-pubkey")
    if run("openssl", "pkey", "-in", str(key), "-pubout") != public:
        raise InstallError(f"{key} is not the key of {certificate}")
    known = run("openssl", "x509", "-in", str(certificate), "-noout", "-checkhost", domain)
    if "does match" not in known:
        raise InstallError(f"{certificate} is for another name than {domain}")
    if not succeeds("openssl", "x509", "-in", str(certificate), "-noout", "-checkend", "0"):
        raise InstallError(f"{certificate} has expired")


def copy_certificate(machine: Machine, certificate: Path, key: Path) -> None:
    """Copy a certificate and its key to where nginx reads them."""
    machine.directory(layout.TLS, 0o750, group=layout.WEB_ACCOUNT)
    for source, target in ((certificate, CERTIFICATE), (key, KEY)):
        if not source.is_file():
            raise InstallError(
                f"{source} is not there; give the paths of a certificate and its key"
            )
        machine.write(target, source.read_text(), 0o640, group=layout.WEB_ACCOUNT)


def fetch_certificate(machine: Machine, web: Web) -> None:
    """Fetch a certificate with certbot, unless there is one; nginx must run.

    Debian's timer of certbot renews it, and the deploy hook copies it and reloads nginx.
    """
    if not web.acme_email:
        raise InstallError("This site has a certificate of its own: site reload")
    live = Path("/etc/letsencrypt/live") / web.domain
    if not live.exists():
        machine.run(
            *("certbot", "certonly", "--non-interactive", "--agree-tos", "--webroot"),
            *("--webroot-path", str(layout.CHALLENGES), "--domain", web.domain),
            *("--email", web.acme_email, "--deploy-hook", f"{layout.COMMAND} reload-certificate"),
            *(("--server", web.acme_server) if web.acme_server else ()),
        )
    copy_certificate(machine, live / "fullchain.pem", live / "privkey.pem")


def _placeholder(machine: Machine, domain: str) -> None:
    """Make a certificate that nobody trusts, until there is one of the authority."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = (os.path.join(folder, name) for name in ("certificate", "key"))
        run(
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", str(PLACEHOLDER_DAYS), "-subj", f"/CN={domain}"),
            *("-addext", f"subjectAltName=DNS:{domain}", "-keyout", key, "-out", certificate),
        )
        copy_certificate(machine, Path(certificate), Path(key))
