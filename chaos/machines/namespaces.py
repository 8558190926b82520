"""Sockets inside the network namespace of a machine, used from outside of it."""

import ctypes
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

CLONE_NEWNET = 0x40000000


def inside(namespace: Path, make: Callable[[], socket.socket]) -> socket.socket:
    """Return the socket that `make` creates inside a network namespace. Raises OSError.

    A socket belongs to the namespace that it was created in. Only a thread of its own enters it.
    """
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def enter() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            with namespace.open() as file:
                if libc.setns(file.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            made.append(make())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]
