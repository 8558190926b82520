"""Bounds on the parts of a picture's file, which Pillow reads one after the other in Python.

A file of 10 MB can have millions of parts, each of a few bytes, and takes seconds and hundreds of
megabytes to open. `Reader` bounds how often a decoder reads from a file, whatever the format, so
that it cannot disagree with the decoder on where a part begins. `check` bounds what a decoder makes
of few reads: tables and resources in a segment of a JPEG, compressed texts in a PNG.
"""

import io
import re
from collections import Counter

# A part takes two to four. Photos take some hundred; a PNG of 10 MB in parts of 1 kB takes 30,000.
MAX_READS = 40_000
# Segments of a JPEG with the tables and resources in them. Photos have 10 to 200.
MAX_JPEG_PARTS = 2000
# A progressive JPEG has about ten scans; more are a bomb of CPU time.
MAX_JPEG_SCANS = 30
# EXIF that is longer than a segment of a JPEG comes in several, which is rare.
MAX_JPEG_EXIF = 16
# Texts and profiles of a PNG, of which each may unpack to 1 MB.
MAX_PNG_TEXTS = 100
MAX_PNG_CHUNKS = 20_000

# What ends the data of a scan: a marker that is neither a stuffed zero nor a restart.
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_SOF = {*range(0xC0, 0xD0), 0xDE} - {0xC4, 0xC8, 0xCC}
_SOS, _DQT, _APP1, _APP13, _EOI = 0xDA, 0xDB, 0xE1, 0xED, 0xD9
_BARE = {0xC8, *range(0xD0, 0xDA), *range(0xF0, 0xFE), *range(0x01, 0xC0)}  # no length follows
_TEXTS = (b"zTXt", b"iTXt", b"tEXt", b"iCCP")


class TooManyParts(Exception):
    """A file has more parts than any picture needs."""


class Reader(io.BytesIO):
    """A file in memory that may be read from a limited number of times."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as any file does; raises TooManyParts."""
        self.reads += 1
        if self.reads > MAX_READS:
            raise TooManyParts
        return super().read(size)


def check(raw: bytes) -> int:
    """Return how many scans a picture has, 1 unless it is a JPEG; raises TooManyParts."""
    if raw.startswith(b"\xff\xd8"):
        return _jpeg(raw)
    if raw.startswith(b"\x89PNG"):
        _png(raw)
    return 1


def _jpeg(raw: bytes) -> int:
    """Walk over the segments up to the end of the picture; what is behind it is never decoded."""
    place, parts, scans, exif = 2, 0, 0, 0
    while found := _MARKER.search(raw, place):
        place, kind = found.end(), raw[found.end() - 1]
        if kind == _EOI and scans:
            break
        parts += 1
        if kind not in _BARE:
            length = int.from_bytes(raw[place : place + 2])
            parts += _inside(raw, kind, place + 2, place + length)
            exif += kind == _APP1 and raw.startswith(b"Exif", place + 2)
            scans += kind == _SOS
            place += max(2, length)
        if parts > MAX_JPEG_PARTS or scans > MAX_JPEG_SCANS or exif > MAX_JPEG_EXIF:
            raise TooManyParts
    return max(1, scans)


def _inside(raw: bytes, kind: int, start: int, end: int) -> int:
    """Return how many things Pillow reads from one segment of a JPEG."""
    if kind in _SOF:
        return (end - start) // 3
    if kind == _DQT:
        return (end - start) // 65
    if kind == _APP13:
        return raw.count(b"8BIM", start, end)
    return 0


def _png(raw: bytes) -> None:
    """Walk over the chunks of a PNG."""
    place = 8
    found: Counter[bytes] = Counter()
    for _ in range(MAX_PNG_CHUNKS):
        if place + 8 > len(raw):
            return
        found[raw[place + 4 : place + 8]] += 1
        if sum(found[name] for name in _TEXTS) > MAX_PNG_TEXTS:
            raise TooManyParts
        place += 12 + int.from_bytes(raw[place : place + 4])
    raise TooManyParts
