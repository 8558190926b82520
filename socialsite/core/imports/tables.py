"""Read the first column of a table in CSV, as Mastodon writes lists of people."""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from socialsite.core.imports.kinds import TOO_MANY_ROWS, UNREADABLE, Unreadable

# As many follows as the staff may allow at most.
ROWS_MAX = 100_000
STEP = 500
# Characters of a line; Python's own limit is per field.
LINE_MAX = 2000
# The first line of a list of follows; a list of blocks has none. No name has a blank.
HEADER = "account address"
Cell = tuple[int, str]


def steps(path: Path, after: int) -> Iterator[list[Cell]]:
    """Yield the cells after a number in lists of at most STEP, with their numbers from 1.

    Raises Unreadable.
    """
    cells = _cells(path)
    while step := list(islice(cells, STEP)):
        if rest := [cell for cell in step if cell[0] > after]:
            yield rest


def _cells(path: Path) -> Iterator[Cell]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from cells_of(file)


def cells_of(file: TextIO) -> Iterator[Cell]:
    """Yield the first cells of the rows that are not empty, numbered. Raises Unreadable."""
    number = 0
    try:
        for cells in csv.reader(_lines(file)):
            cell = cells[0].strip() if cells else ""
            if not cell or (not number and cell.casefold() == HEADER):
                continue
            number += 1
            if number > ROWS_MAX:
                raise Unreadable(TOO_MANY_ROWS)
            yield number, cell
    except (csv.Error, UnicodeDecodeError) as error:
        raise Unreadable(UNREADABLE) from error


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines; one that is too long, or has a NUL, makes the file unreadable."""
    while line := file.readline(LINE_MAX + 1):
        if len(line) > LINE_MAX or "\0" in line:
            raise Unreadable(UNREADABLE)
        yield line
