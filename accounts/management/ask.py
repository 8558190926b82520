"""What the commands about accounts have in common: asking for a password, telling what is wrong."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from socialsite.core.errors import AppError


def new_password(name: str) -> str:
    """Ask twice on a terminal; otherwise read the first line of the input.

    Never an argument, which other users of the machine could see in the list of processes.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass(f"New password of {name}: ")
    if getpass.getpass("Again: ") != first:
        raise CommandError("The two passwords differ. Nothing was changed.")
    return first


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn the site's errors into those of a command, with what is wrong with each field."""
    try:
        yield
    except AppError as error:
        lines = [
            f"{field}: {text}" for field, texts in (error.fields or {}).items() for text in texts
        ]
        raise CommandError("\n".join(lines) or str(error.detail)) from None
