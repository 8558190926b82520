"""A kind of import: how its rows are read, made and undone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Names of errors of rows. Hidden people are unknown: a file must not reveal who blocks whom.
UNKNOWN, OTHER_SITE, NO_NAME = "USER_NOT_FOUND", "OTHER_SITE", "INVALID_NAME"
# Names of errors of files.
UNREADABLE, TOO_MANY_ROWS, CLOSED = "UNREADABLE", "TOO_MANY_ROWS", "ACCOUNT_CLOSED"


class Refused(Exception):
    """A row cannot be made; the text is the name of the error."""


class Unreadable(Exception):
    """The whole file cannot be imported; the text is the name of the error."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file, by its number from 1: the id that it is about, or an error.

    With `is_there`, the person already has what the row would make.
    """

    number: int
    source: str
    target_id: int | None = None
    error: str = ""
    is_there: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of import.

    `rows` yields the rows of a file after a number, in steps, with memory that does not depend on
    their number; it raises Unreadable. `make` makes a row of a person (person, target) in the
    transaction of the caller, and returns the time of the change (Unix ms), or None if there was
    nothing to change; it raises Refused. `undo` (person, target, time) ends what began then.
    """

    rows: Callable[[int, Path, int], Iterator[Row]]
    make: Callable[[int, int], int | None]
    undo: Callable[[int, int, int], None]
