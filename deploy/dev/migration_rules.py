"""Migrations that the code of the version before cannot work with.

During an update old and new processes use one database. So a version first adds what the new code
needs (expand), and a later one removes what no code uses any more (contract). A migration that may
break the old code says in its attribute `contract` why it does not:

    class Migration(migrations.Migration):
        contract = "No code has read this column since 0.2.0."

`python -m deploy.dev.migration_rules` prints each one that says nothing, and ends with 1.
"""

import os
import sys
from collections.abc import Iterator

from django.db.migrations import Migration, operations
from django.db.migrations.operations.base import Operation

# The last migrations of 0.1.0, with which updates without a break begin.
FIRST_VERSION = {
    "accounts": "0014_weekly_digest",
    "core": "0022_import_kinds",
    "feeds": "0023_imported_posts",
    "interactions": "0005_mention_mails",
    "relations": "0005_quiet_follows",
}
HARMLESS = (
    operations.CreateModel,
    operations.AddIndex,
    operations.RemoveIndex,
    operations.AlterModelOptions,
    operations.AlterModelManagers,
)


def faults(migration: Migration) -> Iterator[str]:
    """Yield what the code of the version before may not work with."""
    if getattr(migration, "contract", ""):
        return
    for operation in migration.operations:
        if reason := fault(operation):
            yield f"{migration.app_label}.{migration.name}: {operation.describe()}: {reason}"


def fault(operation: Operation) -> str:
    """Return why old code may fail after an operation; "" if it cannot."""
    if isinstance(operation, HARMLESS):
        return ""
    if isinstance(operation, operations.AddField):
        field = operation.field
        if field.many_to_many or field.null or field.has_db_default():
            return ""
        return "old code inserts rows without this column: give it null=True or db_default"
    if isinstance(operation, operations.SeparateDatabaseAndState):
        return next((text for part in operation.database_operations if (text := fault(part))), "")
    return "old code may use what this changes"


def main() -> int:
    """Print the faults of all migrations since the first version."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "socialsite.settings")
    import django

    django.setup()
    from django.db.migrations.loader import MigrationLoader

    found: list[str] = []
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        if app in FIRST_VERSION and name > FIRST_VERSION[app]:
            found += faults(migration)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
