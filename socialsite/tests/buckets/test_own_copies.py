"""A machine forgets what it kept of uploads in the bucket once their rows are gone."""

from pathlib import Path
from typing import Any

import pytest

import socialsite.tasks  # noqa: F401 (registers what each machine does)
from socialsite.core import db, own_copies
from socialsite.core.events import beat
from socialsite.core.exports import jobs as exports
from socialsite.core.imports import files as imports
from socialsite.core.media.videos import sources
from socialsite.core.models import Export, Import, VideoUpload
from socialsite.tests.buckets.conftest import UseBucket

pytestmark = pytest.mark.django_db

KEPT, LOST = "a" * 32, "b" * 32


@pytest.fixture
def paths(use_bucket: UseBucket, make_user: Any) -> dict[str, list[Path]]:
    """Files of this machine that have a row, and files that have none."""
    use_bucket()
    me, now = make_user(), db.now_ms()
    VideoUpload.objects.create(owner_id=me.pk, source=KEPT, size=9, changed_at=now)
    Export.objects.create(owner_id=me.pk, name=KEPT, due_at=now, created_at=now)
    Import.objects.create(
        owner_id=me.pk, name=KEPT, kind=Import.Kind.POSTS, due_at=now, created_at=now
    )
    found: dict[str, list[Path]] = {}
    for name in (KEPT, LOST):
        found[name] = [
            sources.path_of(f"{name}.7.copy"),
            exports.path_of(f"{name}.7"),
            imports.path_of(f"{name}.posts"),
        ]
        for path in found[name]:
            path.write_bytes(b"words of a person")
    return found


def test_files_without_a_row_are_removed_and_others_stay(paths: dict[str, list[Path]]) -> None:
    assert own_copies.clear() == 3
    assert not any(path.exists() for path in paths[LOST])
    assert all(path.exists() for path in paths[KEPT])
    assert own_copies.clear() == 0


def test_without_a_bucket_a_file_may_be_there_before_its_row(
    paths: dict[str, list[Path]], settings: Any
) -> None:
    settings.MEDIA_BUCKET = None
    assert own_copies.clear() == 0
    assert all(path.exists() for path in paths[LOST])


def test_who_reads_the_schedule_looks_at_the_start_and_once_an_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from celery import current_app

    app: Any = current_app
    monkeypatch.setattr(app._get_current_object().conf, "beat_schedule", {})
    monkeypatch.setattr(beat, "close_old_connections", lambda: None)
    calls: list[int] = []
    assert own_copies.clear in beat.OF_EACH_MACHINE
    monkeypatch.setattr(beat, "OF_EACH_MACHINE", [lambda: calls.append(1)])
    one = beat.SharedScheduler(app=app._get_current_object())
    one.tick()
    one.tick()
    assert len(calls) == 1
    one._look_at -= beat.HOUR_SECONDS
    one.tick()
    assert len(calls) == 2
