"""A kind of import: how its rows are read, made and undone."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Names of errors of rows. Hidden people are unknown: a file must not reveal who blocks whom.
UNKNOWN, OTHER_SITE, NO_NAME = "USER_NOT_FOUND", "OTHER_SITE", "INVALID_NAME"
# Names of errors of files.
UNREADABLE, TOO_MANY_ROWS, CLOSED = "UNREADABLE", "TOO_MANY_ROWS", "ACCOUNT_CLOSED"
SUSPENDED, NO_POSTS, TOO_MANY_FILES = "SUSPENDED", "NO_POSTS", "TOO_MANY_FILES"


class Refused(Exception):
    """A row cannot be made; the text is the name of the error."""


class Unreadable(Exception):
    """The whole file cannot be imported; the text is the name of the error."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file, by its number from 1: what it is about, or an error.

    It is about a person (`target_id`), or about the `payload` that its kind understands. With
    `is_there`, the person already has what the row would make. A `warning` is the name of what of
    the row does not come.
    """

    number: int
    source: str
    target_id: int | None = None
    error: str = ""
    is_there: bool = False
    payload: Any = None
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """What a row made, or changed, at a time (Unix ms)."""

    target_id: int
    at: int
    warning: str = ""


def nothing_before(path: Path, alive: Callable[[], None]) -> None:
    """Prepare nothing."""


def as_it_is(owner_id: int, path: Path, row: Row) -> AbstractContextManager[Row]:
    """Return a row that needs nothing before its transaction."""
    return nullcontext(row)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of import.

    - `rows` (person, file, number) yields the rows of a file after a number, in steps, with memory
      that does not depend on their number; it raises Unreadable.
    - `make` (person, row) makes a row in the transaction of the caller, or returns None if there
      was nothing to change; it raises Refused.
    - `undo` (person, target, time) ends what began then.
    - `prepare` (file, alive) comes before `rows` and takes as long as it needs; it calls `alive`
      often, which may raise to stop. Files that it writes have the name of the file and a suffix.
    - `staged` (person, file, row) surrounds the transaction of a row, whose work would take too
      long within; it yields the row to make, raises Refused, and cleans up what was not used.
    """

    rows: Callable[[int, Path, int], Iterator[Row]]
    make: Callable[[int, Row], Made | None]
    undo: Callable[[int, int, int], None]
    prepare: Callable[[Path, Callable[[], None]], None] = nothing_before
    staged: Callable[[int, Path, Row], AbstractContextManager[Row]] = as_it_is
