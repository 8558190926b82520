"""Small pictures that once took seconds or hundreds of megabytes to open."""

import io
import struct
import zlib
from collections.abc import Callable

from PIL import Image

from socialsite.core.tests.media import profiles

Make = Callable[[], bytes]
# As many as fit in one segment of a JPEG, and as many segments as fit in a file of 10 MB.
SEGMENT, SEGMENTS = 65_000, 159
WARNED = 40_000


def chunk(name: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(before: bytes = b"", after: bytes = b"") -> bytes:
    """Return a grey PNG of 8 by 8, with extra chunks before or after its pixels."""
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(9) * 8))
    return start + before + pixels + after + chunk(b"IEND", b"")


def segment(kind: int, body: bytes) -> bytes:
    """Return a segment of a JPEG."""
    return bytes([0xFF, kind]) + struct.pack(">H", len(body) + 2) + body


def jpeg(head: bytes, **options: object) -> bytes:
    """Return a JPEG of 8 by 8 whose head has extra bytes."""
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "JPEG", **options)
    data = out.getvalue()
    return data[:2] + head + data[2:]


def webp(**options: object) -> bytes:
    """Return a WEBP of 8 by 8 that is transparent."""
    out = io.BytesIO()
    Image.new("RGBA", (8, 8)).save(out, "WEBP", **options)
    return out.getvalue()


def gif(head: bytes) -> bytes:
    """Return a GIF of 8 by 8 with extra bytes before its frame."""
    out = io.BytesIO()
    Image.new("P", (8, 8)).save(out, "GIF")
    data = out.getvalue()
    start = 13 + (3 * (2 << (data[10] & 7)) if data[10] & 0x80 else 0)
    return data[:start] + head + data[start:]


def packed(text: bytes) -> bytes:
    return zlib.compress(text.ljust(1_000_000, b"a"), 9)


def unpacking(name: bytes, head: bytes) -> bytes:
    return png(chunk(name, head + packed(b"")) * 5000)


def wide_texts() -> bytes:
    """Return texts that take four bytes a character."""
    body = packed("\U0001f600".encode())
    return b"".join(chunk(b"iTXt", b"k%d\0\1\0\0\0" % n + body) for n in range(60))


def exif(tags: int) -> bytes:
    """Return EXIF data whose tags each claim more data than the file has."""
    entries = b"".join(struct.pack("<HHLL", 300 + n, 7, 0x7FFFFFF0, 8) for n in range(tags))
    return b"II*\0" + struct.pack("<LH", 8, tags) + entries + bytes(4)


def calculating(elements: int) -> bytes:
    """Return a colour profile that multiplies by a matrix very often."""
    matrix = b"matf" + bytes(4) + struct.pack(">HH12f", 3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)
    body = b"mpet" + bytes(4) + struct.pack(">HHI", 3, 3, elements)
    body += struct.pack(">II", 16 + 8 * elements, len(matrix)) * elements + matrix
    return profiles.of_tags(b"RGB ", {b"wtpt": profiles.xyz(profiles.WHITE), b"D2B0": body})


HOSTILE: dict[str, Make] = {
    "gif comments": lambda: gif(b"\x21\xfe\x01x\x00" * 2_000_000),
    "gif comment of tiny blocks": lambda: gif(b"\x21\xfe" + b"\x01x" * 5_000_000 + b"\x00"),
    "gif of no blocks": lambda: gif(b"\x01" * 10_000_000),
    "gif of tiny blocks behind": lambda: gif(b"")[:-1] + b"\x21\xfe" + b"\x01x" * 5_000_000,
    "gif of no blocks behind": lambda: gif(b"")[:-1] + b"\x01" * 10_000_000,
    "jpeg of empty segments": lambda: jpeg(segment(0xE1, b"") * 2_600_000),
    "jpeg of comments": lambda: jpeg(segment(0xFE, b"") * 2_600_000),
    "jpeg of fill bytes": lambda: jpeg(b"\xff" * 10_400_000),
    "jpeg of bytes between": lambda: jpeg(b"\x00" * 10_400_000),
    "jpeg of bare markers": lambda: jpeg(b"\xff\xd0" * 5_200_000),
    "jpeg of frames": lambda: jpeg(
        segment(0xC0, b"\x08\0\x08\0\x08\x03" + b"\1\x11\0" * (SEGMENT // 3)) * SEGMENTS
    ),
    "jpeg of tables": lambda: jpeg(
        segment(0xDB, (b"\0" + b"\1" * 64) * (SEGMENT // 65)) * SEGMENTS
    ),
    "jpeg of resources": lambda: jpeg(
        segment(0xED, b"Photoshop 3.0\0" + (b"8BIM\x04\x04" + bytes(6)) * 5400) * SEGMENTS
    ),
    "jpeg of exif": lambda: jpeg(segment(0xE1, b"Exif\0\0" + b"x" * SEGMENT) * SEGMENTS),
    "png of empty chunks": lambda: png(chunk(b"abCd", b"") * 860_000),
    "png of empty pixels": lambda: png(after=chunk(b"IDAT", b"") * 860_000),
    "png of profiles": lambda: unpacking(b"iCCP", b"a\0\0"),
    "png of nameless texts": lambda: unpacking(b"zTXt", b"\0\0"),
    "png of broken texts": lambda: unpacking(b"iTXt", b"\xff\0\1\0\0\xff\0"),
    "png of wide texts": lambda: png(wide_texts()),
    "png of wide texts behind": lambda: png(after=wide_texts()),
    "png of odd tags": lambda: png(chunk(b"eXIf", exif(WARNED) + bytes(2_000_000))),
    "jpeg of calculated colours": lambda: jpeg(b"", icc_profile=calculating(8000)),
    "webp of calculated colours": lambda: webp(icc_profile=calculating(8000)),
}
