"""The parts of a picture's file: the limits on them, and that real pictures have fewer."""

import io
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageCms

from socialsite.core import errors
from socialsite.core.media import encoding, picture_limits
from socialsite.core.tests.media.hostile_pictures import HOSTILE, chunk, gif, jpeg, png, segment
from socialsite.tests.hostile import linear

pytestmark = [
    pytest.mark.once,
    # As `core.media.encoding` sets them; pytest resets the filters of warnings.
    pytest.mark.filterwarnings("ignore::UserWarning:PIL"),
    pytest.mark.filterwarnings("error::PIL.Image.DecompressionBombWarning"),
]

# Accepted, without their hostile parts.
TAKEN = {
    *("gif of tiny blocks behind", "gif of no blocks behind", "png of odd tags"),
    *("jpeg of calculated colours", "webp of calculated colours"),
}
XMP = b"http://ns.adobe.com/xap/1.0/\0" + b" " * 60_000


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def encode(data: bytes, work: encoding.Work | None = None) -> encoding.Picture:
    return encoding.encode(io.BytesIO(data), work=work)


def noise(size: tuple[int, int] = (300, 200)) -> Image.Image:
    return Image.effect_noise(size, 80).convert("RGB")


def of_a_phone() -> bytes:
    """Return a JPEG with all data that cameras and editors write, followed by a film."""
    tags = Image.Exif()
    tags[0x0112] = 6
    tags[0x9286] = "x" * 50_000
    colours = b"ICC_PROFILE\0"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    pieces = [profile[n : n + 2] for n in range(0, 508, 2)]
    pieces.append(profile[508:])
    head = segment(0xE1, XMP) * 60 + segment(0xEB, b"JP" + b"x" * 60_000) * 20
    head += segment(0xED, b"Photoshop 3.0\0" + (b"8BIM\x04\x04" + bytes(6)) * 50)
    for number, piece in enumerate(pieces, 1):
        head += segment(0xE2, colours + bytes([number, 255]) + piece)
    data = encoded(noise(), "JPEG", progressive=True, exif=tags, restart_marker_rows=1)
    film = random.Random(1).randbytes(200_000) + b"\xff\xda\xff\xd8" * 10_000
    return data[:2] + head + data[2:] + film


def of_several(kind: str, count: int = 40, **options: Any) -> bytes:
    frames = [noise((60, 40)) for _ in range(count)]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)


def in_small_chunks() -> bytes:
    """Return a PNG of 10,000 chunks."""
    data = zlib.compress(bytes(9) * 8) + bytes(9_900)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
    return start + b"".join(chunk(b"IDAT", bytes([b])) for b in data) + chunk(b"IEND", b"")


REAL: dict[str, Callable[[], bytes]] = {
    "a phone's": of_a_phone,
    "several in one": lambda: of_several("MPO", progressive=True),
    "an animated gif": lambda: of_several("GIF", comment=b"a comment" * 900, loop=0),
    "an animated webp": lambda: of_several("WEBP", xmp=XMP),
    "an animated png": lambda: of_several("PNG"),
    "a png in small chunks": in_small_chunks,
    "a png with texts": lambda: png(chunk(b"tEXt", b"a\0" + b"b" * 999) * 90),
    "a gif with xmp": lambda: gif(
        b"\x21\xff\x0bXMP DataXMP" + (b"\x50" + b"x" * 80) * 6000 + b"\x00"
    ),
    "padding between segments": lambda: jpeg(b"\xff" * 10_000 + b"\x00" * 10_000),
    "scans that are allowed": lambda: of_scans(20),
}


def of_scans(more: int) -> bytes:
    data = encoded(noise((64, 64)), "JPEG", progressive=True)
    start = data.rindex(b"\xff\xda")
    end = start + 2 + int.from_bytes(data[start + 2 : start + 4])
    return data[:-2] + data[start:end] * more + data[-2:]


@pytest.mark.parametrize("name", REAL)
def test_real_pictures_are_taken(name: str) -> None:
    encode(REAL[name]())


@pytest.mark.parametrize("name", HOSTILE)
def test_files_of_too_many_parts_are_refused(name: str) -> None:
    if name in TAKEN:
        encode(HOSTILE[name]())
        return
    with pytest.raises(errors.UnsupportedMedia):
        encode(HOSTILE[name]())


@pytest.mark.parametrize("name", REAL)
def test_animations_are_recognized(name: str) -> None:
    assert encode(REAL[name]()).is_animated == name.startswith("an animated")


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_a_single_frame_is_no_animation(kind: str) -> None:
    assert not encode(of_several(kind, count=1)).is_animated
    assert encode(of_several(kind, count=2)).is_animated


def test_a_large_first_frame_hides_no_animation() -> None:
    frames = [Image.effect_noise((3000, 2000), 80) for _ in range(2)]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:], optimize=False)
    assert data.rindex(b"\x21\xf9") > 4_000_000
    assert picture_limits.is_animated_gif(data)


def test_scans_are_counted_up_to_the_end_of_the_picture() -> None:
    assert picture_limits.check(encoded(noise(), "JPEG")) == 1
    assert picture_limits.check(encoded(noise(), "JPEG", progressive=True)) == 10
    assert picture_limits.check(of_a_phone()) == 10
    assert picture_limits.check(of_scans(20)) == 30
    with pytest.raises(picture_limits.TooManyParts):
        picture_limits.check(of_scans(21))


def test_a_decoder_reads_a_file_a_limited_number_of_times() -> None:
    file = picture_limits.Reader(bytes(picture_limits.MAX_READS + 1))
    for _ in range(picture_limits.MAX_READS):
        assert file.read(1)
    with pytest.raises(picture_limits.TooManyParts):
        file.read(1)


def test_the_pictures_of_one_request_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, progressive = encoded(noise(), "JPEG"), encoded(noise(), "JPEG", progressive=True)
    pixels = 300 * 200
    monkeypatch.setattr(encoding, "MAX_WORK", 3 * pixels)
    work = encoding.Work()
    encode(plain, work)
    assert work.left == 2 * pixels - pixels // 30
    encode(progressive, work)
    with pytest.raises(errors.PayloadTooLarge, match="Together"):
        encode(progressive, work)


def test_nine_photos_of_a_phone_are_within_it() -> None:
    work = encoding.Work()
    for _ in range(9):
        work.spend(4032 * 3024, 10)


MARKS = (
    *(b"\xff", b"\x00", b"\xff\x00", b"\xff\xd0", b"\xff\xff\x00"),
    *(b"\xff\xe1\0\0", b"\xff\xda\0\2a", b"\xff\xed\xff\xff8BIM"),
)


@pytest.mark.parametrize("head", [b"\xff\xd8", b"\x89PNG\r\n\x1a\n"], ids=["jpeg", "png"])
def test_the_walk_takes_time_in_proportion_to_the_length(head: bytes) -> None:
    def run(data: bytes) -> None:
        try:
            picture_limits.check(data)
        except picture_limits.TooManyParts:
            return

    makers = [
        (repr(mark), lambda size, mark=mark: head + mark * (size // len(mark))) for mark in MARKS
    ]
    assert not linear.too_slow(run, makers, encoding.MAX_BYTES)
