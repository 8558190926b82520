"""Commands with several keys, as one command for each key: keys of a cluster live apart.

A script with several keys says how it is split (`Split`). Without that its keys must have one hash
tag, as in `fence:{7}` and `access:{7}`, which puts them into one slot.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Command = Sequence[Any]
# A message reaches subscribers of all servers of a cluster.
ANY_SERVER = ("PUBLISH", "PING")


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


class Parts(NamedTuple):
    """The commands of one key each, and how their replies become one."""

    commands: Sequence[Command]
    join: Callable[[Sequence[Any]], Any]


def parts_of(command: Command, split_of: Callable[[str], Split | None]) -> Parts | None:
    """Return a command in parts; None if it can be sent as it is.

    `split_of` returns how the script with a SHA is split.
    """
    name = command[0]
    if name == "MGET":
        return Parts([("GET", key) for key in command[1:]], list)
    if name == "DEL" and len(command) > 2:
        return Parts([("DEL", key) for key in command[1:]], sum)
    if name != "EVALSHA" or command[2] < 2 or (split := split_of(command[1])) is None:
        return None
    sha, count = command[1], command[2]
    keys, args = command[3 : 3 + count], command[3 + count :]
    runs = [("EVALSHA", sha, 1, key, *split.args(args, n)) for n, key in enumerate(keys)]
    return Parts(runs, split.join)


def key_of(command: Command) -> Any:
    """Return the key that decides where a command goes; None if any server will do."""
    if command[0] == "EVALSHA":
        return command[3]
    return None if len(command) < 2 or command[0] in ANY_SERVER else command[1]
