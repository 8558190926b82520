"""Other services and their keys, as SERVICE_KEYS lists them: `key`, or `name:key`."""

import hashlib
import re
from collections.abc import Sequence
from typing import NamedTuple

KEY_MIN = 32
_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")
# Characters that are valid in a header and do not separate entries of the setting.
_KEY = re.compile(r"[!-+\--9;-~]+")


class Service(NamedTuple):
    """A service that may call this site, and its key; the name is empty if the setting has none."""

    name: str
    key: str

    @property
    def owner(self) -> str:
        """The owner under which its budget is counted."""
        return self.name or hashlib.sha256(self.key.encode()).hexdigest()[:16]


def read(texts: Sequence[str]) -> list[Service]:
    """Parse the parts of the setting; ValueError names the invalid part, never its content."""
    found: list[Service] = []
    for number, text in enumerate(texts, 1):
        name, colon, key = text.rpartition(":")
        if colon and not _NAME.fullmatch(name):
            raise ValueError(f"the name of key {number} has invalid characters")
        if not _KEY.fullmatch(key):
            raise ValueError(f"key {number} has invalid characters")
        if len(key) < KEY_MIN:
            raise ValueError(f"key {number} is too short, it needs {KEY_MIN} characters")
        if any(key == other.key or (name and name == other.name) for other in found):
            raise ValueError(f"key {number} has the key or the name of another one")
        found.append(Service(name, key))
    return found
