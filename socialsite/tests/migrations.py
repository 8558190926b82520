"""Migrations within a test."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def apply_all() -> None:
    """Apply all migrations again, for the tests that come later.

    Reversing one app's migration reverses those of other apps that depend on it.
    """
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
