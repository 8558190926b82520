"""Small videos for tests, made by ffmpeg once in a process."""

import functools
import subprocess
import tempfile
from pathlib import Path

PICTURE = ("-f", "lavfi", "-i", "testsrc2=size={size}:rate={rate}:duration={seconds}")
SOUND = ("-f", "lavfi", "-i", "sine=frequency=440:duration={seconds}")
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")
PLACE = ("-metadata", "location=+48.1173+011.5167/", "-metadata", "title=secret-title")
# What an MP4 says then: the box of the place, the title, and the program that wrote it.
TOLD = (b"loci", b"secret-title", b"Lavf")


@functools.cache
def video(
    *options: str,
    suffix: str = "mp4",
    size: str = "160x120",
    rate: int = 10,
    seconds: float = 1,
    sound: bool = True,
) -> bytes:
    """Return a video with moving colours; `options` are ffmpeg's for the result."""
    values = {"size": size, "rate": rate, "seconds": seconds}
    inputs = [part.format(**values) for part in (*PICTURE, *(SOUND if sound else ()))]
    coded = options or (*H264, "-c:a", "aac", *PLACE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"made.{suffix}"
        run("ffmpeg", "-v", "error", "-threads", "2", *inputs, *coded, "-y", str(path))
        return path.read_bytes()


@functools.cache
def rotated() -> bytes:
    """Return a video that a phone took upright: it lies, and says that it is to be turned."""
    with tempfile.TemporaryDirectory() as folder:
        lying, path = Path(folder) / "lying.mp4", Path(folder) / "made.mp4"
        lying.write_bytes(video())
        turn = ("-c", "copy", "-metadata:s:v:0", "rotate=90")
        run("ffmpeg", "-v", "error", "-i", str(lying), *turn, "-y", str(path))
        return path.read_bytes()


def webm(**values: object) -> bytes:
    """Return a WebM as browsers record it."""
    return video("-c:v", "libvpx", "-b:v", "200k", "-c:a", "libopus", suffix="webm", **values)


def run(*argv: str) -> str:
    """Run a program and return its output."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout
