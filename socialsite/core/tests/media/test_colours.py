"""Colour profiles: applied in every mode of every format, and ignored if they do not fit."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from socialsite.core.media import encoding
from socialsite.core.tests.media import profiles
from socialsite.tests.support.pictures import encoded

pytestmark = pytest.mark.once

WIDE, LINEAR, INKS = profiles.of_light(2.2), profiles.of_grays(1.0), profiles.of_inks()
GREEN, GREEN_IN_SRGB = (60, 200, 60), (0, 205, 0)
GRAY, GRAY_IN_SRGB = 77, (149, 149, 149)
SIZE = (32, 16)
# The lossy formats change colours by a few steps.
STEPS = 6


def with_alpha(mode: str, colour: Any) -> Image.Image:
    """Return a picture whose transparency grows from the left to the right."""
    image = Image.new(mode.removesuffix("A"), SIZE, colour)
    image.putalpha(Image.linear_gradient("L").rotate(90).resize(SIZE))
    assert image.mode == mode
    return image


def of_a_palette() -> Image.Image:
    """Return a picture that is green, and black on the right."""
    image = Image.new("P", SIZE)
    image.putpalette([*GREEN, 0, 0, 0])
    image.paste(1, (SIZE[0] // 2, 0, *SIZE))
    return image


# Return a file of this format and mode, with the given profile or, for b"", without one.
Make = Callable[[bytes], bytes]
GREENS: dict[str, Make] = {
    "png RGB": lambda icc: encoded(Image.new("RGB", SIZE, GREEN), icc_profile=icc),
    "png RGBA": lambda icc: encoded(with_alpha("RGBA", GREEN), icc_profile=icc),
    "png RGBA opaque": lambda icc: encoded(Image.new("RGBA", SIZE, GREEN), icc_profile=icc),
    "png P": lambda icc: encoded(of_a_palette(), icc_profile=icc),
    "png P transparent": lambda icc: encoded(of_a_palette(), transparency=1, icc_profile=icc),
    "png RGB of a colour key": lambda icc: encoded(
        of_a_palette().convert("RGB"), transparency=(0, 0, 0), icc_profile=icc
    ),
    "jpeg RGB": lambda icc: encoded(
        Image.new("RGB", SIZE, GREEN), "JPEG", quality=95, icc_profile=icc
    ),
    "webp RGB": lambda icc: encoded(
        Image.new("RGB", SIZE, GREEN), "WEBP", lossless=True, icc_profile=icc
    ),
    "webp RGBA": lambda icc: encoded(
        with_alpha("RGBA", GREEN), "WEBP", lossless=True, exact=True, icc_profile=icc
    ),
}


def gray_of_16_bits(icc: bytes) -> bytes:
    """Return a PNG of the colour type 4, which Pillow reads as RGBA and cannot write."""
    width, height = SIZE
    row = b"\0" + struct.pack(">HH", GRAY * 257, 128 * 257) * width

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    profile = chunk(b"iCCP", b"p\0\0" + zlib.compress(icc)) if icc else b""
    head = struct.pack(">IIBBBBB", width, height, 16, 4, 0, 0, 0)
    parts = chunk(b"IHDR", head), profile, chunk(b"IDAT", zlib.compress(row * height))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


GRAYS: dict[str, Make] = {
    "png L": lambda icc: encoded(Image.new("L", SIZE, GRAY), icc_profile=icc),
    "png LA": lambda icc: encoded(with_alpha("LA", GRAY), icc_profile=icc),
    "png LA opaque": lambda icc: encoded(Image.new("LA", SIZE, (GRAY, 255)), icc_profile=icc),
    "png L of a key": lambda icc: encoded(
        Image.new("L", SIZE, GRAY), transparency=9, icc_profile=icc
    ),
    "png of 16 bits and alpha": gray_of_16_bits,
    "png I;16": lambda icc: encoded(Image.new("I;16", SIZE, GRAY * 257), icc_profile=icc),
    "jpeg L": lambda icc: encoded(Image.new("L", SIZE, GRAY), "JPEG", quality=95, icc_profile=icc),
}


def inks(profile: bytes) -> bytes:
    return encoded(Image.new("CMYK", SIZE, (0, 99, 0, 0)), "JPEG", icc_profile=profile)


def stored(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(encoding.encode(io.BytesIO(data)).data))
    assert "icc_profile" not in image.info
    return image


def colour_of(data: bytes) -> Any:
    """Return a colour of the stored picture, where the given ones are the least transparent."""
    image = stored(data).convert("RGBA")
    pixels: list[Any] = [image.getpixel((x, SIZE[1] // 2)) for x in (3, SIZE[0] - 4)]
    return max(pixels, key=lambda pixel: pixel[3])[:3]


def near(colour: Any, expected: tuple[int, int, int]) -> bool:
    return all(abs(a - b) <= STEPS for a, b in zip(colour, expected, strict=True))


@pytest.mark.parametrize("name", GREENS)
def test_a_wide_gamut_is_brought_to_srgb_in_every_mode(name: str) -> None:
    assert near(colour_of(GREENS[name](WIDE)), GREEN_IN_SRGB)
    assert near(colour_of(GREENS[name](b"")), GREEN)


@pytest.mark.parametrize("name", GRAYS)
def test_grays_are_brought_to_srgb_in_every_mode(name: str) -> None:
    assert near(colour_of(GRAYS[name](LINEAR)), GRAY_IN_SRGB)
    assert near(colour_of(GRAYS[name](b"")), (GRAY, GRAY, GRAY))


@pytest.mark.parametrize("name", GRAYS)
def test_a_profile_for_rgb_applies_to_grays(name: str) -> None:
    assert near(colour_of(GRAYS[name](profiles.of_light(1.0))), GRAY_IN_SRGB)


def test_inks_are_brought_to_srgb() -> None:
    assert near(colour_of(inks(INKS)), GREEN_IN_SRGB)


@pytest.mark.parametrize("name", [name for name in {**GREENS, **GRAYS} if name.endswith("A")])
def test_a_profile_leaves_the_transparency(name: str) -> None:
    make, profile = (GREENS[name], WIDE) if name in GREENS else (GRAYS[name], LINEAR)
    expected = with_alpha("LA", GRAY).getchannel("A")
    assert stored(make(profile)).getchannel("A").tobytes() == expected.tobytes()


BROKEN = {
    "no profile": b"not a profile",
    "a header": WIDE[:128],
    "a profile without its curves": WIDE[:300],
    "a space that is not known": WIDE.replace(b"RGB ", b"\xff\xfe\0x"),
    "no tags": profiles.of_tags(b"RGB ", {}),
    "no tags for grays": profiles.of_tags(b"GRAY", {}),
    "an empty curve": profiles.of_tags(b"GRAY", {b"kTRC": b"curv"}),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_profile_is_ignored_in_every_mode(broken: str) -> None:
    for name, make in {**GREENS, **GRAYS, "jpeg CMYK": inks}.items():
        found, expected = colour_of(make(BROKEN[broken])), colour_of(make(b""))
        assert found == expected, name


def test_a_profile_for_other_colours_is_ignored() -> None:
    others: dict[bytes, dict[str, Make]] = {
        WIDE: {"jpeg CMYK": inks},
        LINEAR: {**GREENS, "jpeg CMYK": inks},
        INKS: {**GREENS, **GRAYS},
    }
    for profile, makes in others.items():
        for name, make in makes.items():
            assert colour_of(make(profile)) == colour_of(make(b"")), name
