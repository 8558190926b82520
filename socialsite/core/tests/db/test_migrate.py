"""`migrate` on databases from before migrations were squashed."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

SQUASHED = ("feeds", "0001_squashed_0021_videos")


def test_a_database_with_all_squashed_migrations_is_up_to_date() -> None:
    MigrationRecorder(connection).record_unapplied(*SQUASHED)
    call_command("migrate", check_unapplied=True, verbosity=0)


def test_a_database_with_only_some_of_the_squashed_migrations_is_refused() -> None:
    recorder = MigrationRecorder(connection)
    for name in (SQUASHED, ("feeds", "0020_busy_tags"), ("feeds", "0021_videos")):
        recorder.record_unapplied(*name)
    with pytest.raises(
        CommandError, match=r"lacks 0020_busy_tags, 0021_videos\. .*docs/operations\.md"
    ):
        call_command("migrate", verbosity=0)
