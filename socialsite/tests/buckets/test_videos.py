"""Videos and imports on several machines: each machine here has a folder of its own."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from accounts.tests.browsers import browser_of
from socialsite.core import own_copies
from socialsite.core.imports import files as imports
from socialsite.core.imports import jobs as import_jobs
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.buckets.address import Address
from socialsite.core.media.videos import captions, jobs, sources, uploads
from socialsite.core.models import Import, Video
from socialsite.core.tests.media.videos import samples
from socialsite.core.tests.media.videos.test_parts import begin, send
from socialsite.tests.buckets.conftest import Names
from socialsite.tests.buckets.test_files import leave

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("bucket")]
On = Callable[[str], None]
VTT = b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"


@pytest.fixture
def on(settings: Any, tmp_path: Path) -> On:
    """Return a function that makes the site run on another machine."""

    def on(machine: str) -> None:
        settings.MEDIA_ROOT = tmp_path / machine

    return on


@pytest.fixture(autouse=True)
def converts(settings: Any) -> None:
    settings.VIDEO_CONVERSION = True


def left(root: Path) -> Iterator[str]:
    return (path.name for path in root.rglob("*") if path.is_file())


def work_off() -> None:
    while jobs.work_off():
        pass


def test_parts_that_arrive_at_two_machines_are_converted_on_a_third(
    author: User, api_for: Callable[..., APIClient], names: Names, on: On, tmp_path: Path
) -> None:
    film, client = samples.video(), api_for(author)
    ident, step = begin(client, len(film)), len(film) // 5 + 1
    for number, place in enumerate(range(0, len(film), step)):
        on(f"http-{number % 2}")
        answer = send(client, ident, place, film[place : place + step])
        assert answer.status_code == 200, answer.content
    assert len(names()) == 5
    on("worker")
    work_off()
    video = Video.objects.select_related("media").get()
    assert video.state == Video.State.READY
    assert names() == sorted(video.media.file_names())
    assert video.media.size == sum(buckets.size(name) for name in names())
    assert list(left(tmp_path)) == []


def test_a_source_that_has_a_hole_is_not_converted(author: User, names: Names) -> None:
    film = samples.video()
    source = sources.new_name()
    sources.write_at(source, 0, film[:1000])
    sources.write_at(source, 2000, film[2000:])
    with pytest.raises(FileNotFoundError), sources.local(source):
        pass
    sources.remove(source)
    assert names() == []


def test_an_upload_that_began_before_the_bucket_ends_in_the_folder(
    author: User, settings: Any, names: Names
) -> None:
    film, at = samples.video(), settings.MEDIA_BUCKET
    source = sources.new_name()
    settings.MEDIA_BUCKET = None
    sources.write_at(source, 0, film[:1000])
    settings.MEDIA_BUCKET = at
    sources.write_at(source, 1000, film[1000:])
    assert names() == []
    assert sources.head(source, 4) == film[:4]
    with sources.local(source) as path:
        assert path.read_bytes() == film


def test_captions_come_from_the_site_itself(author: User, names: Names) -> None:
    uploads.add(author.pk, io.BytesIO(samples.video()), len(samples.video()))
    work_off()
    video = Video.objects.get()
    captions.put(author.pk, video.pk, "en", VTT)
    name = next(name for name in names() if name.endswith(".vtt"))
    answer = browser_of(author).get(f"/media/{name}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/vtt")
    assert b"Hello" in answer.content
    assert Client().get(f"/media/{name}").status_code == 404


def test_sources_that_nobody_needs_are_removed_when_they_are_old(
    author: User, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = uploads.add(author.pk, io.BytesIO(samples.video()), len(samples.video()))
    sources.write(io.BytesIO(b"lost"))
    assert jobs.sweep_sources() == 0
    monkeypatch.setattr(sources, "ORPHAN_SECONDS", -60)
    assert jobs.sweep_sources() == 1
    assert [name.split("/")[1].split(".")[0] for name in names()] == [kept.source]


def test_a_file_to_import_is_read_on_another_machine(
    author: User, names: Names, on: On, tmp_path: Path
) -> None:
    on("http")
    row = import_jobs.request(author.pk, Import.Kind.FOLLOWS, io.BytesIO(b"table"), 5)
    assert names() == [imports.stored_name(row.name)]
    on("worker")
    assert imports.local(row.name).read_bytes() == b"table"
    assert list(left(tmp_path)) == [row.name]
    on("http")
    imports.remove(row.name)
    Import.objects.all().delete()
    assert names() == []
    on("worker")
    assert own_copies.clear() == 1
    assert list(left(tmp_path)) == [], "what it copied went with the import"


def test_a_video_waits_for_the_server_as_long_as_it_takes(
    author: User, bucket: Address, settings: Any, names: Names
) -> None:
    uploads.add(author.pk, io.BytesIO(samples.video()), len(samples.video()))
    back = leave(settings, bucket)
    for _turn in range(jobs.TRIES_MAX + 1):
        Video.objects.update(due_at=0)
        assert not jobs.work_off()
    assert Video.objects.get().state == Video.State.PROCESSING
    back()
    Video.objects.update(due_at=0)
    work_off()
    assert Video.objects.get().state == Video.State.READY
