"""The side of the site: accepts commands at the socket and runs each in a thread.

- Only the account of the site and root may send commands: the socket has mode 0600 in a private
  directory, and the kernel says who connected.
- The socket exists before the site is ready. Commands wait until `start`.
- Commands may run at the same time, as requests do. All their work is in transactions, so they may
  end with the process at any point.
"""

import contextlib
import logging
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from django.core.management import ManagementUtility
from tqdm import tqdm

from socialsite.core.runtime import data_dir
from socialsite.core.runtime.control import caller as callers
from socialsite.core.runtime.control import wire
from socialsite.core.runtime.control.caller import Caller
from socialsite.core.runtime.control.commands import PLACES, Place, refusal

logger = logging.getLogger(__name__)

COMMANDS = 8  # at the same time
BACKLOG = 64
REQUEST_SECONDS = 10.0
INTERRUPTED = 130  # as a shell reports it
RETRY_SECONDS = 1.0

_CREDENTIALS = struct.Struct("3i")


class ControlServer:
    """The socket of one site. Without it (some file systems have no sockets) the site runs too."""

    def __init__(self, directory: Path) -> None:
        """Create the socket. The caller holds the lock of DATA_DIR, so an old socket is stale."""
        self._directory = directory
        self._closed = False
        self._free = threading.BoundedSemaphore(COMMANDS)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with wire.address(directory) as (address, descriptor):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(wire.NAME, dir_fd=descriptor)
                self._listener.bind(address)
                os.chmod(wire.NAME, data_dir.OWN_FILE, dir_fd=descriptor)
                self._listener.listen(BACKLOG)
        except OSError:
            logger.exception(
                "cannot create %s; stop the site to run management commands", directory / wire.NAME
            )
            self._closed = True

    def start(self) -> None:
        """Accept commands, also those that wait already."""
        if self._closed:
            return
        callers.share_streams()
        tqdm.monitor_interval = 0  # its thread would draw bars on the terminal of the site
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def __enter__(self) -> "ControlServer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Accept nothing more and remove the socket."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._listener.close()
        (self._directory / wire.NAME).unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                logger.exception("cannot accept commands; trying again")
                time.sleep(RETRY_SECONDS)
                continue
            threading.Thread(
                target=self._answer, args=(sock,), name="control-command", daemon=True
            ).start()

    def _answer(self, sock: socket.socket) -> None:
        """Run the command of a connection and send its exit code."""
        # OSError: the operator is gone.
        with sock, contextlib.suppress(OSError):
            refused = _refused(sock)
            if refused is None and not self._free.acquire(blocking=False):
                refused = f"{COMMANDS} commands run already. Try again when one has ended."
            if refused is not None:
                wire.send(sock, wire.Kind.ERR, f"{refused}\n")
                wire.send(sock, wire.Kind.END, "1")
                return
            try:
                caller = _request(sock)
                if caller is not None:
                    caller.end(run(caller))
            finally:
                self._free.release()


def _refused(sock: socket.socket) -> str | None:
    """Return why the process at the other end may send no commands, or None."""
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(found)
    if uid in (0, os.geteuid()):
        return None
    logger.warning("refused a command of process %d with uid %d", pid, uid)
    return f"Only the account of the site (uid {os.geteuid()}) may send it commands."


def _request(sock: socket.socket) -> Caller | None:
    sock.settimeout(REQUEST_SECONDS)
    found = wire.receive(sock)
    sock.settimeout(None)
    if found is None or found[0] is not wire.Kind.REQUEST:
        return None
    try:
        return Caller(sock, found[1])
    except ValueError:
        logger.warning("refused a request that has no command", exc_info=True)
        return None


def run(caller: Caller) -> int:
    """Run the command of a caller in this thread and return its exit code."""
    name = caller.argv[1]
    try:
        with caller.active():
            _execute(caller.argv)
    except SystemExit as error:
        return _exit_code(caller, error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        logger.exception("management command %s failed", name)
        text = (str(error).splitlines() or [""])[0]
        return _failed(
            caller, f"{name} failed: {type(error).__name__}: {text} (see the site's log)"
        )
    return 0


def _execute(argv: Sequence[str]) -> None:
    """Run a command line as `manage.py` does. Raises SystemExit for every foreseen failure."""
    name = argv[1]
    command = ManagementUtility([*argv]).fetch_command(name)  # prints that a name is unknown
    if PLACES.get(name) is not Place.SITE:  # manage.py refuses these too
        sys.exit(refusal(name))
    command._called_from_command_line = True  # type: ignore[attr-defined]  # as run_from_argv does
    options = command.create_parser(argv[0], name).parse_args([*argv[2:]])
    if options.settings or options.pythonpath:
        sys.exit("--settings and --pythonpath do not apply to a site that runs. Leave them out.")
    command.requires_system_checks = []  # the site ran them when it started
    logger.info("management command %s begins", name)
    command.run_from_argv([*argv])


def _exit_code(caller: Caller, error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    return _failed(caller, str(error.code))


def _failed(caller: Caller, text: str) -> int:
    with contextlib.suppress(KeyboardInterrupt):
        caller.stderr.write(f"{text}\n")
    return 1
