"""HAProxy in front of the nodes of a database, as a `Service`: one node gets all connections."""

import string
from collections.abc import Mapping
from pathlib import Path

from deploy.services.haproxy import listens
from deploy.services.service import Service
from deploy.services.site_processes import LOOPBACK, program

# The account of the checks: no password, no rights.
CHECKER = "proxy_check"
WRITER = "is the writer"
# Synced (4), or sending a state to a node that joins (2). Outside of the primary component it is 0.
# An operator who sets read_only moves the writer to another node.
GALERA = (
    "SELECT IF(@@global.read_only = 0 AND VARIABLE_VALUE IN ('2', '4'), 'is the writer', 'is none')"
    " AS state FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_local_state'"
)
# Capabilities of the client: long passwords, protocol 4.1, transactions, secure connection.
_CAPABILITIES = 0x0000_A201
_UTF8MB4 = 45
_COM_QUERY = b"\x03"


def database_proxy(
    runtime: Path, port: int, peer_port: int, nodes: Mapping[str, str], host: str = LOOPBACK
) -> Service:
    """HAProxy on a port of this machine; `nodes` are the addresses of MariaDB by name."""
    config = runtime / "database_proxy.cfg"
    config.write_text(configuration(f"{host}:{port}", f"{LOOPBACK}:{peer_port}", nodes))
    return Service(
        name="database proxy",
        argv=[program("haproxy"), "-W", "-db", "-f", str(config)],
        ready=lambda: listens(port, host),
        stop_seconds=2,
    )


def configuration(bind: str, peer: str, nodes: Mapping[str, str], query: str = GALERA) -> str:
    """Return the text of haproxy.cfg, for the addresses to listen on and those of the nodes.

    The first node writes first; the others are taken in their order.
    """
    template = string.Template((Path(__file__).parent / "database_proxy.cfg.tmpl").read_text())
    lines = [
        f"    server {name} {address}{' backup' if index else ''}"
        for index, (name, address) in enumerate(nodes.items())
    ]
    return template.substitute(
        bind=bind,
        peer=peer,
        user=CHECKER,
        login=_login().hex(),
        query_head=_packet(0, _COM_QUERY, size=len(query) + 1).hex(),
        query=query,
        answer=WRITER,
        nodes="\n".join(lines),
    )


def _packet(sequence: int, body: bytes, size: int | None = None) -> bytes:
    """Return a packet of MySQL's protocol, or its beginning if `size` is that of the whole body."""
    length = len(body) if size is None else size
    return length.to_bytes(3, "little") + bytes([sequence]) + body


def _login() -> bytes:
    """Return the answer to the server's handshake, for an account without a password."""
    capabilities = _CAPABILITIES.to_bytes(4, "little")
    longest = (2**24 - 1).to_bytes(4, "little")
    user = CHECKER.encode() + b"\0"
    return _packet(1, capabilities + longest + bytes([_UTF8MB4]) + bytes(23) + user + b"\0")
