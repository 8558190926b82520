"""Colours of a decoded picture, converted by the colour profile of its file to sRGB.

Files are stored without a profile, and browsers show such pictures as sRGB.

A PNG may describe its colours by the chunks gAMA and cHRM instead of a profile; these are not
applied.
"""

import contextlib
import io

from PIL import Image, ImageChops, ImageCms

_SRGB = ImageCms.createProfile("sRGB")
# Profiles may contain any number of calculations of 8 bytes each, and all are run 36,000 times. No
# camera writes them; such pictures are treated as sRGB.
_ELEMENTS = b"mpet"
# The bytes of a profile that name its colour space, and the mode of pixels in that space.
_SPACE = slice(16, 20)
_MODES = {b"RGB ": "RGB", b"GRAY": "L", b"CMYK": "CMYK"}


def working_mode(source: Image.Image) -> str:
    """Return the mode for a file's pixels, with the same colours: L, LA, RGB, RGBA or CMYK."""
    if source.mode == "CMYK":
        return source.mode
    colours = "L" if source.mode.startswith(("1", "I", "L")) else "RGB"
    return colours + "A" if source.has_transparency_data else colours


def in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return a picture in a working mode as RGB in sRGB, or as RGBA if something is transparent.

    The transparency stays as it is. A profile that is broken or for other colours is ignored.
    """
    if not image.mode.endswith("A"):
        return _opaque(image, profile)
    alpha = image.getchannel("A")
    made = _opaque(image.convert(image.mode.removesuffix("A")), profile)
    if alpha.getextrema() != (255, 255):
        made.putalpha(alpha)
    return made


def _opaque(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return an L, RGB or CMYK picture as RGB in sRGB."""
    if profile and _ELEMENTS not in profile:
        mode = _MODES.get(profile[_SPACE])
        if mode == "L" and _is_gray(image):  # Pillow reads 16 bits with alpha as RGBA
            image = image.getchannel(0)
        # A gray picture may have a profile for RGB: browsers apply it too.
        if mode == image.mode or (image.mode, mode) == ("L", "RGB"):
            with contextlib.suppress(ImageCms.PyCMSError, OSError):
                given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
                image = image.convert(mode)
                image = ImageCms.profileToProfile(image, given, _SRGB, outputMode="RGB") or image
    return image.convert("RGB")


def _is_gray(image: Image.Image) -> bool:
    """Return whether the three channels of an RGB picture are equal."""
    if image.mode != "RGB":
        return False
    red, *others = image.split()
    return all(ImageChops.difference(red, one).getbbox() is None for one in others)
