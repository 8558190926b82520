"""Bodies of other sites: what they stand for, and no more than the limit."""

import gzip
import zlib

import pytest

from socialsite.core.client import compression

pytestmark = pytest.mark.once

MOST = 10_000
TEXT = b"a page " * 100


def test_nothing_is_made_beyond_the_limit() -> None:
    for coding, body in (
        ("gzip", gzip.compress(bytes(10_000_000))),
        ("gzip", gzip.compress(bytes(6000)) * 3),
        ("deflate", zlib.compress(bytes(10_000_000))),
        ("gzip, gzip", gzip.compress(gzip.compress(bytes(10_000_000)))),
        ("", bytes(20_000)),
    ):
        assert compression.decompressed(body, coding, MOST) == bytes(MOST), coding


def test_members_are_joined_up_to_a_number() -> None:
    assert compression.decompressed(gzip.compress(b"ab") * 3, "gzip", MOST) == b"ababab"
    many = gzip.compress(b"") * (compression.MEMBERS_MAX + 1) + gzip.compress(b"far")
    assert compression.decompressed(many, "gzip", MOST) == b""


def test_what_follows_the_end_does_not_count() -> None:
    assert compression.decompressed(gzip.compress(TEXT) + b"rest", "gzip", MOST) == TEXT
    assert compression.decompressed(zlib.compress(TEXT) + b"rest", "deflate", MOST) == TEXT


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, gzip, gzip", "g zip", "*"])
def test_other_codings_are_not_read(coding: str) -> None:
    assert compression.decompressed(gzip.compress(TEXT), coding, MOST) is None


@pytest.mark.parametrize("coding", ["gzip", "deflate", "x-gzip"])
@pytest.mark.parametrize("body", [b"<title>plain</title>", b"\x1f\x8b\x08", b""])
def test_what_is_not_compressed_is_empty_or_refused(coding: str, body: bytes) -> None:
    assert not compression.decompressed(body, coding, MOST)


@pytest.mark.parametrize("coding", ["", "identity", "IDENTITY , ", ","])
def test_without_a_coding_a_body_stays(coding: str) -> None:
    assert compression.decompressed(TEXT, coding, MOST) == TEXT


def test_the_beginning_of_a_cut_body_is_read() -> None:
    body = gzip.compress(bytes(range(256)) * 20, compresslevel=1)
    whole = compression.decompressed(body, "gzip", MOST)
    part = compression.decompressed(body[: len(body) // 2], "gzip", MOST)
    assert whole
    assert part
    assert whole.startswith(part)
    assert len(part) < len(whole)
