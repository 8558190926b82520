"""Helpers of the account commands: reading a password, printing errors."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from socialsite.core.errors import AppError
from socialsite.core.runtime.control import caller


def new_password(name: str) -> str:
    """Ask twice on a terminal; otherwise read the first line of standard input.

    Never takes an argument, since other users of the machine could see it in the process list.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    first = caller.hidden_line(f"New password of {name}: ")
    if caller.hidden_line("Again: ") != first:
        raise CommandError("The two passwords differ. Nothing was changed.")
    return first


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn the site's errors into a CommandError with the messages of each field."""
    try:
        yield
    except AppError as error:
        lines = [
            f"{field}: {text}" for field, texts in (error.fields or {}).items() for text in texts
        ]
        raise CommandError("\n".join(lines) or str(error.detail)) from None
