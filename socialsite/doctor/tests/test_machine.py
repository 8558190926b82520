"""Clocks, disks, backups, versions, and background work."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from socialsite.core import db
from socialsite.core.models import Event, Media, ScheduledRun, Video
from socialsite.doctor import backups
from socialsite.doctor.checks import machine, work
from socialsite.doctor.findings import ERROR, OK, UNKNOWN, WARNING, Finding, worst

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def texts(findings: Iterable[Finding], level: str) -> str:
    return "\n".join(one.text for one in findings if one.level == level)


# --- clock --------------------------------------------------------------------------------------
@pytest.mark.full
def test_a_database_whose_clock_is_late_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "is_synchronised", lambda: True)
    monkeypatch.setattr(machine, "CLOCK_SECONDS", 250.0)  # a busy machine may pause
    assert worst(machine.clock()) == OK
    with connection.cursor() as cursor:
        cursor.execute("SET timestamp = UNIX_TIMESTAMP() - 3600")
        try:
            found = texts(machine.clock(), WARNING)
        finally:
            cursor.execute("SET timestamp = DEFAULT")
    assert re.search(r"of the database differ by 3[56]\d\d s", found)


def test_a_clock_that_nothing_sets_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.is_synchronised() in (True, False, None)
    monkeypatch.setattr(machine, "CLOCK_SECONDS", 250.0)
    monkeypatch.setattr(machine, "is_synchronised", lambda: False)
    assert "Nothing sets the clock" in texts(machine.clock(), WARNING)


# --- disk ---------------------------------------------------------------------------------------
def test_a_disk_that_refuses_uploads_is_an_error(settings: Any) -> None:
    settings.MEDIA_MIN_FREE_PERCENT = 100.1
    assert "Uploads are refused" in texts(machine.disk(), ERROR)
    settings.MEDIA_MIN_FREE_PERCENT = 0
    assert "Uploads are refused" not in texts(machine.disk(), ERROR)


def test_a_disk_with_little_space_is_named(monkeypatch: Any, settings: Any) -> None:
    settings.MEDIA_MIN_FREE_PERCENT = 0
    monkeypatch.setattr(machine, "LEAST_PERCENT", 0)
    monkeypatch.setattr(machine, "FEW_PERCENT", 100.1)
    assert f"disk of {settings.DATA_DIR} is free" in texts(machine.disk(), WARNING)
    monkeypatch.setattr(machine, "LEAST_PERCENT", 100.1)
    assert f"disk of {settings.DATA_DIR} is free" in texts(machine.disk(), ERROR)


@pytest.mark.full
def test_the_directory_of_a_database_on_this_machine_is_known() -> None:
    (folder,) = machine._database_folder()
    assert folder.name == "data"


# --- backup -------------------------------------------------------------------------------------
def backed_up(folder: Path, age: timedelta, *, verified: bool = True, **more: Any) -> None:
    """Write the status of a backup as the backup command does."""
    finished = (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {
        "finished_at": finished,
        "verified_at": finished if verified else None,
        "target": "/mnt/backup",
        **more,
    }
    (folder / backups.FILE).write_text(json.dumps(status))


@pytest.mark.parametrize(
    ("age", "level"),
    [
        (timedelta(hours=1), OK),
        (timedelta(hours=25), OK),
        (timedelta(hours=27), WARNING),
        (timedelta(days=8), ERROR),
        (timedelta(days=-1), WARNING),
    ],
)
def test_an_old_backup_is_found(settings: Any, tmp_path: Path, age: timedelta, level: str) -> None:
    settings.DATA_DIR = tmp_path
    backed_up(tmp_path, age)
    assert worst(machine.backup()) == level


def test_no_backup_and_an_unread_one_are_warnings(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    assert "No backup was ever made" in texts(machine.backup(), WARNING)
    backed_up(tmp_path, timedelta(hours=1), verified=False)
    assert "of the last 8 days was read back" in texts(machine.backup(), WARNING)


def test_a_log_that_is_not_copied_and_backups_on_the_same_disk_are_warnings(
    settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    now = datetime.now(UTC)
    backed_up(tmp_path, timedelta(hours=3), copied_until=now.isoformat(), is_same_disk=False)
    assert worst(machine.backup()) == OK
    long_ago = (now - timedelta(hours=2)).isoformat()
    backed_up(tmp_path, timedelta(hours=3), copied_until=long_ago, is_same_disk=True)
    assert "are in no backup" in texts(machine.backup(), WARNING)
    assert "lost with it (/mnt/backup)" in texts(machine.backup(), WARNING)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"finished_at": 5}', '{"finished_at": "x"}'])
def test_a_broken_status_of_the_backup_is_an_error(
    settings: Any, tmp_path: Path, text: str
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / backups.FILE).write_text(text)
    assert worst(machine.backup()) == ERROR


# --- versions -----------------------------------------------------------------------------------
def test_the_versions_of_this_run_are_not_too_old() -> None:
    found = list(machine.versions())
    assert texts(found, ERROR) == ""
    assert "Django" in texts(found, OK)


def test_servers_that_are_too_old_are_errors() -> None:
    assert machine._server("MariaDB", "10.6.22", machine.MARIADB_MIN).level == ERROR
    assert machine._server("MariaDB", "10.11.2", machine.MARIADB_MIN).level == OK
    assert machine._server("Redis", "6.2.1", machine.REDIS_MIN).level == ERROR


def test_packages_that_differ_from_the_lock_are_named() -> None:
    assert machine.differing("django==1.0 \\\n    --hash=sha256:00\n")[0].endswith("(1.0)")
    assert machine.differing("no-such-package==1.0 \\\n") == ["no-such-package – (1.0)"]
    assert machine.differing("no-such-package==1.0 ; sys_platform == 'win32' \\\n") == []


def test_a_missing_lock_file_is_unknown(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    assert "no list of locked packages" in texts(machine.versions(), UNKNOWN)


# --- background work ----------------------------------------------------------------------------
@pytest.fixture
def worked(settings: Any) -> None:
    """Let a worker have run the schedule just now."""
    ScheduledRun.objects.update_or_create(name="relay-events", defaults={"last_run": db.now_ms()})


@pytest.mark.full
def test_a_schedule_that_nobody_runs_is_an_error(worked: None) -> None:
    assert worst(work.worker()) == OK
    ScheduledRun.objects.update(last_run=db.now_ms() - 3_600_000)
    assert re.search(r"No worker has run for 3[67]\d\d s", texts(work.worker(), ERROR))
    ScheduledRun.objects.all().delete()
    assert "No worker has ever run" in texts(work.worker(), ERROR)


@pytest.mark.parametrize(("minutes", "level"), [(0, OK), (5, WARNING), (30, ERROR)])
def test_events_that_wait_are_found(worked: None, minutes: int, level: str) -> None:
    created = datetime.now(UTC) - timedelta(minutes=minutes)
    Event.objects.create(
        aggregate_type="user", aggregate_id=1, type="X", payload={}, created_at=created
    )
    assert worst(work.worker()) == level


def test_videos_that_nobody_converts_are_a_warning(worked: None) -> None:
    media = Media.objects.create(owner_id=1, name="v.mp4", width=1, height=1, size=1, is_video=True)
    video = Video.objects.create(media=media, uploaded_at=db.now_ms())
    assert worst(work.worker()) == OK
    video.uploaded_at -= 3_600_000
    video.save()
    assert "oldest video waits for 60 minutes" in texts(work.worker(), WARNING)


def test_dead_events_are_a_warning(worked: None) -> None:
    Event.objects.create(aggregate_type="user", aggregate_id=1, type="X", payload={}, dead=True)
    assert "1 event failed too often" in texts(work.worker(), WARNING)
