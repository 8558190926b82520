"""nginx in front of the site, as a `Service`."""

import contextlib
import os
import socket
import string
from collections.abc import Sequence
from pathlib import Path

from deploy.services.service import Service, chown, group_of, unprivileged_account
from deploy.services.site_processes import LOOPBACK, program
from socialsite.core.http.server import body_limits
from socialsite.core.http.server.hsts import HSTS


def nginx(
    runtime: Path,
    host: str,
    port: int,
    *,
    http_uds: Sequence[Path],
    sockets_uds: Path,
    files: Path,
    scheme: str,
) -> Service:
    """nginx in front: serves `static/` and `media/` of `files`, proxies `/ws/` and the rest.

    It ignores what clients claim about their address; `scheme` is the public one.
    """
    account = unprivileged_account(files / "media")
    work = runtime / "nginx"
    work.mkdir(mode=0o700, exist_ok=True)
    chown(work, account)  # large request bodies are buffered there
    template = string.Template((Path(__file__).parent / "nginx.conf.tmpl").read_text())
    config = work / "nginx.conf"
    config.write_text(
        template.substitute(
            user=_nginx_user(account),
            work=work,
            listen=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            http="\n        ".join(
                f"server unix:{uds} max_fails=3 fail_timeout=1s;" for uds in http_uds
            ),
            sockets=sockets_uds,
            files=files,
            scheme=scheme,
            hsts=HSTS if scheme == "https" else "",
            body=body_limits.OTHER,
            larger_bodies=_larger_bodies(),
        )
    )
    return Service(
        name="nginx",
        argv=[program("nginx"), "-e", "stderr", "-p", str(work), "-c", str(config)],
        ready=lambda: _listens(host, port),
        stop_seconds=5,
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
