"""Keys that the site generates for itself, once, and keeps in its data directory."""

import fcntl
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from socialsite.core.runtime import vapid

FILE = "keys.json"
KEY_BYTES = 48


def stored(data_dir: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the keys of a data directory; generate those whose names are missing.

    A lock on the directory guards this: processes that start together get the same keys. A file
    from an older version keeps its keys. Raises OSError.
    """
    path = data_dir / FILE
    directory = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        made = {name: _new(name) for name in names if name not in found}
        if made:
            found |= made
            draft = path.with_suffix(".new")
            draft.unlink(missing_ok=True)  # left by a killed process
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(found))
            draft.replace(path)
    finally:
        os.close(directory)
    return found


def _new(name: str) -> str:
    return vapid.new() if name == "VAPID_PRIVATE_KEY" else secrets.token_urlsafe(KEY_BYTES)
