"""Migrations within a test."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def to_the_last_migration(app: str) -> None:
    """Apply all migrations of an app again, for the tests that come later."""
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes(app))
