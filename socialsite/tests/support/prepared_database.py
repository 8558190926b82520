"""The database of the tests: a copy of one that `make test` migrated."""

import os
import sqlite3
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import connection

from deploy.services import migrated

MEMORY = "file:memorydb_default?mode=memory&cache=shared"  # as Django names it


def is_prepared() -> bool:
    """Return whether `make test` prepared a database of this kind."""
    return (migrated.SQLITE if settings.EMBEDDED else migrated.MARIADB) in os.environ


def use() -> None:
    """Connect to the prepared database: the one on the server, or a copy in memory."""
    connection.close()
    name = MEMORY if settings.EMBEDDED else migrated.TEST_DATABASE
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name
    connection.ensure_connection()
    if settings.EMBEDDED:
        raw: Any = connection.connection
        with closing(sqlite3.connect(os.environ[migrated.SQLITE])) as template:
            template.backup(raw)
