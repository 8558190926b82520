"""HAProxy in front of several machines of the site, as a `Service`."""

import socket
import string
from collections.abc import Mapping
from pathlib import Path

from deploy.services.service import Service
from deploy.services.site_processes import LOOPBACK, program


def haproxy(runtime: Path, port: int, machines: Mapping[str, str]) -> Service:
    """HAProxy on a loopback port; `machines` are the addresses of their nginx by name."""
    config = runtime / "haproxy.cfg"
    config.write_text(configuration(f"{LOOPBACK}:{port}", machines))
    return Service(
        name="haproxy",
        argv=[program("haproxy"), "-W", "-db", "-f", str(config)],
        ready=lambda: listens(port),
        stop_seconds=2,
    )


def configuration(bind: str, machines: Mapping[str, str]) -> str:
    """Return the text of haproxy.cfg, for an address to listen on and those of the machines."""
    template = string.Template((Path(__file__).parent / "haproxy.cfg.tmpl").read_text())
    lines = (f"    server {name} {address}" for name, address in machines.items())
    return template.substitute(bind=bind, machines="\n".join(lines))


def listens(port: int, host: str = LOOPBACK) -> bool:
    """Return whether a port takes connections."""
    with socket.socket() as connection:
        return connection.connect_ex((host, port)) == 0
