"""Convert a video to H.264 and AAC in at most 720p, and make its poster, by ffmpeg in a sandbox.

Only the picture and one sound of a file are taken, upright; nothing else that it says, such as the
place where it was recorded, is written again. The file begins with its index, so players start
before it is complete.
"""

import io
import logging
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from socialsite.core.errors import AppError
from socialsite.core.media import encoding
from socialsite.core.media.videos import failures, probing, sandbox
from socialsite.core.media.videos.failures import Refused
from socialsite.core.media.videos.probing import Facts

logger = logging.getLogger(__name__)

LONG_SIDE, SHORT_SIDE = 1280, 720
FRAMES_A_SECOND = 60
PICTURE_KBIT, SOUND_KBIT = 3000, 128
# Beside what the two rates give: the index, and the rate control's freedom.
SIZE_EXTRA = 4 * 1024**2
MEMORY_BYTES = 2 * 1024**3
# CPU time for a second of video; 4K in HEVC takes up to three seconds on an old processor.
SLOWNESS = 6
LEAST_SECONDS = 60
POSTER_LIMITS = sandbox.Limits(
    seconds=60, cpu_seconds=60, memory_bytes=MEMORY_BYTES, file_bytes=10 * 1024**2
)
# The poster is the most typical of some pictures from there on; first pictures are often black.
POSTER_AT, POSTER_AT_MOST, POSTER_OF = 0.1, 10.0, 30

Report = Callable[[int], None]


def bytes_at_most(seconds: float) -> int:
    """Return the size that a converted video of this length can have."""
    return int(seconds * (PICTURE_KBIT * 1.2 + SOUND_KBIT) * 125) + SIZE_EXTRA


def size_of(facts: Facts) -> tuple[int, int]:
    """Return the sides of the converted video: never enlarged, and even."""
    long, short = max(facts.width, facts.height), min(facts.width, facts.height)
    scale = min(1.0, LONG_SIDE / long, SHORT_SIDE / short)
    width, height = (max(2, round(side * scale / 2) * 2) for side in (facts.width, facts.height))
    return width, height


def convert(source: Path, facts: Facts, target: Path, report: Report) -> Facts:
    """Write the converted video and return its facts; `report` gets the progress in percent.

    `report` is called about every second, and its errors end the conversion. Raises Refused.
    """
    length = facts.seconds or settings.VIDEO_SECONDS
    limits = sandbox.Limits(
        seconds=LEAST_SECONDS + length * SLOWNESS,
        cpu_seconds=int(LEAST_SECONDS + length * SLOWNESS),
        memory_bytes=MEMORY_BYTES,
        file_bytes=bytes_at_most(settings.VIDEO_SECONDS),
    )

    def tick(newest: bytes) -> None:
        report(min(99, int(100 * _seconds_done(newest) / max(length, 0.1))))

    try:
        result = sandbox.run(_argv(source, facts, target), limits, source, target, tick)
    except sandbox.TooSlow:
        raise Refused(failures.TOO_SLOW) from None
    if result.code or not target.is_file():
        logger.info("video refused by ffmpeg, code %s: %s", result.code, result.error)
        raise Refused(failures.BROKEN)
    made = probing.probe(target)
    if not made.seconds:
        raise Refused(failures.BROKEN)
    return made


def _argv(source: Path, facts: Facts, target: Path) -> list[str]:
    width, height = size_of(facts)
    sound = [] if facts.sound is None else ["-map", f"0:{facts.sound}"]
    return [
        *("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "fatal", "-nostats"),
        *("-progress", "pipe:1", "-stats_period", "1", "-filter_threads", "1"),
        *probing.input_options(source, probing.container_at(source)),
        *("-map", f"0:{facts.picture}", *sound, "-sn", "-dn"),
        *("-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact"),
        # One more than allowed: the probe of the result sees that it is too long.
        *("-t", str(settings.VIDEO_SECONDS + 2)),
        *("-vf", f"scale={width}:{height}:flags=bicubic,setsar=1,format=yuv420p"),
        *("-fpsmax", str(FRAMES_A_SECOND)),
        *("-c:v", "libx264", "-preset", "veryfast", "-crf", "23", "-profile:v", "high"),
        *("-maxrate", f"{PICTURE_KBIT}k", "-bufsize", f"{2 * PICTURE_KBIT}k", "-threads", "2"),
        *("-c:a", "aac", "-b:a", f"{SOUND_KBIT}k", "-ac", "2", "-ar", "48000"),
        *("-movflags", "+faststart", "-f", "mp4", "-y", f"file:{target}"),
    ]


def _seconds_done(newest: bytes) -> float:
    """Return how much is converted, by the end of ffmpeg's progress report."""
    _, found, value = newest.rpartition(b"out_time_us=")
    number = value.split(b"\n", 1)[0].strip()
    return int(number) / 1_000_000 if found and number.isdigit() else 0.0


def poster(video: Path, facts: Facts, target: Path) -> encoding.Picture | None:
    """Return a picture of the video as JPEG, None if there is none; `target` is a file to use."""
    width, height = size_of(facts)
    argv = [
        *("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "fatal", "-filter_threads", "1"),
        *("-ss", f"{min(facts.seconds * POSTER_AT, POSTER_AT_MOST):.3f}"),
        *probing.input_options(video, probing.container_at(video)),
        *("-map", f"0:{facts.picture}", "-frames:v", "1", "-map_metadata", "-1"),
        *("-vf", f"scale={width}:{height},setsar=1,thumbnail={POSTER_OF},format=yuvj420p"),
        *("-c:v", "mjpeg", "-q:v", "3", "-f", "image2", "-update", "1", "-y", f"file:{target}"),
    ]
    try:
        sandbox.run(argv, POSTER_LIMITS, video, target)
        return encoding.encode(io.BytesIO(target.read_bytes()))
    except (sandbox.TooSlow, FileNotFoundError, AppError):
        return None
