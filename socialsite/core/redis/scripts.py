"""The Lua scripts of the site: a server that is new, or was emptied, gets them all.

A script with several keys says how it becomes one run for each key (`Split`), since keys of a
cluster live apart. Without that its keys must have one hash tag, as `fence:{7}` and `access:{7}`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol


class Split(NamedTuple):
    """How a script with several keys becomes one run for each key."""

    # Returns the arguments of the run with this key, by its number from 0.
    args: Callable[[Sequence[Any], int], Sequence[Any]]
    # Joins the replies of all runs.
    join: Callable[[Sequence[Any]], Any]


def same(args: Sequence[Any], _number: int) -> Sequence[Any]:
    """Every run has all arguments."""
    return args


def one_each(count: int) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """After the first `count` arguments there is one for each key."""
    return lambda args, number: [*args[:count], args[count + number]]


def indexes(replies: Sequence[Any]) -> list[int]:
    """Return the numbers (from 1) of the keys whose run returned [1]."""
    return [number for number, reply in enumerate(replies, 1) if reply]


class Script(Protocol):
    """The text of a script, its SHA, and how it is split for several servers."""

    text: str
    sha: str
    split: Split | None


# By their SHA.
SCRIPTS: dict[str, Script] = {}
