"""Uploads: pictures, and what must be refused as one."""

import io
import struct
import zlib
from typing import Any

from PIL import Image

RED, BLUE = (220, 20, 20), (20, 20, 220)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture(size: tuple[int, int] = (40, 30), kind: str = "PNG", **options: Any) -> bytes:
    return encoded(Image.new("RGB", size, RED), kind, **options)


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG whose header claims a size but whose pixels are missing."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 99))


def jpeg_of_many_scans() -> bytes:
    data = picture((64, 64), "JPEG", progressive=True)
    start = data.index(b"\xff\xda")
    end = data.index(b"\xff", start + 2)
    return data[:start] + data[start:end] * 200 + data[start:]


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
REFUSED = {
    "nothing": b"",
    "garbage": bytes(range(256)) * 40,
    "svg": SVG,
    "svg with a declaration": b'<?xml version="1.0"?>' + SVG,
    "html": b"<!doctype html><script>alert(1)</script>",
    "html that begins like a gif": b"GIF89a/*<script>alert(1)</script>*/=1",
    "bmp": picture(kind="BMP"),
    "tiff": picture(kind="TIFF"),
    "pdf": picture(kind="PDF"),
    "truncated jpeg": picture((400, 400), "JPEG")[:-300],
    "truncated png": picture((400, 400))[:-40],
    "truncated webp": picture((400, 400), "WEBP")[:-40],
    "truncated gif": encoded(Image.effect_noise((200, 200), 90), "GIF")[:-4000],
    "png header alone": png_of_size(30, 30),
    "jpeg header alone": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    "jpeg of many scans": jpeg_of_many_scans(),
}
