"""The messages between `manage.py` and the site: a letter, the length of the text, the text."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

NAME = "control.sock"
MAX_BYTES = 1_048_576

_HEAD = struct.Struct("!cI")


class Kind(Enum):
    """Kinds of messages. The texts of REQUEST and END are JSON and a number."""

    REQUEST = b"r"  # from manage.py, the first message
    ANSWER = b"a"  # from manage.py: a line with its end, or nothing at the end of the input
    OUT = b"o"
    ERR = b"e"
    LINE = b"l"  # the site wants a line of the standard input
    HIDDEN = b"h"  # the site wants a line that is typed without echo; the text is the prompt
    END = b"x"  # the exit code


class ProtocolError(ConnectionError):
    """The other side sent something else than a message of this protocol."""


def send(sock: socket.socket, kind: Kind, text: str = "") -> None:
    """Send a message. Raises OSError if the other side is gone."""
    data = text.encode("utf-8", "surrogateescape")
    sock.sendall(_HEAD.pack(kind.value, len(data)) + data)


def receive(sock: socket.socket) -> tuple[Kind, str] | None:
    """Return the next message, None at the end; raises OSError if it is cut or no message."""
    head = _exactly(sock, _HEAD.size)
    if not head:
        return None
    letter, length = _HEAD.unpack(head)
    try:
        kind = Kind(letter)
    except ValueError:
        raise ProtocolError(f"unknown kind of message: {letter!r}") from None
    if length > MAX_BYTES and kind in (Kind.REQUEST, Kind.ANSWER):
        raise ProtocolError(f"a message of {length} bytes")
    return kind, _exactly(sock, length).decode("utf-8", "surrogateescape")


def _exactly(sock: socket.socket, size: int) -> bytes:
    """Return `size` bytes, or nothing if the stream ends before the first."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 65_536))
        if not part and data:
            raise ProtocolError("the connection ended within a message")
        if not part:
            break
        data += part
    return bytes(data)


@contextmanager
def address(directory: Path) -> Iterator[tuple[str, int]]:
    """Yield a short address of the socket, and a descriptor of its directory.

    The path of a socket is limited to 108 bytes, and a path of DATA_DIR may be longer.
    """
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}", descriptor
    finally:
        os.close(descriptor)
