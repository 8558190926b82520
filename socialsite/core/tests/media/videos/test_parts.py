"""Videos in parts: what is lost on the way, sent twice, wrong, too much, or given up."""

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from accounts.models import User
from socialsite.core.errors import InvalidInput, StaleVersion
from socialsite.core.http.server import body_limits
from socialsite.core.media import disk_space, stored_files
from socialsite.core.media.videos import jobs, parts, sources
from socialsite.core.media.videos.api import PART
from socialsite.core.models import Media, Video, VideoUpload
from socialsite.core.tests.media.videos import samples
from socialsite.tests.support.answers import assert_error

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]
UPLOADS = "/api/v1/media/uploads"
DAY_MS = parts.DAY_MS


def begin(client: APIClient, size: int) -> str:
    answer = client.post(UPLOADS, {"size": size}, format="json")
    assert answer.status_code == 201
    return str(answer.json()["id"])


def send(client: APIClient, ident: str, offset: int, data: bytes) -> Any:
    headers = {"Upload-Offset": str(offset)}
    return client.patch(f"{UPLOADS}/{ident}", data, content_type=PART, headers=headers)


def sent(client: APIClient, data: bytes, step: int) -> Any:
    """Send a file in parts; return the answer to the last one."""
    ident = begin(client, len(data))
    for place in range(0, len(data), step):
        answer = send(client, ident, place, data[place : place + step])
        assert answer.status_code == 200, answer.content
    return answer.json()


def files() -> list[str]:
    return sorted(path.name for path in sources.folder().iterdir())


# --- the way through ----------------------------------------------------------------------------
def test_the_last_part_makes_the_video(mine: APIClient, me: User) -> None:
    film = samples.video()
    found = sent(mine, film, 10_000)
    assert (found["received"], found["size"]) == (len(film), len(film))
    assert found["part"] == body_limits.VIDEO_PART
    video = Video.objects.get()
    assert found["video"]["id"] == str(video.pk)
    assert (video.media.owner_id, video.source_size) == (me.pk, len(film))
    assert sources.path_of(video.source).read_bytes() == film
    assert mine.get(f"{UPLOADS}/{found['id']}").json() == found
    while jobs.work_off():
        pass
    assert mine.get(f"{UPLOADS}/{found['id']}").json()["video"]["state"] == "ready"
    assert files() == []


def test_the_embedded_mode_keeps_the_file_as_it_is(settings: Any, mine: APIClient) -> None:
    settings.VIDEO_CONVERSION = False
    found = sent(mine, samples.video(), 7_000)
    assert found["video"]["state"] == "ready"
    assert stored_files.path_of(Media.objects.get().name).is_file()
    assert files() == []


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(moves=st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9_000)), max_size=30))
def test_whatever_is_sent_the_file_is_the_one_that_was_meant(
    me: User, moves: list[tuple[int, int]]
) -> None:
    film = samples.video()
    ident, place = int(parts.begin(me.pk, len(film))["id"]), 0
    for shift, length in moves:
        start = max(0, place + shift * 1000)
        part = film[start : start + length]
        if start != place:
            with pytest.raises(StaleVersion):
                parts.add(me.pk, ident, start, part)
        elif place < len(film) and not part:
            with pytest.raises(InvalidInput):
                parts.add(me.pk, ident, start, part)
        else:
            place += len(part)
            assert parts.add(me.pk, ident, start, part)["received"] == place
        assert parts.progress(me.pk, ident)["received"] == place
    last = parts.add(me.pk, ident, place, film[place:])
    assert last["video"] is not None
    source = Video.objects.get(pk=int(last["video"]["id"])).source
    assert sources.path_of(source).read_bytes() == film


# --- broken connections -------------------------------------------------------------------------
def test_one_goes_on_where_the_site_is(mine: APIClient) -> None:
    film = samples.video()
    ident = begin(mine, len(film))
    send(mine, ident, 0, film[:5000])  # the answer was lost
    assert_error(send(mine, ident, 0, film[:5000]), 409, "STALE_VERSION")
    place = mine.get(f"{UPLOADS}/{ident}").json()["received"]
    assert place == 5000
    last = send(mine, ident, place, film[place:]).json()
    assert last["video"] is not None
    # The answer to the last part was lost too.
    assert send(mine, ident, len(film), b"").json() == last
    assert_error(send(mine, ident, place, film[place:]), 409, "STALE_VERSION")
    assert Video.objects.count() == 1


def test_a_video_that_is_asked_for_twice_at_once_is_made_once(me: User) -> None:
    film = samples.video()
    ident = int(parts.begin(me.pk, len(film))["id"])
    made = parts.add(me.pk, ident, 0, film)["video"]
    assert made is not None
    # A second request saw the upload complete, and comes to the lock after the first.
    assert parts._finish(me.pk, ident).video_id == int(made["id"])
    video = Video.objects.get()
    assert sources.path_of(video.source).read_bytes() == film


def test_a_part_that_was_written_and_not_counted_is_written_again(
    mine: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = samples.video()
    ident = begin(mine, len(film))
    send(mine, ident, 0, film[:4000])
    name = VideoUpload.objects.get().source
    sources.write_at(name, 4000, b"x" * 9000)
    assert send(mine, ident, 4000, film[4000:]).json()["video"] is not None
    assert sources.path_of(name).read_bytes() == film


def test_an_upload_whose_file_is_gone_ends(mine: APIClient) -> None:
    film = samples.video()
    ident = begin(mine, len(film))
    send(mine, ident, 0, film[:-1])
    VideoUpload.objects.update(received=len(film))
    sources.remove(VideoUpload.objects.get().source)
    assert send(mine, ident, len(film), b"").status_code == 404
    assert not VideoUpload.objects.exists()


@pytest.mark.parametrize("left", [None, 10])
def test_an_upload_without_its_first_parts_ends(mine: APIClient, left: int | None) -> None:
    """As after a restoration, which has the row but not the file."""
    film = samples.video()
    ident = begin(mine, len(film))
    assert send(mine, ident, 0, film[:1000]).status_code == 200
    (name,) = files()
    path = sources.path_of(name)
    if left is None:
        path.unlink()
    else:
        os.truncate(path, left)
    assert send(mine, ident, 1000, film[1000:]).status_code == 404
    assert files() == []
    assert mine.get(f"{UPLOADS}/{ident}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_the_same_part_sent_twice_at_once_counts_once(me: User, settings: Any) -> None:
    film = samples.video()
    ident = int(parts.begin(me.pk, len(film))["id"])
    parts.add(me.pk, ident, 0, film[:-100])
    answers: list[Any] = []

    def last() -> None:
        try:
            answers.append(parts.add(me.pk, ident, len(film) - 100, film[-100:]))
        except Exception as error:
            answers.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=last) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [one for one in answers if isinstance(one, dict)]
    assert len(made) >= 1
    assert Video.objects.count() == 1
    assert sources.path_of(Video.objects.get().source).read_bytes() == film


# --- what is refused ----------------------------------------------------------------------------
def test_a_file_that_is_no_video_is_refused_with_its_first_part(mine: APIClient) -> None:
    ident = begin(mine, 5000)
    assert_error(send(mine, ident, 0, b"#EXTM3U\n" * 100), 415, "UNSUPPORTED_MEDIA")
    assert mine.get(f"{UPLOADS}/{ident}").status_code == 404
    assert files() == []


def test_small_parts_do_not_hide_what_it_is(mine: APIClient) -> None:
    ident = begin(mine, 30)
    for place in (0, 10):
        assert send(mine, ident, place, b"#EXTM3U\n##").status_code == 200
    assert_error(send(mine, ident, 20, b"#EXTM3U\n##"), 415, "UNSUPPORTED_MEDIA")
    assert (files(), VideoUpload.objects.count()) == ([], 0)


def test_sizes_are_checked_before_and_with_each_part(mine: APIClient, settings: Any) -> None:
    settings.VIDEO_MB = 1
    for size in (0, -1, "x", None, 2**40):
        assert_error(
            mine.post(UPLOADS, {"size": size}, format="json"), 400, "INVALID_INPUT", "size"
        )
    assert_error(mine.post(UPLOADS, {"size": 1024**2 + 1}, format="json"), 413, "PAYLOAD_TOO_LARGE")
    film = samples.video()
    ident = begin(mine, len(film))
    assert_error(send(mine, ident, 0, film + b"x"), 400, "INVALID_INPUT", "part")
    assert_error(send(mine, ident, 0, b""), 400, "INVALID_INPUT", "part")
    for offset in ("", "-1", "1.5", "x", "9" * 30):
        headers = {"Upload-Offset": offset}
        answer = mine.patch(f"{UPLOADS}/{ident}", film, content_type=PART, headers=headers)
        assert_error(answer, 400, "INVALID_INPUT", "Upload-Offset")
    headers = {"Upload-Offset": "0"}
    answer = mine.patch(f"{UPLOADS}/{ident}", {}, format="json", headers=headers)
    assert_error(answer, 415, "UNSUPPORTED_MEDIA")
    too_large = b"x" * (body_limits.VIDEO_PART + 1)
    assert_error(send(mine, ident, 0, too_large), 413, "PAYLOAD_TOO_LARGE")
    assert mine.get(f"{UPLOADS}/{ident}").json()["received"] == 0
    settings.VIDEO_UPLOADS = False
    assert_error(mine.post(UPLOADS, {"size": 5}, format="json"), 403, "FORBIDDEN")


def test_what_is_on_its_way_counts_for_the_quota(
    mine: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "NEW_QUOTA_BYTES", 1000)
    begin(mine, 600)
    assert_error(mine.post(UPLOADS, {"size": 500}, format="json"), 413, "PAYLOAD_TOO_LARGE")
    begin(mine, 400)


def test_one_has_five_unfinished_uploads(mine: APIClient) -> None:
    for _ in range(parts.UPLOADS_MAX):
        ident = begin(mine, 100)
    assert_error(mine.post(UPLOADS, {"size": 100}, format="json"), 409, "QUOTA_EXCEEDED")
    assert mine.delete(f"{UPLOADS}/{ident}").status_code == 204
    begin(mine, 100)


def test_uploads_of_others_are_not_there(mine: APIClient, make_user: Make, api_for: Make) -> None:
    film = samples.video()
    ident = begin(mine, len(film))
    send(mine, ident, 0, film[:4000])
    other = api_for(make_user())
    for answer in (
        other.get(f"{UPLOADS}/{ident}"),
        send(other, ident, 4000, film[4000:]),
        other.delete(f"{UPLOADS}/{ident}"),
    ):
        assert_error(answer, 404, "NOT_FOUND")
    guest = APIClient()
    assert_error(guest.post(UPLOADS, {"size": 5}, format="json"), 401, "NOT_AUTHENTICATED")
    assert_error(guest.get(f"{UPLOADS}/{ident}"), 401, "NOT_AUTHENTICATED")
    assert mine.get(f"{UPLOADS}/{ident}").json()["received"] == 4000


# --- given up -----------------------------------------------------------------------------------
def test_a_cancelled_upload_leaves_nothing_and_a_finished_one_its_video(mine: APIClient) -> None:
    film = samples.video()
    ident = begin(mine, len(film))
    send(mine, ident, 0, film[:4000])
    assert len(files()) == 1
    assert mine.delete(f"{UPLOADS}/{ident}").status_code == 204
    assert (files(), mine.get(f"{UPLOADS}/{ident}").status_code) == ([], 404)
    found = sent(mine, film, len(film))
    assert mine.delete(f"{UPLOADS}/{found['id']}").status_code == 204
    assert Video.objects.count() == 1
    assert len(files()) == 1


def test_what_got_no_part_for_a_day_is_swept(mine: APIClient) -> None:
    film = samples.video()
    old, young = begin(mine, len(film)), begin(mine, len(film))
    for ident in (old, young):
        send(mine, ident, 0, film[:4000])
    made = sent(mine, film, len(film))
    a_day_ago = VideoUpload.objects.get(pk=young).changed_at - DAY_MS - 60_000
    VideoUpload.objects.filter(pk__in=[old, made["id"]]).update(changed_at=a_day_ago)
    assert parts.sweep() == 2
    assert parts.sweep() == 0
    assert list(VideoUpload.objects.values_list("pk", flat=True)) == [int(young)]
    assert len(files()) == 2
    assert Video.objects.count() == 1
