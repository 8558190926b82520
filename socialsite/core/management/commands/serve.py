"""The embedded server (`make run`): site, worker and beat in one process, ready on first start."""

import errno
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class
from django.core.management.base import BaseCommand, CommandError
from django.urls import get_resolver

from socialsite.core.http.server.uvicorn_protocols import BoundedHttp, BoundedSocket
from socialsite.core.runtime import data_dir, embedded, memory
from socialsite.core.runtime.control.server import ControlServer

logger = logging.getLogger(__name__)

BACKLOG = 512
GRACE_SECONDS = 1
MAX_SOCKET_MESSAGE = 65_536
# Below 1,024, a common limit of open files per process.
CONNECTIONS = 800
ASKED_TO_END = (128 + signal.SIGINT, 128 + signal.SIGTERM)


class Command(BaseCommand):
    """Prepare the database, serve, and fill an empty site with demo data while serving."""

    help = "Run the site in this one process, with no other service (embedded mode)."
    requires_system_checks: list[str] = []  # the migrate command runs them

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until SIGINT or SIGTERM; raises CommandError if that is impossible."""
        if not settings.EMBEDDED:
            raise CommandError(
                "serve is the embedded mode, but DATABASE_URL is set. Unset DATABASE_URL and"
                " REDIS_URL, or run the full stack (make stack)."
            )
        try:
            with embedded.exclusive(), ControlServer(settings.DATA_DIR) as control:
                self._serve(control)
        except embedded.AlreadyRunning as error:
            raise CommandError(str(error)) from None

    def _serve(self, control: ControlServer) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        listener = self._listen(settings.ENV.HOST, settings.ENV.PORT)
        call_command("migrate", interactive=False, verbosity=0)
        data_dir.secure_all(settings.DATA_DIR, settings.FILES_GROUP)
        server = Server(
            lambda: self._started(control),
            uvicorn.Config(
                "socialsite.asgi:application",
                http=BoundedHttp,
                ws=BoundedSocket,
                limit_concurrency=CONNECTIONS,
                ws_max_size=MAX_SOCKET_MESSAGE,
                ws_per_message_deflate=False,
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                access_log=False,
                log_level="warning",
                timeout_graceful_shutdown=GRACE_SECONDS,
            ),
        )
        background = embedded.Background()
        background.start()
        code: Any = 0
        try:
            server.run(sockets=[listener])  # raises the signal that ended it again: `_leave`
        except SystemExit as error:
            code = 0 if error.code in ASKED_TO_END else error.code
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self.stdout.write("Stopping ...")
        control.close()
        background.stop()
        # Threads may still be busy (demo data, a task). All their work is in transactions, so the
        # process can exit. Joining them could take too long.
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def _listen(self, host: str, port: int) -> socket.socket:
        """Bind before the database is touched, so that a taken port is reported at once."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error}"
            raise CommandError(
                f"{host}:{port} {reason}. Choose another: make run PORT=8001"
            ) from None
        return listener

    def _started(self, control: ControlServer) -> None:
        get_resolver().url_patterns  # noqa: B018  (loads all views)
        memory.settle()
        control.start()
        name = "demo"
        demo = None
        if settings.ENV.DEMO and name in get_commands():
            demo = load_command_class(get_commands()[name], name)
        self.stdout.write(self.style.SUCCESS(f"The site is at {settings.SITE_URL}/"))
        if demo is not None:
            for line in getattr(demo, "logins", ()):
                self.stdout.write(f"  {line}")
            threading.Thread(target=self._fill, args=(demo,), name="demo", daemon=True).start()
        self.stdout.write("`manage.py metrics_token` prints the token of /metrics.")
        self.stdout.write(f"Data in {settings.DATA_DIR}. Ctrl-C stops the site.")
        self.stdout.flush()

    def _fill(self, demo: BaseCommand) -> None:
        """Run the demo command, which changes nothing on a site that has data."""
        began = time.monotonic()
        try:
            call_command(demo)
        except Exception:
            logger.exception("creating the demo data failed after %.0f s", time.monotonic() - began)


class Server(uvicorn.Server):
    """A uvicorn server that reports when it listens."""

    def __init__(self, on_started: Callable[[], None], config: uvicorn.Config) -> None:
        super().__init__(config)
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then report it."""
        await super().startup(sockets)
        self._on_started()


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit quietly if a signal arrives before the server listens."""
    raise SystemExit(128 + number)
