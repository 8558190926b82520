"""MP4 files that browsers play as they are: looked into, and freed of all that is not played.

For the embedded mode, which has no ffmpeg. An MP4 is a tree of boxes: a length, a type, a content.
Boxes that players do not need, such as places, names and pictures of covers, become boxes of zeros
of the same length, so no other box moves. All loops are bounded by the size of the index, which is
bounded too.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from django.conf import settings

from socialsite.core.media.videos import failures
from socialsite.core.media.videos.failures import Refused

NOT_PLAYABLE = failures.TEXTS[failures.NOT_PLAYABLE]
# The index of ten minutes has about 1 MB.
INDEX_MAX = 16 * 1024 * 1024
BOXES_MAX, TRACKS_MAX = 100_000, 16
_KEPT = frozenset((b"ftyp", b"moov", b"mdat"))
_KEPT_IN_MOOV = frozenset((b"mvhd", b"trak"))
_KEPT_IN_TRACK = frozenset((b"tkhd", b"edts", b"mdia"))
# H.264: Baseline, Main, Extended, High. The others have more colours than browsers show.
_AVC_PROFILES = frozenset((66, 77, 88, 100))
_PICTURES = frozenset((b"avc1", b"avc3", b"vp09", b"av01"))
_SOUNDS = frozenset((b"mp4a", b"Opus", b"fLaC", b".mp3"))
# Object types of AAC and MP3 in `esds`.
_MPEG_SOUNDS = frozenset((0x40, 0x66, 0x67, 0x68, 0x69, 0x6B))
_ZEROS = bytes(64 * 1024)


@dataclass(frozen=True, slots=True)
class Facts:
    """A video as it is shown: sides in pixels, upright."""

    width: int
    height: int
    seconds: float


class Box(NamedTuple):
    """A box: its type, where it begins, where its content begins, and where it ends."""

    kind: bytes
    start: int
    inside: int
    end: int


def tidy(path: Path) -> Facts:
    """Check a file and overwrite all that players do not need. Raises Refused."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        boxes = list(_top(file, size))
        index = _only(boxes, b"moov")
        if boxes[0].kind != b"ftyp" or not any(box.kind == b"mdat" for box in boxes):
            raise Refused(failures.NOT_PLAYABLE)
        if index.end - index.start > INDEX_MAX:
            raise Refused(failures.BROKEN)
        _check_brand(file, boxes[0])
        file.seek(index.start)
        data = bytearray(file.read(index.end - index.start))
        try:
            facts = _movie(data, Box(b"moov", 0, index.inside - index.start, len(data)))
        except (struct.error, IndexError, ZeroDivisionError):
            raise Refused(failures.BROKEN) from None
        file.seek(index.start)
        file.write(data)
        for box in boxes:
            if box.kind not in _KEPT:
                _overwrite(file, box)
        file.truncate(boxes[-1].end)
        file.flush()
        os.fsync(file.fileno())
    return facts


def _top(file: IO[bytes], size: int) -> Iterator[Box]:
    """Yield the boxes of a file. What follows the last one, less than a header, is left out."""
    place = 0
    for _ in range(BOXES_MAX):
        if place + 8 > size:
            return
        file.seek(place)
        head = file.read(16)
        box = _box(head, 0, size - place)
        yield Box(box.kind, place, place + box.inside, place + box.end)
        place += box.end
    raise Refused(failures.BROKEN)


def _box(data: bytes | bytearray, place: int, limit: int) -> Box:
    """Return the box at a place, which ends at `limit` at the latest. Raises Refused."""
    length, kind, inside = int.from_bytes(data[place : place + 4]), bytes(data[place + 4 :][:4]), 8
    if length == 1:
        length, inside = int.from_bytes(data[place + 8 : place + 16]), 16
    elif length == 0:  # up to the end of the file
        length = limit - place
    if length < inside or place + length > limit or len(kind) < 4:
        raise Refused(failures.BROKEN)
    return Box(kind, place, place + inside, place + length)


def _children(data: bytearray, parent: Box, skip: int = 0) -> list[Box]:
    found: list[Box] = []
    place = parent.inside + skip
    while place + 8 <= parent.end:
        box = _box(data[place : place + 16], 0, parent.end - place)
        found.append(Box(box.kind, place, place + box.inside, place + box.end))
        place += box.end
        if len(found) > BOXES_MAX:
            raise Refused(failures.BROKEN)
    return found


def _only(boxes: list[Box], kind: bytes) -> Box:
    """Return the one box of a type. Raises Refused if there is none, or several."""
    found = [box for box in boxes if box.kind == kind]
    if len(found) != 1:
        raise Refused(failures.BROKEN)
    return found[0]


def _check_brand(file: IO[bytes], box: Box) -> None:
    """Raise Refused for QuickTime files, whose sound only some browsers play."""
    file.seek(box.inside)
    if file.read(4) == b"qt  ":
        raise Refused(failures.NOT_PLAYABLE)


def _overwrite(file: IO[bytes], box: Box) -> None:
    """Turn a box of a file into an empty one of the same length."""
    file.seek(box.start + 4)
    file.write(b"free")
    file.seek(box.inside)
    left = box.end - box.inside
    while left > 0:
        left -= file.write(_ZEROS[: min(left, len(_ZEROS))])


def _blank(data: bytearray, box: Box) -> None:
    data[box.start + 4 : box.start + 8] = b"free"
    data[box.inside : box.end] = bytes(box.end - box.inside)


# --- the index ----------------------------------------------------------------------------------
def _movie(data: bytearray, movie: Box) -> Facts:
    children = _children(data, movie)
    if any(box.kind == b"mvex" for box in children):  # its pieces say how long it is
        raise Refused(failures.NOT_PLAYABLE)
    tracks = [box for box in children if box.kind == b"trak"]
    if len(tracks) > TRACKS_MAX:
        raise Refused(failures.BROKEN)
    facts: Facts | None = None
    for track in tracks:
        found = _track(data, track)
        if found is not None and facts is not None:
            _blank(data, track)  # a second picture
        facts = facts or found
    if facts is None:
        raise Refused(failures.NO_PICTURE)
    for box in children:
        if box.kind not in _KEPT_IN_MOOV:
            _blank(data, box)
    return facts


def _track(data: bytearray, track: Box) -> Facts | None:
    """Check a track; return its facts if it is a picture. Overwrite what is not played."""
    children = _children(data, track)
    media = _children(data, _only(children, b"mdia"))
    handler = _only(media, b"hdlr")
    kind = bytes(data[handler.inside + 8 : handler.inside + 12])
    if kind == b"meta":  # its samples, such as places, are beside those of the picture
        raise Refused(failures.LOCATED)
    if kind not in (b"vide", b"soun"):
        _blank(data, track)
        return None
    # The rest of the handler is a name that the camera or the person chose.
    data[handler.inside + 24 : handler.end] = bytes(handler.end - handler.inside - 24)
    for box in children:
        if box.kind not in _KEPT_IN_TRACK:
            _blank(data, box)
    seconds = _seconds(data, _only(media, b"mdhd"))
    entry = _sample_entry(data, media)
    if kind == b"soun":
        _check_sound(data, entry)
        return None
    _check_picture(data, entry)
    width, height = _sides(data, _only(children, b"tkhd"))
    if not width or not height:
        width, height = struct.unpack_from(">HH", data, entry.inside + 24)
    if not width or not height or not seconds:
        raise Refused(failures.BROKEN)
    if width * height > failures.MAX_PIXELS or max(width, height) > failures.MAX_SIDE:
        raise Refused(failures.TOO_BIG)
    if seconds > settings.VIDEO_SECONDS + 1:
        raise Refused(failures.TOO_LONG)
    return Facts(width, height, seconds)


def _seconds(data: bytearray, header: Box) -> float:
    if data[header.inside] == 1:
        scale, length = struct.unpack_from(">IQ", data, header.inside + 20)
    else:
        scale, length = struct.unpack_from(">II", data, header.inside + 12)
    return float(length / scale)


def _sides(data: bytearray, header: Box) -> tuple[int, int]:
    """Return the sides that a track header names, exchanged if it turns the picture."""
    matrix = header.inside + (52 if data[header.inside] == 1 else 40)
    values = struct.unpack_from(">9i2I", data, matrix)
    width, height = values[9] >> 16, values[10] >> 16
    return (height, width) if values[0] == 0 and values[1] != 0 else (width, height)


def _sample_entry(data: bytearray, media: list[Box]) -> Box:
    table = _children(data, _only(_children(data, _only(media, b"minf")), b"stbl"))
    description = _only(table, b"stsd")
    entries = _children(data, description, skip=8)
    if len(entries) != 1:
        raise Refused(failures.NOT_PLAYABLE)
    return entries[0]


def _check_picture(data: bytearray, entry: Box) -> None:
    """Raise Refused unless browsers show the picture; its description follows 78 bytes."""
    if entry.kind not in _PICTURES:
        raise Refused(failures.NOT_PLAYABLE)
    if entry.kind in (b"avc1", b"avc3"):
        settings_box = _only(_children(data, entry, skip=78), b"avcC")
        if data[settings_box.inside + 1] not in _AVC_PROFILES:
            raise Refused(failures.NOT_PLAYABLE)


def _check_sound(data: bytearray, entry: Box) -> None:
    """Raise Refused unless browsers play the sound; its description follows 28 bytes."""
    if entry.kind not in _SOUNDS:
        raise Refused(failures.NOT_PLAYABLE)
    if entry.kind == b"mp4a":
        box = _only(_children(data, entry, skip=28), b"esds")
        if _object_type(bytes(data[box.inside + 4 : box.end])) not in _MPEG_SOUNDS:
            raise Refused(failures.NOT_PLAYABLE)


def _object_type(data: bytes) -> int:
    """Return the object type of the decoder in an `esds`: a descriptor in a descriptor."""
    place = _after_length(data, 0, 0x03)
    flags = data[place + 2]
    place += 3 + (2 if flags & 0x80 else 0) + (2 if flags & 0x20 else 0)
    if flags & 0x40:
        place += 1 + data[place]
    return data[_after_length(data, place, 0x04)]


def _after_length(data: bytes, place: int, tag: int) -> int:
    """Return where the content of a descriptor begins; its length has up to four bytes."""
    if data[place] != tag:
        raise Refused(failures.NOT_PLAYABLE)
    place += 1
    for _ in range(3):
        if not data[place] & 0x80:
            break
        place += 1
    return place + 1
