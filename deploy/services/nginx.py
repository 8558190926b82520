"""nginx in front of the site, as a `Service`."""

import contextlib
import os
import socket
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.services.service import Service, chown, group_of, unprivileged_account
from deploy.services.site_processes import LOOPBACK, program
from socialsite.core.http.server import body_limits
from socialsite.core.http.server.hsts import HSTS


@dataclass(frozen=True)
class Tls:
    """Certificate and key of https, as files that nginx may read, and the name that they are for.

    Requests by http get a redirect to https, except those by which a certificate authority proves
    the name: these are answered with files of `challenges`.
    """

    domain: str
    certificate: Path
    key: Path
    challenges: Path


def nginx(
    runtime: Path,
    host: str,
    port: int,
    *,
    http_uds: Sequence[Path],
    sockets_uds: Path,
    files: Path,
    scheme: str,
    behind_proxy: bool = False,
) -> Service:
    """nginx in front: serves `static/` and `media/` of `files`, proxies `/ws/` and the rest.

    It ignores what clients claim about their address, except `behind_proxy` (see `configuration`);
    `scheme` is the public one.
    """
    account = unprivileged_account(files / "media")
    work = runtime / "nginx"
    work.mkdir(mode=0o700, exist_ok=True)
    chown(work, account)  # large request bodies are buffered there
    config = work / "nginx.conf"
    config.write_text(
        configuration(
            work,
            [f"[{host}]:{port}" if ":" in host else f"{host}:{port}"],
            user=_nginx_user(account),
            http_uds=http_uds,
            sockets_uds=sockets_uds,
            files=files,
            scheme=scheme,
            behind_proxy=behind_proxy,
        )
    )
    return Service(
        name="nginx",
        argv=[program("nginx"), "-e", "stderr", "-p", str(work), "-c", str(config)],
        ready=lambda: _listens(host, port),
        stop_seconds=5,
    )


def configuration(
    work: Path,
    listen: Sequence[str],
    *,
    http_uds: Sequence[Path],
    sockets_uds: Path,
    files: Path,
    scheme: str,
    user: str = "",
    tls: Tls | None = None,
    behind_proxy: bool = False,
) -> str:
    """Return the text of nginx.conf. With `tls` it listens on ports 80 and 443 of `listen`.

    With `behind_proxy` only a reverse proxy with a private address reaches it: the last address in
    X-Forwarded-For, which that proxy wrote, counts as the client's.
    """
    template = string.Template((Path(__file__).parent / "nginx.conf.tmpl").read_text())
    addresses = [f"{address} backlog=1024" for address in listen]
    if tls:
        addresses = [f"{address}:443 ssl http2 backlog=1024" for address in listen]
    return template.substitute(
        user=user,
        work=work,
        listen=_indented(8, [f"listen {address};" for address in addresses]),
        tls=_indented(8, _certificate(tls)) if tls else "",
        redirect=_redirect(listen, tls) if tls else "",
        real_address=_indented(4, _real_address()) if behind_proxy else "",
        http=_indented(8, [f"server unix:{uds} max_fails=3 fail_timeout=1s;" for uds in http_uds]),
        sockets=sockets_uds,
        files=files,
        scheme=scheme,
        hsts=HSTS if scheme == "https" else "",
        body=body_limits.OTHER,
        larger_bodies=_larger_bodies(),
    )


def _certificate(tls: Tls) -> list[str]:
    """Return nginx's lines for https, after the intermediate profile of Mozilla."""
    return [
        f"ssl_certificate {tls.certificate};",
        f"ssl_certificate_key {tls.key};",
        "ssl_protocols TLSv1.2 TLSv1.3;",
        f"ssl_ciphers {CIPHERS};",
        "ssl_prefer_server_ciphers off;",
        "ssl_session_cache shared:tls:10m;",
        "ssl_session_timeout 1d;",
        "ssl_session_tickets off;",
    ]


def _real_address() -> list[str]:
    """Return nginx's lines that take the client's address from the proxy in front."""
    networks = [f"set_real_ip_from {network};" for network in PRIVATE]
    return [*networks, "real_ip_header X-Forwarded-For;"]


def _redirect(listen: Sequence[str], tls: Tls) -> str:
    """Return nginx's server for http, which redirects to https."""
    return (
        "    server {\n"
        f"        {_indented(8, [f'listen {address}:80;' for address in listen])}\n"
        "        server_name _;\n"
        "        location /.well-known/acme-challenge/ {\n"
        f'            root "{tls.challenges}";\n'
        "        }\n"
        "        location / {\n"
        f"            return 308 https://{tls.domain}$request_uri;\n"
        "        }\n"
        "    }\n"
    )


def _indented(blanks: int, lines: Sequence[str]) -> str:
    return f"\n{' ' * blanks}".join(lines)


PRIVATE = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1", "fc00::/7")
CIPHERS = ":".join(
    f"ECDHE-{key}-{cipher}"
    for cipher in ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
    for key in ("ECDSA", "RSA")
)

# The largest bodies: they are on the disk before anybody knows who sends them.
CONNECTIONS = "            limit_conn archives 8;\n            limit_conn archives_of_one 2;\n"


def _larger_bodies() -> str:
    """Return nginx's blocks for the URLs with a larger limit of the body."""
    blocks = []
    for path, limit in body_limits.locations().items():
        api = "api_" if path.startswith("/api/") else ""
        match = f'~ "^{path.replace("{id}", body_limits.ID)}$"' if "{id}" in path else f"= {path}"
        blocks.append(
            f"        location {match} {{\n"
            "            proxy_pass http://http;\n"
            f"            client_max_body_size {limit};\n"
            f"            error_page 413 @{api}too_large;\n"
            f"            error_page 502 503 504 = @{api}unavailable;\n"
            f"{CONNECTIONS if limit >= body_limits.IMPORT else ''}"
            "        }\n"
        )
    return "\n".join(blocks)


def _nginx_user(account: str | None) -> str:
    """Return nginx's `user` line, which only root may write."""
    if account:
        return f"user {account} {group_of(account).gr_name};"
    return "user root;" if os.geteuid() == 0 else ""


def _listens(host: str, port: int) -> bool:
    local = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104
    with contextlib.suppress(OSError), socket.create_connection((local, port), 1):
        return True
    return False
