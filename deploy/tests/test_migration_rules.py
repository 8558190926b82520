"""Migrations that old code may not work with are found, and only those."""

from typing import Any

import pytest
from django.db import migrations, models

from deploy.dev import migration_rules

pytestmark = pytest.mark.once

TEXT = models.CharField(max_length=9)


@pytest.mark.parametrize(
    "operation",
    [
        migrations.CreateModel("Thing", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddIndex("thing", models.Index(fields=["id"], name="ix_thing")),
        migrations.AddField("thing", "note", models.CharField(max_length=9, null=True)),
        migrations.AddField("thing", "note", models.CharField(max_length=9, db_default="")),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Thing")]),
    ],
)
def test_what_old_code_does_not_notice_is_allowed(operation) -> None:
    assert migration_rules.fault(operation) == ""


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AddField("thing", "note", TEXT),
        migrations.AddField("thing", "note", models.CharField(max_length=9, default="")),
        migrations.RemoveField("thing", "note"),
        migrations.RenameField("thing", "note", "remark"),
        migrations.AlterField("thing", "note", TEXT),
        migrations.DeleteModel("Thing"),
        migrations.RunPython(migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState([migrations.RemoveField("thing", "note")]),
    ],
)
def test_what_old_code_may_need_is_a_fault_until_it_has_a_reason(operation) -> None:
    migration: Any = migrations.Migration("0099_tried", "core")
    migration.operations = [operation]
    (found,) = migration_rules.faults(migration)
    assert found.startswith("core.0099_tried: ")
    migration.contract = "No code has used it since 0.2.0."
    assert not list(migration_rules.faults(migration))


def test_every_app_has_the_last_migration_of_the_first_version() -> None:
    from django.db.migrations.loader import MigrationLoader

    known = MigrationLoader(None).disk_migrations
    assert set(migration_rules.FIRST_VERSION.items()) <= set(known)
