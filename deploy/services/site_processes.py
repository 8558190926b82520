"""The processes of the site: their command lines (`ROLES`), and each as a `Service`.

All listen on a socket in a private directory. MariaDB and Redis are in `deploy.services.databases`,
nginx is in `deploy.services.nginx`. The stack, the units of an installed site and the containers
run the same roles.
"""

import contextlib
import http.client
import os
import shutil
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.services.service import Service, ServiceError

PROJECT_DIR = Path(__file__).resolve().parents[2]
LOOPBACK = "127.0.0.1"
SERVICE_URLS = ("DATABASE_URL", "REPLICA_URLS", "REDIS_URL", "BROKER_URL", "EVENT_STREAM_URL")
# Each HTTP worker listens on its own socket: of several processes that accept from one socket, one
# may get most connections, and keeps them.
HTTP = ("http1", "http2")
METRICS = "metrics"  # in the directory of sockets: what the processes measured
WORKER_READY = " ready."  # the end of the line that Celery logs when it takes tasks


@dataclass(frozen=True)
class Role:
    """One process of the site. `arguments` are those of Python, for a directory of sockets.

    `answers` is true if it answers HTTP on the socket of its name in that directory. With
    `inheriting`, the arguments for the number of a listening socket that it gets, systemd keeps the
    socket while the process starts again: who connects meanwhile waits, and is not refused.
    """

    name: str
    title: str
    arguments: Callable[[Path], list[str]]
    answers: bool = True
    inheriting: Callable[[int], list[str]] | None = None


def wsgi_arguments(uds: Path, *, threads: int = 4) -> list[str]:
    """Return the arguments of an HTTP worker under granian, on a Unix socket."""
    return [
        *("-m", "granian", "socialsite.wsgi:application", "--interface", "wsgi"),
        *("--uds", str(uds), "--uds-permissions", "0666"),
        *("--workers", "1", "--blocking-threads", str(threads)),
        # Without `--respawn-failed-workers`: if the worker dies, the service ends, its socket
        # closes, and requests go to the other one instead of waiting.
        *("--no-ws", "--log-level", "warning"),
        *("--http1-buffer-size", "65536"),  # bounds the size of a request head too
        *("--workers-kill-timeout", "5"),
    ]


def asgi_arguments(uds: Path | None = None, *, number: int = -1) -> list[str]:
    """Return the arguments of the process of WebSockets under uvicorn, on a Unix socket.

    It makes the socket, or has inherited it with a number.
    """
    return [
        *("-m", "uvicorn", "socialsite.asgi:application"),
        *(("--uds", str(uds)) if uds else ("--fd", str(number))),
        *("--http", "socialsite.core.http.server.uvicorn_protocols:BoundedHttp"),
        *("--ws", "socialsite.core.http.server.uvicorn_protocols:BoundedSocket"),
        # Messages are a line each; the state of a compression takes 40 kB for each socket.
        *("--ws-max-size", "65536", "--ws-per-message-deflate", "false"),
        *("--lifespan", "off"),
        *("--no-server-header", "--no-proxy-headers", "--no-access-log"),
        *("--log-level", "warning", "--timeout-graceful-shutdown", "2"),
    ]


def worker_arguments(name: str, *options: str) -> list[str]:
    """Return the arguments of a Celery worker with this name."""
    return [
        *("-m", "celery", "-A", "socialsite", "worker"),
        *("--hostname", f"{name}@%h", "--loglevel", "INFO"),
        *("--without-mingle", "--without-gossip"),
        *options,
    ]


def _http_role(name: str) -> Role:
    title = f"HTTP worker {name.removeprefix('http')}"
    return Role(name, title, lambda run: wsgi_arguments(run / f"{name}.sock"))


VIDEO_OPTIONS = ("--queues", "video", "--concurrency", "1")
ROLES = (
    *map(_http_role, HTTP),
    Role(
        *("sockets", "WebSockets"),
        lambda run: asgi_arguments(run / "sockets.sock"),
        inheriting=lambda number: asgi_arguments(number=number),
    ),
    Role("worker", "background tasks", lambda run: worker_arguments("worker"), answers=False),
    Role(
        *("video", "conversion of videos"),
        lambda run: worker_arguments("video", *VIDEO_OPTIONS),
        answers=False,
    ),
)


def program(*names: str) -> str:
    """Return the path of the first installed program of these. Raises ServiceError if none is."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise ServiceError(f"{names[0]} is not installed")


def environment() -> dict[str, str]:
    """Return the environment of this process without the URLs of its services."""
    return {key: value for key, value in os.environ.items() if key not in SERVICE_URLS}


def python(*words: str) -> list[str]:
    """Return a command line for this Python."""
    return [sys.executable, *words]


def manage(name: str, env: Mapping[str, str], *words: str) -> Service:
    """One management command, which ends by itself."""
    return Service(name, python("manage.py", *words), env=env, cwd=PROJECT_DIR)


def celery_worker(
    env: Mapping[str, str], *, name: str = "worker", options: Sequence[str] = ()
) -> Service:
    """A Celery worker; it runs the schedule too."""
    return Service(
        name=name,
        argv=python(*worker_arguments(name, *options)),
        ready_line=WORKER_READY,
        env={**env, "METRICS_ROLE": name},
        cwd=PROJECT_DIR,
    )


def video_worker(env: Mapping[str, str]) -> Service:
    """The Celery worker of the queue that converts videos, one at a time."""
    return celery_worker(env, name="video", options=VIDEO_OPTIONS)


def wsgi(env: Mapping[str, str], uds: Path, *, threads: int = 4) -> Service:
    """One HTTP worker; its name is that of the socket."""
    return _answering(uds.stem, env, uds, wsgi_arguments(uds, threads=threads))


def asgi(env: Mapping[str, str], uds: Path) -> Service:
    """The process of WebSockets."""
    return _answering("sockets", env, uds, asgi_arguments(uds))


def _answering(name: str, env: Mapping[str, str], uds: Path, arguments: Sequence[str]) -> Service:
    return Service(
        name=name,
        argv=python(*arguments),
        ready=lambda: http_answers(uds),
        probed=True,
        stale=[uds],
        env={**env, "METRICS_ROLE": name},
        cwd=PROJECT_DIR,
    )


def http_answers(uds: Path, path: str = "/healthz") -> bool:
    """Return whether a GET over the Unix socket gets status 200."""
    connection = _UnixConnection(uds)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status == 200
    return False


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP client on a Unix socket."""

    def __init__(self, uds: Path) -> None:
        super().__init__("localhost", timeout=5)
        self._uds = str(uds)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._uds)
