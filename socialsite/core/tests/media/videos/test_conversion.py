"""What becomes of uploaded videos: sides, sound, poster, metadata; and of refused ones."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from landlock import LandlockError, landlock_abi_version
from PIL import Image

from socialsite.core.events import relay
from socialsite.core.media import disk_space, stored_files
from socialsite.core.media.videos import converting, jobs, sandbox, sources
from socialsite.core.media.videos.probing import Facts
from socialsite.core.models import Media, Video
from socialsite.core.tasks import sweep_media
from socialsite.core.tests.media.videos import samples

pytestmark = pytest.mark.django_db
Make = Callable[..., Any]


def probed(path: Path) -> dict[str, Any]:
    """Return all that ffprobe says of a file."""
    argv = ("ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams")
    return json.loads(samples.run(*argv, str(path)))


def of(video: Video) -> Path:
    return stored_files.path_of(video.media.name)


def left() -> list[str]:
    return [path.name for path in sources.folder().iterdir()]


def test_a_video_is_converted_and_gets_a_poster(converted: Make) -> None:
    video = converted(samples.video(size="320x240", seconds=2))
    assert (video.state, video.progress, video.failure) == ("ready", 100, "")
    assert (video.media.width, video.media.height) == (320, 240)
    assert video.seconds == pytest.approx(2, abs=0.2)
    found = probed(of(video))
    assert [one["codec_name"] for one in found["streams"]] == ["h264", "aac"]
    assert found["streams"][0]["pix_fmt"] == "yuv420p"
    with Image.open(stored_files.path_of(video.media.thumb_name)) as poster:
        assert (poster.format, poster.size) == ("JPEG", (320, 240))
    sizes = [stored_files.path_of(name).stat().st_size for name in video.media.file_names()]
    assert video.media.size == sum(sizes)
    assert left() == []


@pytest.mark.once
@pytest.mark.parametrize(
    "make",
    [
        samples.webm,
        lambda: samples.video(suffix="mov"),
        lambda: samples.video(sound=False),
        lambda: samples.video("-c:v", "libx265", "-preset", "ultrafast", "-c:a", "aac"),
        lambda: samples.video("-c:v", "mpeg4", "-c:a", "libmp3lame", suffix="mkv"),
    ],
    ids=["webm", "mov", "silent", "hevc", "matroska"],
)
def test_what_phones_and_browsers_record_is_accepted(converted: Make, make: Make) -> None:
    video = converted(make())
    assert video.state == "ready", video.failure
    assert probed(of(video))["streams"][0]["codec_name"] == "h264"


@pytest.mark.once
def test_a_webm_without_a_length_is_converted_up_to_the_limit(
    converted: Make, settings: Any
) -> None:
    """As browsers record it."""
    live = samples.video("-c:v", "libvpx", "-an", "-live", "1", suffix="webm", seconds=4)
    assert converted(live).state == "ready"
    settings.VIDEO_SECONDS = 1
    assert converted(live).failure == "too_long"


@pytest.mark.once
@pytest.mark.parametrize(
    ("suffix", "told"), [("mp4", samples.TOLD), ("mov", (b"+48.1173", *samples.TOLD[1:]))]
)
def test_nothing_that_a_file_says_is_kept(
    converted: Make, suffix: str, told: tuple[bytes, ...]
) -> None:
    raw = samples.video(suffix=suffix)
    made = of(converted(raw)).read_bytes()
    for word in told:
        assert word in raw
        assert word not in made
    assert made.index(b"moov") < made.index(b"mdat")  # players begin before the file is complete


@pytest.mark.once
def test_a_video_that_was_taken_upright_stands_upright(converted: Make) -> None:
    video = converted(samples.rotated())
    assert (video.media.width, video.media.height) == (120, 160)
    stream = probed(of(video))["streams"][0]
    assert (stream["width"], stream["height"]) == (120, 160)
    assert "side_data_list" not in stream


@pytest.mark.once
def test_a_large_video_is_reduced_to_720p_and_a_small_one_not_enlarged(converted: Make) -> None:
    video = converted(samples.video(size="1920x1080", rate=5))
    assert (video.media.width, video.media.height) == (1280, 720)
    assert converting.size_of(_facts(1080, 1920)) == (720, 1280)
    assert converting.size_of(_facts(99, 51)) == (100, 52)
    assert converting.size_of(_facts(8000, 2)) == (1280, 2)


def _facts(width: int, height: int) -> Any:
    return Facts(width, height, 1, 0, None)


@pytest.mark.once
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: samples.video("-c:a", "aac", "-vn", suffix="m4a"), "no_picture"),
        (lambda: samples.video(seconds=4), "too_long"),
        (lambda: samples.video(size="4400x2400", rate=1), "too_big"),
        (lambda: samples.video("-c:v", "cinepak", "-an", suffix="mov"), "codec"),
        (lambda: samples.video()[:900], "broken"),
        (lambda: b"\0\0\0\x18ftypisom" + b"\0" * 4000, "broken"),
    ],
    ids=["sound only", "long", "large", "unknown codec", "cut", "zeros"],
)
def test_a_video_that_cannot_be_used_fails_with_its_reason(
    converted: Make, settings: Any, make: Make, reason: str
) -> None:
    settings.VIDEO_SECONDS = 2
    video = converted(make())
    assert (video.state, video.failure, video.tries) == ("failed", reason, 1)
    assert left() == []
    assert not of(video).exists()


# --- workers --------------------------------------------------------------------------------------
def test_the_work_of_a_dead_worker_is_done_again_after_its_lease(put: Make, later: Make) -> None:
    video = put(samples.video())
    dead = jobs._claim()
    assert dead is not None
    assert jobs.work_off() is False  # the lease has not ended
    later(jobs.LEASE_MS + 1)
    assert jobs.work_off() is True
    found = Video.objects.get(pk=video.pk)
    assert (found.state, found.tries, found.lease) == ("ready", 2, 2)


def test_a_video_that_kills_its_worker_is_given_up(put: Make, later: Make) -> None:
    video = put(samples.video())
    for _ in range(jobs.TRIES_MAX):
        assert jobs._claim() is not None
        later(jobs.LEASE_MS + 1)
    assert jobs.work_off() is True
    found = Video.objects.get(pk=video.pk)
    assert (found.state, found.failure) == ("failed", "crashed")
    assert jobs.work_off() is False
    assert left() == []


def test_a_worker_that_lost_its_lease_changes_nothing(
    put: Make, later: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = put(samples.video())
    real = converting.convert
    taken: list[Any] = []

    def slow(*args: Any) -> Any:
        made = real(*args)
        if not taken:
            later(jobs.LEASE_MS + 1)
            taken.append(jobs._claim())
        return made

    monkeypatch.setattr(converting, "convert", slow)
    assert jobs.work_off() is True
    found = Video.objects.get(pk=video.pk)
    assert (found.state, found.lease) == ("processing", 2)
    assert left() == [found.source]
    later(2 * jobs.LEASE_MS)
    assert jobs.work_off() is True
    assert Video.objects.get(pk=video.pk).state == "ready"


def test_a_video_that_was_deleted_meanwhile_leaves_no_file(
    put: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from socialsite.core.media import references

    video = put(samples.video())
    real = converting.convert

    def deleted(*args: Any) -> Any:
        made = real(*args)
        references.drop_unused(Media.objects.filter(pk=video.pk).select_for_update())
        return made

    monkeypatch.setattr(converting, "convert", deleted)
    assert jobs.work_off() is True
    assert not Video.objects.exists()
    assert not Media.objects.exists()
    assert left() == []
    assert not list(stored_files.path_of("").glob("[0-9a-f][0-9a-f]/*.mp4"))


def test_a_full_disk_is_no_attempt(put: Make, later: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    video = put(samples.video())
    monkeypatch.setattr(disk_space, "is_disk_full", lambda adding=0: True)
    assert jobs.work_off() is False
    found = Video.objects.get(pk=video.pk)
    assert (found.state, found.tries) == ("processing", 0)
    monkeypatch.undo()
    later(jobs.WAIT_MS + 1)
    assert jobs.work_off() is True


def test_a_worker_without_ffmpeg_leaves_videos_to_others(
    put: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(samples.video())
    monkeypatch.setattr(sandbox, "PROGRAMS", ("ffmpeg-that-is-not-there",))
    assert jobs.work_off() is False
    assert Video.objects.get().tries == 0


def test_old_files_without_a_video_are_swept(put: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    video = put(samples.video())
    orphan = sources.folder() / ("ab" * 16)
    orphan.write_bytes(b"x")
    monkeypatch.setattr(sources, "ORPHAN_SECONDS", -1)
    sweep_media()
    assert left() == [video.source]


def test_a_video_that_no_post_has_yet_stays_when_it_is_ready(converted: Make) -> None:
    video = converted(samples.video())
    while relay.relay():
        pass
    assert Video.objects.filter(pk=video.pk).exists()
    assert of(video).is_file()
    assert not stored_files.is_public(video.media.name)


# --- the sandbox --------------------------------------------------------------------------------
LIMITS = sandbox.Limits(seconds=20, cpu_seconds=5, memory_bytes=300 * 1024**2, file_bytes=10_000)


def has_landlock() -> bool:
    try:
        return bool(landlock_abi_version())
    except (OSError, LandlockError):
        return False


def limited(tmp_path: Path, code: str, **changes: Any) -> sandbox.Result:
    from dataclasses import replace

    source = tmp_path / "source"
    source.write_bytes(b"a film")
    argv = ("/usr/bin/python3", "-c", code)
    return sandbox.run(argv, replace(LIMITS, **changes), source, tmp_path / "big")


@pytest.mark.once
def test_a_program_has_little_memory_processor_time_and_disk(tmp_path: Path) -> None:
    assert "MemoryError" in limited(tmp_path, "bytearray(400 * 1024**2)").error
    assert limited(tmp_path, "while True: pass", cpu_seconds=1).code in (-9, -24)
    assert limited(tmp_path, f"open('{tmp_path}/big', 'wb').write(bytes(20_000))").code != 0
    assert (tmp_path / "big").stat().st_size <= 10_000
    with pytest.raises(sandbox.TooSlow):
        limited(tmp_path, "import time; time.sleep(60)", seconds=1)


@pytest.mark.once
@pytest.mark.skipif(not has_landlock(), reason="the kernel has no Landlock")
def test_a_program_sees_its_two_files_only(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"the film of somebody else")
    own, made = tmp_path / "source", tmp_path / "big"
    assert limited(tmp_path, f"print(open('{own}').read())").output == b"a film\n"
    assert limited(tmp_path, f"open('{made}', 'w').write('x'); open('{made}').read()").code == 0
    for path in (other, settings.BASE_DIR / "manage.py", "/etc/passwd", "/proc/self/environ"):
        assert "PermissionError" in limited(tmp_path, f"open('{path}').read()").error, path
    for code in (
        f"open('{own}', 'a')",
        f"open('{tmp_path}/new', 'w')",
        f"os.unlink('{other}')",
        f"os.rename('{made}', '{tmp_path}/moved')",
        f"os.listdir('{tmp_path}')",
        "open('/tmp/new', 'w')",
    ):
        assert "PermissionError" in limited(tmp_path, f"import os; {code}").error, code
    assert other.read_bytes() == b"the film of somebody else"


@pytest.mark.once
def test_a_program_learns_nothing_and_cannot_talk_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "not-for-ffmpeg")
    shown = limited(tmp_path, "import os; print(sorted(os.environ))").output
    assert b"SECRET_KEY" not in shown
    endless = limited(tmp_path, "import os\nwhile True: os.write(1, b'x' * 9999)")
    assert endless.code == -9
    assert len(endless.output) < 2 * sandbox.OUTPUT_MAX
