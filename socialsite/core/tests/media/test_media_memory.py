"""The peak memory of an accepted picture, measured in a separate process."""

import io
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from PIL import Image

from socialsite.core.media import encoding
from socialsite.core.tests.media.hostile_pictures import HOSTILE, chunk
from socialsite.tests.support.waiting import LIMIT

pytestmark = pytest.mark.once

PEAK_MEGABYTES = 300
LEFT_MEGABYTES = 30
# Multiple of a photo's CPU time: above any accepted file, below a former hostile one.
PHOTO_TIMES = 2
# The maximum number of pixels, in lines of the maximum length.
WIDE = (encoding.MAX_SIDE, encoding.MAX_PIXELS // encoding.MAX_SIDE)
HEAVY = (encoding.MAX_SIDE - 1, encoding.MAX_HEAVY_PIXELS // encoding.MAX_SIDE)
# The passes of an interlaced PNG: the first column and row, and the steps.
PASSES = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
]


def interlaced_png(size: tuple[int, int]) -> bytes:
    """Return an interlaced PNG of 16 bits a channel with transparency: 8 bytes a pixel."""
    width, height = size
    packer = zlib.compressobj(1)
    packed = b""
    for left, top, right, down in PASSES:
        line = b"\0" + bytes(-(-(width - left) // right) * 8)
        for _ in range(-(-(height - top) // down)):
            packed += packer.compress(line)
    packed += packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 1)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def gif_of_many_frames() -> bytes:
    frames = [Image.new("P", WIDE, number) for number in range(5)]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], optimize=False)


WORST: dict[str, Callable[[], bytes]] = {
    "png": lambda: interlaced_png(WIDE),
    "jpeg": lambda: encoded(
        Image.new("RGB", WIDE, (9, 99, 200)), "JPEG", progressive=True, subsampling=0
    ),
    "cmyk jpeg": lambda: encoded(Image.new("CMYK", HEAVY, 9), "JPEG", progressive=True),
    "webp": lambda: encoded(Image.new("RGBA", HEAVY, (9, 99, 200, 7)), "WEBP", lossless=True),
    "gif": gif_of_many_frames,
}


def photo() -> bytes:
    """Return an ordinary photo of 12 megapixels."""
    small = Image.effect_noise((1000, 750), 60)
    return encoded(small.resize((4000, 3000)).convert("RGB"), "JPEG", quality=85)


@pytest.mark.slow(reason="decodes the largest pictures")
def test_the_worst_pictures_stay_within_their_memory_and_time(tmp_path: Path) -> None:
    for name, make in {"photo": photo, **WORST, **HOSTILE}.items():
        (tmp_path / name).write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-m", "socialsite.core.tests.media.peak", *map(str, tmp_path.iterdir())],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=4 * LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"photo", *WORST, *HOSTILE}
    most = PHOTO_TIMES * found["photo"][2]
    for name, (peak, left, seconds) in found.items():
        assert peak < PEAK_MEGABYTES, f"{name}: {peak:.0f} MB"
        assert left < LEFT_MEGABYTES, f"{name}: {left:.0f} MB stay"
        if name in WORST:
            assert peak > 20, f"{name}: it was not decoded at all"
        else:
            assert seconds <= most, f"{name}: {seconds:.2f} s"
    assert not done.stderr, done.stderr[:2000]  # not one log line for each tag
