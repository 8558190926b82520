"""Commands with several keys, as one command for each key: keys of a cluster live apart."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from socialsite.core.redis.scripts import SCRIPTS

Command = Sequence[Any]
# A message reaches subscribers of all servers of a cluster.
ANY_SERVER = ("PUBLISH", "PING")
_only: Callable[[Sequence[Any]], Any] = itemgetter(0)


class Parts(NamedTuple):
    """Commands of one server each, and how their replies become one."""

    commands: Sequence[Command]
    join: Callable[[Sequence[Any]], Any] = _only


def parts_of(command: Command) -> Parts:
    """Return a command in parts, or as the only one if it can be sent as it is."""
    name = command[0]
    if name == "MGET":
        return Parts([("GET", key) for key in command[1:]], list)
    if name == "DEL":
        return Parts([("DEL", key) for key in command[1:]], sum)
    if name != "EVALSHA" or command[2] < 2 or (split := SCRIPTS[command[1]].split) is None:
        return Parts([command])
    sha, count = command[1], command[2]
    keys, args = command[3 : 3 + count], command[3 + count :]
    runs = [("EVALSHA", sha, 1, key, *split.args(args, n)) for n, key in enumerate(keys)]
    return Parts(runs, split.join)


def key_of(command: Command) -> Any:
    """Return the key that decides where a command goes; None if any server will do."""
    if command[0] == "EVALSHA":
        return command[3]
    return None if len(command) < 2 or command[0] in ANY_SERVER else command[1]
