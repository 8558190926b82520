"""The age of the newest backup: `DATA_DIR/backup.json`, which the backup command writes.

Its form is {"finished_at": "2026-01-31T03:00:00Z", "verified_at": the same or null, "target": "…"}.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

FILE = "backup.json"


class BadStatus(ValueError):
    """The file does not have the form above."""


class Backup(NamedTuple):
    """When the newest backup ended, when it was read back (None: never), and where it is."""

    finished_at: datetime
    verified_at: datetime | None
    target: str


def newest(data_dir: Path) -> Backup | None:
    """Return the newest backup; None if there was none. Raises BadStatus, OSError."""
    try:
        text = (data_dir / FILE).read_text()
    except FileNotFoundError:
        return None
    try:
        status = json.loads(text)
        verified = status.get("verified_at")
        return Backup(
            _time(status["finished_at"]),
            None if verified is None else _time(verified),
            str(status.get("target", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadStatus(f"{FILE}: {error!r}") from None


def _time(text: str) -> datetime:
    """Return a time; one without a zone is in UTC."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
