"""The types of messages that sockets send to pages; each app registers its own when it starts.

- `hints.push` refuses a message of an unknown type.
- After a possible loss of messages, a socket sends one of each type with `catch_up`, so that pages
  fetch what they may have missed.
"""

from collections.abc import Mapping
from typing import Any

# The fields of the message that makes up for lost ones; None for types that need none.
_types: dict[str, Mapping[str, Any] | None] = {}


def register(name: str, *, catch_up: Mapping[str, Any] | None = None) -> str:
    """Register a type and return its name. Raises ValueError if another app has it."""
    if name in _types:
        raise ValueError(f"the message type {name} is registered already")
    _types[name] = catch_up
    return name


def names() -> set[str]:
    """Return the names of all types."""
    return set(_types)


def is_known(message: Mapping[str, Any]) -> bool:
    """Return whether the type of a message is registered."""
    name = message.get("type")
    return isinstance(name, str) and name in _types


def catch_up() -> list[dict[str, Any]]:
    """Return the messages that make pages fetch what lost messages may have announced."""
    return [
        {"type": name, **fields} for name, fields in sorted(_types.items()) if fields is not None
    ]


KICKED = register("kicked")
