"""Colour profiles, built from few numbers."""

import struct
from collections.abc import Mapping

WHITE = (0.9642, 1.0, 0.8249)
# The primaries of Display P3, adapted to the white above.
P3 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
LAB_GREEN = bytes([184, 52, 201])  # L 72, a -76, b 73


def of_tags(space: bytes, tags: Mapping[bytes, bytes], connection: bytes = b"XYZ ") -> bytes:
    """Return a profile for pixels in `space`, with tags that lead to the connection space."""
    index, data, start = b"", b"", 128 + 4 + 12 * len(tags)
    for name, value in tags.items():
        index += name + struct.pack(">II", start + len(data), len(value))
        data += value + bytes(-len(value) % 4)
    head = struct.pack(">I4xI", start + len(data), 0x04300000) + b"scnr" + space + connection
    head += bytes(12) + b"acsp" + bytes(28) + _numbers(*WHITE)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + index + data


def xyz(values: tuple[float, float, float]) -> bytes:
    return b"XYZ " + bytes(4) + _numbers(*values)


def of_light(gamma: float) -> bytes:
    """Return a profile for RGB with the primaries of Display P3."""
    tags = {b"wtpt": xyz(WHITE)}
    for letter, primary in zip((b"r", b"g", b"b"), P3, strict=True):
        tags |= {letter + b"XYZ": xyz(primary), letter + b"TRC": _curve(gamma)}
    return of_tags(b"RGB ", tags)


def of_grays(gamma: float) -> bytes:
    return of_tags(b"GRAY", {b"wtpt": xyz(WHITE), b"kTRC": _curve(gamma)})


def of_inks() -> bytes:
    """Return a profile for CMYK in which every mixture of inks is the same green."""
    same = bytes(range(256))
    table = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + _numbers(1, 0, 0, 0, 1, 0, 0, 0, 1)
    table += same * 4 + LAB_GREEN * 2**4 + same * 3
    return of_tags(b"CMYK", {b"wtpt": xyz(WHITE), b"A2B0": table}, b"Lab ")


def _curve(gamma: float) -> bytes:
    return b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))


def _numbers(*values: float) -> bytes:
    return struct.pack(f">{len(values)}i", *(round(value * 65536) for value in values))
