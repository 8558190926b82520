"""Fixtures of the tests of videos."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from socialsite.core import db
from socialsite.core.media.videos import jobs, uploads
from socialsite.core.models import Video

Put = Callable[..., Video]


@pytest.fixture(autouse=True)
def media_root(settings: Any, tmp_path: Path) -> Path:
    """A media directory of its own, on a site that converts videos."""
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.VIDEO_CONVERSION = True
    settings.MEDIA_MIN_FREE_PERCENT = 0
    return settings.MEDIA_ROOT


@pytest.fixture
def me(make_user: Callable[..., User]) -> User:
    """A person who has videos."""
    return make_user()


@pytest.fixture
def mine(me: User, api_for: Callable[..., APIClient]) -> APIClient:
    """Their client of the API."""
    return api_for(me)


@pytest.fixture
def put() -> Put:
    """Store a video of a person."""

    def put(data: bytes, owner_id: int = 1) -> Video:
        return uploads.add(owner_id, io.BytesIO(data), len(data))

    return put


@pytest.fixture
def converted(put: Put) -> Put:
    """Store a video of a person, and prepare it."""

    def converted(data: bytes, owner_id: int = 1) -> Video:
        video = put(data, owner_id)
        while jobs.work_off():
            pass
        return Video.objects.select_related("media").get(pk=video.pk)

    return converted


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the database's clock by some milliseconds."""

    def later(by: int) -> None:
        real = db.now_ms
        monkeypatch.setattr(db, "now_ms", lambda: real() + by)

    return later
