"""The contents of a video, by ffprobe in a sandbox, and whether it may be converted.

The container is found by its first bytes and given to the programs by name. They never guess it, so
no playlist, subtitle or list of files is opened as one, whatever a file calls itself.
"""

import logging
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from socialsite.core.media.videos import failures, sandbox
from socialsite.core.media.videos.failures import Refused

logger = logging.getLogger(__name__)

MP4, MATROSKA = "mov", "matroska"
_FIRST_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")
_EBML = b"\x1a\x45\xdf\xa3"
# The names by which the programs know the two demuxers.
DEMUXERS = {MP4: "mov,mp4,m4a,3gp,3g2,mj2", MATROSKA: "matroska,webm"}
# Decoders of what phones, cameras, browsers and editors write.
CODECS = (
    *("h264", "hevc", "vp8", "vp9", "libdav1d", "mpeg4", "h263", "mjpeg", "prores"),
    *("aac", "mp3", "mp3float", "opus", "libopus", "vorbis", "alac", "flac", "ac3", "eac3"),
    *("amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb"),
    *("pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_f32le", "pcm_u8"),
)
# Names of the decoders in the answer of ffprobe.
NAMES = (frozenset(CODECS) | {"av1", "amr_nb", "amr_wb"}) - {"libdav1d", "mp3float", "libopus"}
STREAMS_MAX = 24
LIMITS = sandbox.Limits(
    seconds=30, cpu_seconds=20, memory_bytes=1_500 * 1024**2, file_bytes=1_000_000
)
# Pixels that are wider than high by more than this are an error of the file.
RATIO_MAX = 4


@dataclass(frozen=True, slots=True)
class Facts:
    """A video as it is shown, upright: sides in pixels, and the indexes of its two streams.

    `seconds` is 0 if the file does not say it.
    """

    width: int
    height: int
    seconds: float
    picture: int
    sound: int | None


def container_of(start: bytes) -> str:
    """Return the container that a file begins with, "" for none that is accepted."""
    if start.startswith(_EBML):
        return MATROSKA
    return MP4 if start[4:8] in _FIRST_BOXES else ""


def input_options(path: Path, container: str) -> list[str]:
    """Return the options by which ffmpeg and ffprobe open a file, and no other one."""
    return [
        *("-protocol_whitelist", "file", "-format_whitelist", DEMUXERS[container]),
        *("-codec_whitelist", ",".join(CODECS), "-max_streams", str(STREAMS_MAX)),
        *("-max_pixels", str(failures.MAX_PIXELS), "-threads", "2"),
        *("-f", container, "-i", f"file:{path}"),
    ]


def container_at(path: Path) -> str:
    """Return the container of a stored file; raises Refused."""
    with path.open("rb") as file:
        found = container_of(file.read(16))
    if not found:
        raise Refused(failures.BROKEN)
    return found


def probe(path: Path) -> Facts:
    """Return what is inside a video. Raises Refused."""
    shown = (
        "format=duration:stream=index,codec_type,codec_name,width,height,sample_aspect_ratio"
        ":stream_disposition=attached_pic:stream_side_data=rotation"
    )
    argv = [
        *("ffprobe", "-v", "error", "-hide_banner", "-of", "json", "-show_entries", shown),
        *input_options(path, container_at(path)),
    ]
    try:
        result = sandbox.run(argv, LIMITS, path)
    except sandbox.TooSlow:
        raise Refused(failures.BROKEN) from None
    if result.code:
        logger.info("video refused by ffprobe, code %s: %s", result.code, result.error)
        raise Refused(_refusal(result.error))
    try:
        return facts_of(orjson.loads(result.output))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, ZeroDivisionError):
        raise Refused(failures.BROKEN) from None


def _refusal(error: str) -> str:
    """Return why ffprobe refused a file: some versions end where others print what they found."""
    if "not on whitelist" in error:
        return failures.UNKNOWN_CODEC
    return failures.TOO_BIG if "exceeds specified max pixel count" in error else failures.BROKEN


def facts_of(found: dict[str, Any]) -> Facts:
    """Return the facts of what ffprobe printed. Raises Refused."""
    streams = found.get("streams") or []
    moving = [one for one in streams if _is_moving(one)]
    if not moving:
        raise Refused(failures.NO_PICTURE)
    picture = moving[0]
    sounds = [one for one in streams if one.get("codec_type") == "audio"]
    sound = next((one for one in sounds if one.get("codec_name") in NAMES), None)
    if picture.get("codec_name") not in NAMES:
        raise Refused(failures.UNKNOWN_CODEC)
    width, height = int(picture.get("width", 0)), int(picture.get("height", 0))
    if min(width, height) < 1:
        raise Refused(failures.BROKEN)
    if width * height > failures.MAX_PIXELS or max(width, height) > failures.MAX_SIDE:
        raise Refused(failures.TOO_BIG)
    seconds = float(found.get("format", {}).get("duration", 0))
    if not math.isfinite(seconds) or seconds < 0:
        raise Refused(failures.BROKEN)
    if seconds > settings.VIDEO_SECONDS + 1:
        raise Refused(failures.TOO_LONG)
    width = max(1, round(width * _ratio(picture)))
    if _rotation(picture) % 180 == 90:
        width, height = height, width
    number = None if sound is None else int(sound["index"])
    return Facts(width, height, seconds, int(picture["index"]), number)


def _is_moving(stream: dict[str, Any]) -> bool:
    is_cover = (stream.get("disposition") or {}).get("attached_pic")
    return stream.get("codec_type") == "video" and not is_cover


def _ratio(stream: dict[str, Any]) -> Fraction:
    """Return the width of a pixel divided by its height."""
    across, _, down = str(stream.get("sample_aspect_ratio") or "1:1").partition(":")
    if not (across.isdecimal() and down.isdecimal() and int(across) and int(down)):
        return Fraction(1)
    ratio = Fraction(int(across), int(down))
    return ratio if Fraction(1, RATIO_MAX) <= ratio <= RATIO_MAX else Fraction(1)


def _rotation(stream: dict[str, Any]) -> int:
    for data in stream.get("side_data_list") or []:
        if "rotation" in data:
            return round(float(data["rotation"]))
    return 0
