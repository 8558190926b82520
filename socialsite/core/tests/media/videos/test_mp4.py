"""The embedded mode: MP4 files that browsers play are kept as they are, without what they tell."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from socialsite.core.errors import PayloadTooLarge, UnsupportedMedia
from socialsite.core.media import stored_files
from socialsite.core.media.videos import sources, uploads
from socialsite.core.models import Media, Video
from socialsite.core.tests.media.videos import samples

pytestmark = [pytest.mark.django_db, pytest.mark.once]
Make = Callable[..., Any]
COPY = ("-c", "copy")


@pytest.fixture(autouse=True)
def as_it_is(settings: Any, media_root: Any) -> None:
    settings.VIDEO_CONVERSION = False


def stored(video: Video) -> bytes:
    return stored_files.path_of(video.media.name).read_bytes()


def test_a_playable_file_is_ready_at_once(put: Make) -> None:
    video = put(samples.video(size="320x240", seconds=2))
    assert (video.state, video.media.width, video.media.height) == ("ready", 320, 240)
    assert video.seconds == pytest.approx(2, abs=0.2)
    assert list(sources.folder().iterdir()) == []


def test_the_file_still_plays_and_tells_nothing(put: Make) -> None:
    raw = samples.video()
    made = stored(put(raw))
    assert len(made) == len(raw)
    for word in samples.TOLD:
        assert word in raw
        assert word not in made
    hashes = []
    for number, data in enumerate((raw, made)):
        path = sources.path_of(f"{number}")
        path.write_bytes(data)
        hashes.append(samples.run("ffmpeg", "-v", "error", "-i", str(path), "-f", "md5", "-"))
    assert hashes[0] == hashes[1]


def test_a_turned_video_has_its_upright_sides(put: Make) -> None:
    video = put(samples.rotated())
    assert (video.media.width, video.media.height) == (120, 160)


@pytest.mark.parametrize(
    "make",
    [
        samples.webm,
        lambda: samples.video(suffix="mov"),
        lambda: samples.video("-c:v", "libx265", "-preset", "ultrafast", "-an"),
        lambda: samples.video("-c:v", "mpeg4", "-an"),
        lambda: samples.video(*samples.H264[:-1], "yuv444p", "-an"),
        lambda: samples.video(*samples.H264, "-c:a", "ac3"),
        lambda: samples.video(*samples.H264, "-movflags", "frag_keyframe+empty_moov"),
        lambda: samples.video("-vn", "-c:a", "aac"),
        lambda: samples.video()[:900],
        lambda: b"\0\0\0\x18ftypisom" + b"\0" * 4000,
    ],
    ids=["webm", "mov", "hevc", "mpeg4", "444", "ac3", "pieces", "sound", "cut", "zeros"],
)
def test_a_file_that_browsers_do_not_play_is_refused(put: Make, make: Make) -> None:
    with pytest.raises(UnsupportedMedia):
        put(make())
    assert not Media.objects.exists()
    assert list(sources.folder().iterdir()) == []


def test_the_length_and_the_size_have_limits(put: Make, settings: Any) -> None:
    settings.VIDEO_SECONDS = 1
    with pytest.raises(UnsupportedMedia, match="minutes"):
        put(samples.video(seconds=3))
    settings.VIDEO_MB = 1
    with pytest.raises(PayloadTooLarge):
        uploads.add(1, io.BytesIO(b"x"), 1024**2 + 1)
