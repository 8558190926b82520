"""Django's `migrate`, except for databases that have only some of the squashed migrations."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader


class Command(migrate.Command):
    """Refuse such a database: Django would leave out its other migrations and report success."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate; raises CommandError if the files of migrations that are needed are gone."""
        loader = MigrationLoader(connections[options["database"]])
        for (app, name), migration in loader.replacements.items():
            applied = loader.applied_migrations.keys() & migration.replaces
            gone = set(migration.replaces) - loader.applied_migrations.keys()
            gone -= loader.disk_migrations.keys()
            if applied and gone:
                raise CommandError(
                    f"The database has only some of the migrations that {app}.{name} replaces."
                    f" It lacks {', '.join(sorted(one for _, one in gone))}. Migrate it first with"
                    " the commit that docs/operations.md names under Updates."
                )
        super().handle(*args, **options)
