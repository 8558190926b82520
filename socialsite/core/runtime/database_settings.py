"""Django's DATABASES: one file of SQLite, or MySQL with its replicas."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dj_database_url

# A replica that stands still holds a request for so long; then the primary answers. One that works
# gives up a statement a second before.
REPLICA_SECONDS, PATIENT_SECONDS = 5, 600


def embedded(data_dir: Path) -> dict[str, Any]:
    """Return the settings of SQLite in the data directory."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": data_dir / "db.sqlite3",
        "CONN_MAX_AGE": 0,  # ASGI server threads come and go: files would stay open
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


def mysql(url: str, *, answer_seconds: int = 20) -> dict[str, Any]:
    """Return the settings of a server of MySQL or MariaDB."""
    found: dict[str, Any] = dict(dj_database_url.parse(url, engine="socialsite.core.db.mysql"))
    found.update(
        CONN_MAX_AGE=None,
        CONN_HEALTH_CHECKS=True,
        TEST={"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_bin"},
    )
    found.setdefault("OPTIONS", {}).update(
        charset="utf8mb4",
        isolation_level="read committed",
        # A lock that times out raises 1205, which is retried. This must happen before the client
        # gives the connection up and leaves its locks behind.
        init_command="SET sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
        "time_zone='+00:00', innodb_lock_wait_timeout=8",
        connect_timeout=2,
        read_timeout=answer_seconds,
        write_timeout=20,
    )
    return found


def replica_aliases(count: int) -> dict[str, str]:
    """Return the aliases of replicas: that for requests → that for tasks."""
    aliases = [f"replica{number}" for number in range(count)]
    return {alias: f"{alias}_patient" for alias in aliases}


def replicas(urls: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of the replicas by alias, two for each."""
    found: dict[str, dict[str, Any]] = {}
    for url, (alias, patient) in zip(urls, replica_aliases(len(urls)).items(), strict=True):
        for name, seconds in ((alias, REPLICA_SECONDS), (patient, PATIENT_SECONDS)):
            found[name] = mysql(url, answer_seconds=seconds)
            found[name]["OPTIONS"]["init_command"] += f", max_statement_time={seconds - 1}"
    for one in found.values():
        one["TEST"]["MIRROR"] = "default"
    return found
