"""The terminal of the operator, for a command that runs inside the site.

- `sys.stdin`, `sys.stdout` and `sys.stderr` are those of the operator for the code of the command,
  and those of the site for everything else. They belong to the context of the thread.
- The site never reads or writes the operator's terminal itself: if it runs in the background of the
  same terminal, the kernel would stop its whole process for that.
- A command is interrupted when it writes, reads or queries the database, by a KeyboardInterrupt. An
  exception at any other place could leave a lock of the site taken.
"""

import getpass
import io
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from django.db import connection

from socialsite.core.runtime.control import wire
from socialsite.core.runtime.control.wire import Kind

STREAMS = ("stdin", "stdout", "stderr")


class Caller:
    """One connection of `manage.py`, and what it said about itself."""

    def __init__(self, sock: socket.socket, request: str) -> None:
        """Read the request. Raises ValueError if it is none."""
        found = json.loads(request)
        self._sock = sock
        self._interrupted = False
        try:
            self.argv = [str(word) for word in found["argv"]]
            self.cwd = Path(found["cwd"])
            ttys = {name: bool(found["ttys"][name]) for name in STREAMS}
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a request: {error!r}") from None
        if len(self.argv) < 2:
            raise ValueError("a request without a command")
        self.stdin = _Input(self, ttys["stdin"])
        self.stdout = _Output(self, Kind.OUT, ttys["stdout"])
        self.stderr = _Output(self, Kind.ERR, ttys["stderr"])

    def send(self, kind: Kind, text: str = "") -> None:
        """Send a message. Raises KeyboardInterrupt if the operator interrupted the command."""
        self.check()
        try:
            wire.send(self._sock, kind, text)
        except OSError:
            raise KeyboardInterrupt from None

    def ask(self, kind: Kind, text: str = "") -> str:
        """Return a line with its end. Raises KeyboardInterrupt if none comes any more."""
        self.send(kind, text)
        try:
            found = wire.receive(self._sock)
        except OSError:
            found = None
        if found is None:
            self._interrupted = True
            raise KeyboardInterrupt
        return found[1]

    def check(self) -> None:
        """Raise KeyboardInterrupt once when the operator interrupted the command, or is gone.

        `manage.py` shuts down its half of the connection to interrupt.
        """
        if self._interrupted:
            return
        try:
            more = self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._interrupted = True
            raise KeyboardInterrupt

    def end(self, code: int) -> None:
        """Send the exit code. Raises OSError if the operator is gone."""
        wire.send(self._sock, Kind.END, str(code))

    @contextmanager
    def active(self) -> Iterator[None]:
        """Use this caller's streams, and check for interrupts, in this thread."""
        token = _current.set(self)
        try:
            with connection.execute_wrapper(self._before_query):
                yield
        finally:
            _current.reset(token)

    def _before_query(self, execute: Callable[..., Any], *args: Any) -> Any:
        self.check()
        return execute(*args)


_current: ContextVar[Caller | None] = ContextVar("control_caller", default=None)


class _Output(io.TextIOBase):
    """Standard output or error of the operator. Nothing is buffered."""

    encoding = "utf-8"

    def __init__(self, caller: Caller, kind: Kind, tty: bool) -> None:
        self._caller, self._kind, self._tty = caller, kind, tty

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._tty

    def write(self, text: str) -> int:
        if text:
            self._caller.send(self._kind, text)
        return len(text)


class _Input(io.TextIOBase):
    """Standard input of the operator, by lines."""

    encoding = "utf-8"

    def __init__(self, caller: Caller, tty: bool) -> None:
        self._caller, self._tty = caller, tty

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._tty

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]  # whole lines only
        return self._caller.ask(Kind.LINE)

    def read(self, size: int | None = -1) -> str:
        return "".join(iter(self.readline, ""))


class _OfThisThread:
    """Stands in for a stream of `sys`: the caller's where there is one, else the site's."""

    def __init__(self, name: str, of_site: Any) -> None:
        self._name, self._of_site = name, of_site

    def __getattr__(self, attribute: str) -> Any:
        caller = _current.get()
        stream = self._of_site if caller is None else getattr(caller, self._name)
        return getattr(stream, attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")


def share_streams() -> None:
    """Replace the streams of `sys`, once, by those that know their caller."""
    for name in STREAMS:
        stream = getattr(sys, name)
        if not isinstance(stream, _OfThisThread):
            setattr(sys, name, _OfThisThread(name, stream))


def hidden_line(prompt: str) -> str:
    """Ask on the operator's terminal without echo and return the line without its end."""
    caller = _current.get()
    if caller is None:
        return getpass.getpass(prompt)
    return caller.ask(Kind.HIDDEN, prompt)


def path(text: str) -> Path:
    """Return the path that an operator typed, relative to the directory of their shell."""
    caller = _current.get()
    return Path(text) if caller is None else caller.cwd / text
