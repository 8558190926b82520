"""Limits on the parts of a picture's file, which Pillow reads one by one in Python.

A file of 10 MB can have millions of parts of a few bytes each. Opening it takes seconds and
hundreds of megabytes. `Reader` limits how often a decoder reads from a file, whatever the format,
so it cannot disagree with the decoder about where a part begins. `check` limits data that a decoder
expands from few reads: tables and resources in a segment of a JPEG, compressed texts in a PNG.
`is_animated_gif` looks at a limited number of parts.
"""

import io
import re
from collections import Counter

# A part takes two to four reads. Photos have a few hundred; a 10 MB PNG with parts of 1 kB takes
# 30,000 reads.
MAX_READS = 40_000
# Segments of a JPEG and the tables and resources in them. Photos have 10 to 200.
MAX_JPEG_PARTS = 2000
# A progressive JPEG has about ten scans; many more waste CPU time on purpose.
MAX_JPEG_SCANS = 30
# EXIF data longer than one JPEG segment is split into several, which is rare.
MAX_JPEG_EXIF = 16
# Texts and profiles of a PNG; each may unpack to 1 MB.
MAX_PNG_TEXTS = 100
MAX_PNG_CHUNKS = 20_000
# Blocks of a GIF have at most 255 bytes: a first frame of 10 MB has 40,000.
MAX_GIF_BLOCKS = 50_000

# Ends the data of a scan: a marker that is neither a stuffed zero nor a restart.
_MARKER = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_SOF = {*range(0xC0, 0xD0), 0xDE} - {0xC4, 0xC8, 0xCC}
_SOS, _DQT, _APP1, _APP13, _EOI = 0xDA, 0xDB, 0xE1, 0xED, 0xD9
_BARE = {0xC8, *range(0xD0, 0xDA), *range(0xF0, 0xFE), *range(0x01, 0xC0)}  # no length follows
_FRAME, _EXTENSION, _TRAILER = 0x2C, 0x21, 0x3B  # of a GIF
_TEXTS = (b"zTXt", b"iTXt", b"tEXt", b"iCCP")


class TooManyParts(Exception):
    """The file has more parts than any picture needs."""


class Reader(io.BytesIO):
    """A file in memory that allows a limited number of reads."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read like any file; raises TooManyParts."""
        self.reads += 1
        if self.reads > MAX_READS:
            raise TooManyParts
        return super().read(size)


def check(raw: bytes) -> int:
    """Return the number of scans of a picture, 1 unless it is a JPEG; raises TooManyParts."""
    if raw.startswith(b"\xff\xd8"):
        return _jpeg(raw)
    if raw.startswith(b"\x89PNG"):
        _png(raw)
    return 1


def is_animated_gif(raw: bytes) -> bool:
    """Return whether a GIF has a second frame; False if too many blocks are before it."""
    place, frames, left = 13 + _palette(raw, 10), 0, MAX_GIF_BLOCKS
    while place < len(raw) and raw[place] != _TRAILER and left > 0:
        kind, left = raw[place], left - 1
        if kind == _FRAME:
            frames += 1
            if frames == 2:
                return True
            place += 11 + _palette(raw, place + 9)
        elif kind == _EXTENSION:
            place += 2
        else:  # decoders skip bytes between blocks
            place += 1
            continue
        while place < len(raw) and raw[place] and left > 0:
            place, left = place + raw[place] + 1, left - 1
        place += 1
    return False


def _palette(raw: bytes, place: int) -> int:
    """Return the length of the palette that the flags at a place of a GIF describe."""
    flags = int.from_bytes(raw[place : place + 1])
    return 3 * (2 << (flags & 7)) if flags & 0x80 else 0


def _jpeg(raw: bytes) -> int:
    """Walk the segments up to the end of the picture; data after it is never decoded."""
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
    """Return how many items Pillow reads from one segment of a JPEG."""
    if kind in _SOF:
        return (end - start) // 3
    if kind == _DQT:
        return (end - start) // 65
    if kind == _APP13:
        return raw.count(b"8BIM", start, end)
    return 0


def _png(raw: bytes) -> None:
    """Walk the chunks of a PNG."""
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
