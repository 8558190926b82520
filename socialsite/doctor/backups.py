"""The age of the newest backup: `DATA_DIR/backup.json`, which the backup command writes.

Its form is {"finished_at": "2026-01-31T03:00:00Z", "verified_at": the same or null, "target": "…"},
with "copied_until": a time, and "is_same_disk": true or false, if they are known.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

FILE = "backup.json"


class BadStatus(ValueError):
    """The file does not have the form above."""


class Backup(NamedTuple):
    """When the newest backup ended, when one was read back (None: never), and where it is.

    `copied_until`: the log of later writes is copied up to this time (None: not at all).
    """

    finished_at: datetime
    verified_at: datetime | None
    target: str
    copied_until: datetime | None = None
    is_same_disk: bool = False


def newest(data_dir: Path) -> Backup | None:
    """Return the newest backup; None if there was none. Raises BadStatus, OSError."""
    try:
        text = (data_dir / FILE).read_text()
    except FileNotFoundError:
        return None
    try:
        status = json.loads(text)
        return Backup(
            _time(status["finished_at"]),
            _time_or_none(status.get("verified_at")),
            str(status.get("target", "")),
            _time_or_none(status.get("copied_until")),
            bool(status.get("is_same_disk")),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadStatus(f"{FILE}: {error!r}") from None


def _time_or_none(text: str | None) -> datetime | None:
    return None if text is None else _time(text)


def _time(text: str) -> datetime:
    """Return a time; one without a zone is in UTC."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
