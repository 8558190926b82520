"""Decompress what another site sent, up to a limit: a small body may stand for gigabytes."""

import zlib

# What `decompressed` reads, for the header `Accept-Encoding`.
ACCEPTED = "gzip, deflate"
CODINGS_MAX = 2
# A gzip file may have several members; each costs time, also an empty one.
MEMBERS_MAX = 100
_GZIP, _ZLIB, _RAW = 31, zlib.MAX_WBITS, -zlib.MAX_WBITS


def decompressed(body: bytes, codings: str, most: int) -> bytes | None:
    """Return at most `most` bytes of what a body stands for; None if it cannot be read.

    `codings` is the header `Content-Encoding`. Of a body that ends early the beginning is returned.
    """
    names = [name for name in map(str.strip, codings.lower().split(",")) if name]
    names = [name.removeprefix("x-") for name in names if name != "identity"]
    if len(names) > CODINGS_MAX:
        return None
    try:
        for name in reversed(names):
            if name == "gzip":
                body = _members(body, most)
            elif name == "deflate":
                body = _deflated(body, most)
            else:
                return None
    except zlib.error:
        return None
    return body[:most]


def _members(body: bytes, most: int) -> bytes:
    """Return the contents of the first members of a gzip file, one after the other."""
    made = b""
    for _ in range(MEMBERS_MAX):
        reader = zlib.decompressobj(_GZIP)
        made += reader.decompress(body, most - len(made))
        body = reader.unused_data
        # Without its end there is no rest; bytes that begin no member do not count.
        if not body.startswith(b"\x1f\x8b") or len(made) >= most:
            break
    return made


def _deflated(body: bytes, most: int) -> bytes:
    # Some servers leave out the frame of zlib.
    try:
        return zlib.decompressobj(_ZLIB).decompress(body, most)
    except zlib.error:
        return zlib.decompressobj(_RAW).decompress(body, most)
