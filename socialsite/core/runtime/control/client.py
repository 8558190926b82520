"""The side of `manage.py`: runs a command here, or sends it to the site that runs."""

import contextlib
import getpass
import io
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TextIO

from django.conf import settings

from socialsite.core.runtime import embedded
from socialsite.core.runtime.control import wire
from socialsite.core.runtime.control.commands import READ_ONLY, Place, place, refusal

INTERRUPTED = 130


def run(argv: Sequence[str], execute: Callable[[Sequence[str]], None]) -> None:
    """Run a command line by `execute`, or inside the site that runs with this DATA_DIR.

    Raises SystemExit with the exit code of the site, or with the reason that nothing can run.
    """
    where = place(argv)
    if not settings.EMBEDDED or where is Place.OWN:
        execute(argv)
        return
    name = argv[1]
    if name in READ_ONLY:
        if (sock := _connect()) is None:
            execute(argv)
            return
        raise SystemExit(_Command(sock).run(argv))
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(embedded.exclusive())
        except embedded.AlreadyRunning as error:
            raise SystemExit(_beside(argv, where, error)) from None
        execute(argv)


def _beside(argv: Sequence[str], where: Place, error: embedded.AlreadyRunning) -> str | int:
    """Return the exit code of the command in the site, or the reason why it cannot run."""
    if where is Place.NOWHERE:
        return f"{refusal(argv[1])} A process is {error}"
    sock = _connect()
    if sock is None:
        return (
            f"A process is {error} It takes no commands now: it is another command, or a site that"
            " starts or stops. Try again when it has ended, or when the site is ready."
        )
    return _Command(sock).run(argv)


def _connect() -> socket.socket | None:
    """Return a connection to the site, or None if none listens; raises SystemExit if refused."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with wire.address(Path(settings.DATA_DIR)) as (address, _):
            sock.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        sock.close()
        return None
    except OSError as error:
        path = Path(settings.DATA_DIR) / wire.NAME
        raise SystemExit(
            f"The site cannot be reached at {path}: {error.strerror}. Run the command with the"
            " account of the site, or stop the site first."
        ) from None
    return sock


class _Command:
    """A command that runs in the site: this process is its terminal."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._asking = False
        self._interrupted = False

    def run(self, argv: Sequence[str]) -> int:
        """Send the command, pass on its output and its questions, return its exit code."""
        former = signal.signal(signal.SIGINT, self._interrupt)
        try:
            with self._sock:
                return self._run(argv)
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:  # nobody reads the output any more, as in `... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        finally:
            signal.signal(signal.SIGINT, former)

    def _run(self, argv: Sequence[str]) -> int:
        request = {
            "argv": [*argv],
            "cwd": os.getcwd(),
            "ttys": {name: _isatty(name) for name in ("stdin", "stdout", "stderr")},
        }
        with contextlib.suppress(ConnectionError):
            wire.send(self._sock, wire.Kind.REQUEST, json.dumps(request))
        while (found := self._receive()) is not None:
            kind, text = found
            if kind is wire.Kind.END:
                return int(text)
            if kind is wire.Kind.OUT:
                _print(sys.stdout, text)
            elif kind is wire.Kind.ERR:
                _print(sys.stderr, text)
            elif kind is wire.Kind.HIDDEN:
                self._answer(partial(getpass.getpass, text))
            else:
                self._answer(sys.stdin.readline)
        _print(
            sys.stderr,
            "The site ended before the command did. Start the site, then run the command again.\n",
        )
        return 1

    def _receive(self) -> tuple[wire.Kind, str] | None:
        """Return the next message, or None if the site is gone."""
        try:
            return wire.receive(self._sock)
        except ConnectionError:
            return None

    def _answer(self, read: Callable[[], str]) -> None:
        """Read a line and send it; Ctrl-C ends the reading."""
        self._asking = True
        try:
            if not self._interrupted:
                wire.send(self._sock, wire.Kind.ANSWER, read())
        except EOFError:
            wire.send(self._sock, wire.Kind.ANSWER)
        except KeyboardInterrupt:
            if not self._interrupted:
                raise
        except ConnectionError:  # the next `_receive` finds that the site is gone
            pass
        finally:
            self._asking = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the command at the first Ctrl-C, and only wait no longer at the second."""
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
        if self._asking:
            raise KeyboardInterrupt


def _isatty(name: str) -> bool:
    stream = getattr(sys, name)
    return stream is not None and stream.isatty()


def _print(stream: TextIO, text: str) -> None:
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # the site does not know its encoding
    stream.write(text)
    stream.flush()
