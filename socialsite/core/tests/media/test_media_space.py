"""Disk space for pictures: quotas of new and old accounts, and a nearly full disk."""

import errno
import io
import os
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from PIL import Image

from accounts import actions as accounts_actions
from feeds.models import Post
from socialsite.core import errors, ids
from socialsite.core.media import disk_space, encoding, pictures
from socialsite.core.models import Media
from socialsite.tests.browser.scraper import scrape

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Make = Callable[..., Any]
WORDS = "no space for more files"


@pytest.fixture(autouse=True)
def media_root(settings: Any, tmp_path: Path) -> Path:
    """A separate media directory for this test, and a limit that its disk does not reach."""
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.MEDIA_MIN_FREE_PERCENT = 0
    return settings.MEDIA_ROOT


@pytest.fixture
def disk(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets how full the disk is."""
    settings.MEDIA_MIN_FREE_PERCENT = 5

    def be(free: int, total: int = 1000, files: tuple[int, int] = (0, 0)) -> None:
        found = os.statvfs_result((4096, 4096, total, free, free, files[1], *files[:1] * 2, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda path: found)

    return be


def data() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 30)).save(out, "PNG")
    return out.getvalue()


def store(owner_id: int) -> Media:
    return pictures.store_all(owner_id, [(io.BytesIO(data()), "")])[0]


def upload(client: Any) -> Any:
    file = SimpleUploadedFile("x.png", data(), "image/png")
    return client.post("/api/v1/media", {"file": file}, format="multipart")


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def aged(days: float) -> int:
    """Return the id of a person who joined this many days ago."""
    return ids.new_id() - (int(days * disk_space.DAY_MS) << ids.LOW_BITS)


# --- quotas -------------------------------------------------------------------------------------
def test_a_new_account_has_less_room_until_it_is_a_week_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", 1)
    new, old = aged(6.99), aged(7.01)
    for owner in (new, old):
        store(owner)
    with pytest.raises(errors.PayloadTooLarge, match="a week old"):
        store(new)
    store(old)
    monkeypatch.setattr(disk_space, "QUOTA_BYTES", 1)
    with pytest.raises(errors.PayloadTooLarge, match="all your space"):
        store(old)
    assert Media.objects.count() == 3


def test_pictures_of_no_post_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = aged(7.01)
    used, old, new = (store(owner) for _ in range(3))
    Media.objects.filter(pk=used.pk).update(is_used=True)
    before = timezone.now() - timedelta(days=1.1)
    Media.objects.filter(pk__in=[used.pk, old.pk]).update(created_at=before)
    monkeypatch.setattr(disk_space, "QUOTA_BYTES", used.size + old.size + new.size)
    store(owner)
    assert not Media.objects.filter(pk=old.pk).exists()
    assert Media.objects.filter(pk__in=[used.pk, new.pk]).count() == 2
    with pytest.raises(errors.PayloadTooLarge, match="all your space"):
        store(owner)


def test_a_just_registered_account_counts_as_new(
    make_user: Make, api_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", 0)
    answer = upload(api_for(make_user()))
    assert (answer.status_code, answer.json()["code"]) == (413, 20)


# --- the disk -----------------------------------------------------------------------------------
def test_uploads_are_refused_while_the_disk_is_nearly_full(
    make_user: Make, api_for: Make, disk: Any, media_root: Path
) -> None:
    client = api_for(make_user())
    disk(free=49)
    answer = upload(client)
    assert (answer.status_code, answer.json()["code"]) == (503, 21)
    assert WORDS in answer.json()["detail"]
    assert int(answer.headers["Retry-After"]) == disk_space.RETRY_SECONDS
    assert not files(media_root)
    assert not Media.objects.exists()
    disk(free=50)
    assert upload(client).status_code == 201


def test_the_share_is_that_of_space_or_of_files_whichever_is_less(settings: Any, disk: Any) -> None:
    disk(free=500, files=(10, 1000))
    assert disk_space.free_share() == 0.01
    assert disk_space.is_disk_full()
    disk(free=500, files=(0, 0))
    assert disk_space.free_share() == 0.5
    disk(free=0, total=0)
    assert not disk_space.is_disk_full()
    disk(free=0)
    assert disk_space.is_disk_full()
    settings.MEDIA_MIN_FREE_PERCENT = 0
    assert not disk_space.is_disk_full()


def test_the_share_of_a_real_disk_is_a_share(media_root: Path) -> None:
    assert not media_root.exists()
    assert 0 <= disk_space.free_share() <= 1


def test_a_post_without_pictures_is_published_all_the_same_and_no_word_is_lost(
    make_user: Make, disk: Any
) -> None:
    browser = Client()
    pair = accounts_actions.sign_in(make_user(), client="other")
    browser.cookies["access"], browser.cookies["refresh"] = pair
    disk(free=1)
    file = SimpleUploadedFile("x.png", data(), "image/png")
    answer = browser.post("/posts", {"content": "my long words", "images": file})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert WORDS in answer.content.decode()
    assert "my long words" in answer.content.decode()
    assert not Post.objects.exists()
    assert browser.post("/posts", {"content": "my long words"}).status_code == 303


def full_after(monkeypatch: pytest.MonkeyPatch, written: int, number: int = errno.ENOSPC) -> None:
    """Let the disk be full after this many written files."""
    write, left = os.fsync, [written]

    def fail(descriptor: int) -> None:
        if not left[0]:
            raise OSError(number, "full")
        left[0] -= 1
        write(descriptor)

    monkeypatch.setattr(os, "fsync", fail)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("written", [0, 1])
def test_a_disk_that_is_full_in_the_middle_leaves_nothing_half_written(
    make_user: Make,
    api_for: Make,
    media_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    written: int,
) -> None:
    client = api_for(make_user())
    full_after(monkeypatch, written, number)
    answer = upload(client)
    assert (answer.status_code, answer.json()["code"]) == (503, 21)
    assert WORDS in answer.json()["detail"]
    assert not files(media_root)
    assert not Media.objects.exists()


@pytest.mark.parametrize("written", [2, 3])
def test_no_picture_stays_when_the_disk_is_full_at_the_second(
    media_root: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    full_after(monkeypatch, written)
    with pytest.raises(errors.Unavailable):
        pictures.store_all(1, [(io.BytesIO(data()), "one"), (io.BytesIO(data()), "two")])
    assert not files(media_root)
    assert not Media.objects.exists()


def test_other_errors_of_the_disk_are_not_taken_for_a_full_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="broken"):
        store(1)


def test_an_upload_that_fills_the_disk_is_refused(
    make_user: Make, api_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    client = api_for(make_user())
    monkeypatch.setattr(encoding, "encode", fail)
    answer = upload(client)
    assert (answer.status_code, answer.json()["code"]) == (503, 21)


def test_metrics_raise_the_alarm(disk: Any) -> None:
    for free, alarm in ((400, "0.0"), (20, "1.0")):
        disk(free=free)
        lines = scrape().splitlines()
        assert f"socialsite_uploads_refused_disk_full {alarm}" in lines
        assert f"socialsite_media_disk_free_ratio {free / 1000}" in lines


def test_the_schema_names_the_answers_of_an_upload() -> None:
    schema = Client().get("/api/schema/", headers={"accept": "application/json"}).json()
    answers = schema["paths"]["/api/v1/media"]["post"]["responses"]
    for status in ("4XX", "503"):
        content = answers[status]["content"]["application/json"]["schema"]
        assert content == {"$ref": "#/components/schemas/Error"}


def test_the_composer_shows_the_words_of_a_new_account_at_the_pictures(
    make_user: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", 0)
    browser = Client()
    pair = accounts_actions.sign_in(make_user(), client="other")
    browser.cookies["access"], browser.cookies["refresh"] = pair
    file = SimpleUploadedFile("x.png", data(), "image/png")
    answer = browser.post("/posts", {"content": "my long words", "images": file})
    assert answer.status_code == 413
    at_pictures = re.search(r'id="err-images"[^>]*>(.*?)</', answer.content.decode(), re.DOTALL)
    assert at_pictures
    assert "a new account" in at_pictures[1]
    assert "my long words" in answer.content.decode()
