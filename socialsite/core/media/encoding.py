"""Decoding of uploaded pictures, and their encoding as JPEG or WEBP.

Uploaded bytes are never served. A file is decoded from one of four formats, and only its pixels are
encoded again. This removes other formats hidden in the file (HTML, a script, an archive: a
polyglot), EXIF data such as the location, and trailing data. The colour profile is applied and
dropped (`media.colours`). Size, dimensions and the parts of the file (`media.picture_limits`) are
checked before decoding. A process decodes one picture at a time, so that memory stays bounded.

Opaque pictures become JPEG, which encodes in a third of WEBP's time at the same quality. Pictures
with transparency become WEBP, because JPEG does not support transparency.
"""

import contextlib
import io
import logging
import mimetypes
import secrets
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, NamedTuple

from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps, PngImagePlugin

from socialsite.core.errors import PayloadTooLarge, UnsupportedMedia
from socialsite.core.media import colours, picture_limits, picture_placeholders
from socialsite.core.runtime import concurrency

logger = logging.getLogger(__name__)

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
MAX_BYTES = 10 * 1024 * 1024
MAX_PIXELS = 25_000_000
# Width and height each: decoders and scaling keep several copies of a line.
MAX_SIDE = 16_384
# For WEBP and CMYK, whose decoders take 20 bytes a pixel instead of 4 to 8.
MAX_HEAVY_PIXELS = 8_000_000
SIDE, THUMB_SIDE = 2048, 480
BAND = 64
JPEG_QUALITY, WEBP_QUALITY = 85, 82
# Pixels of all pictures of one request; each scan of a JPEG adds a thirtieth. Nine progressive
# photos of 12 megapixels fit.
MAX_WORK = 160_000_000
# A decoded picture takes up to 200 MB, hence one at a time; after a timeout the client retries.
DECODERS, WAIT_SECONDS = 1, 10

TOO_LARGE = _(
    "A picture may have at most 10 MB, 16,384 pixels on each side and 25 megapixels"
    " (WEBP and CMYK: 8)."
)
TOO_MUCH_WORK = _(
    "Together these pictures are too large. Please publish fewer or smaller ones at once."
)
NOT_A_PICTURE = _("This is not a JPEG, PNG, WEBP or GIF picture.")

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)
# Pillow warns about each odd tag in EXIF, and a file has up to 65,000. The warnings fill the log
# and memory, as Python remembers every text.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
# Maximum for all texts of a file: Pillow unpacks them and keeps up to four bytes a character.
PngImagePlugin.MAX_TEXT_MEMORY = 8 * 1024 * 1024
mimetypes.add_type("image/webp", ".webp")  # Python 3.11 does not know it

_decoders = threading.BoundedSemaphore(DECODERS)
_ORIENTATION = 0x0112  # EXIF: the orientation of the camera
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A re-encoded picture and its thumbnail, not written yet; dimensions in pixels.

    `is_animated` says that the file has more frames, which are not kept.
    """

    name: str
    thumb_name: str
    width: int
    height: int
    data: bytes
    thumb: bytes
    placeholder: str
    is_animated: bool


class Shape(NamedTuple):
    """Proportions that a picture is cut to around its centre, and its maximum width in pixels."""

    across: int
    down: int
    width: int


AVATAR, BANNER = Shape(1, 1, THUMB_SIDE), Shape(3, 1, 1500)


class Work:
    """The decoding work left for the pictures of one request."""

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, pixels: int, scans: int) -> None:
        """Subtract one picture; raises PayloadTooLarge if too little is left."""
        self.left -= pixels + pixels * scans // picture_limits.MAX_JPEG_SCANS
        if self.left < 0:
            raise PayloadTooLarge(TOO_MUCH_WORK)


def encode(
    upload_file: IO[bytes],
    owner_id: int | str = "",
    work: Work | None = None,
    shape: Shape | None = None,
) -> Picture:
    """Decode an uploaded picture and encode it again under new random names; writes nothing.

    `work` is the budget that it shares with the other pictures of the request. With a `shape` it is
    cut around its centre.

    Raises PayloadTooLarge, UnsupportedMedia, and Unavailable if too many wait for the decoder.
    """
    with decoded(upload_file, owner_id, work) as (image, is_animated):
        if shape is not None:
            image = _cut(image, shape)
        stem = secrets.token_hex(16)
        extension = "webp" if image.mode == "RGBA" else "jpg"
        data = _bytes_of(image)
        width, height = image.size
        image.thumbnail((THUMB_SIDE, THUMB_SIDE), Image.Resampling.LANCZOS)
        return Picture(
            name=f"{stem[:2]}/{stem}.{extension}",
            thumb_name=f"{stem[:2]}/{stem}-s.{extension}",
            width=width,
            height=height,
            data=data,
            thumb=_bytes_of(image),
            placeholder=picture_placeholders.of_image(image),
            is_animated=is_animated,
        )


@contextlib.contextmanager
def decoded(
    upload_file: IO[bytes], owner_id: int | str = "", work: Work | None = None
) -> Iterator[tuple[Image.Image, bool]]:
    """Decode an uploaded picture for the block, during which no other one is decoded.

    Yields the first frame, upright, in sRGB, at most SIDE long, as RGB or RGBA; and whether there
    are more frames. Raises as `encode`.
    """
    with concurrency.worker(concurrency.UPLOAD, _decoders, WAIT_SECONDS, owner_id):
        # Read only now: while a request waits for the decoder, its file stays on disk, not in
        # memory.
        raw = upload_file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise PayloadTooLarge(TOO_LARGE)
        yield _decode(raw, work or Work())


def _decode(raw: bytes, work: Work) -> tuple[Image.Image, bool]:
    """Return the first frame, upright, in sRGB, at most SIDE long, as RGB or RGBA.

    The second value says whether there are more frames.
    """
    try:
        scans = picture_limits.check(raw)
        # Lazy: this reads the header only.
        source = Image.open(picture_limits.Reader(raw), formats=FORMATS)
        if max(source.size) > MAX_SIDE or source.width * source.height > _pixels_allowed(source):
            raise PayloadTooLarge(TOO_LARGE)
        work.spend(source.width * source.height, scans)
        # Lets the JPEG decoder scale by 2, 4 or 8, if the result is still large enough.
        source.draft(None, (SIDE, SIDE))
        orientation = source.getexif().get(_ORIENTATION, 1)
        profile = source.info.get("icc_profile")
        is_animated = _is_animated(source, raw)
        image = _reduced(source)
        source.close()
        image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        image = colours.in_srgb(image, profile)
        if orientation in _TURNS:
            image = image.transpose(_TURNS[orientation])
        image.info.clear()
        return image, is_animated
    except PayloadTooLarge:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PayloadTooLarge(TOO_LARGE) from None
    except Exception as error:  # decoders raise anything for hostile bytes
        logger.debug("upload refused: %r", error)
        raise UnsupportedMedia(NOT_A_PICTURE) from None


def _is_animated(source: Image.Image, raw: bytes) -> bool:
    if source.format == "GIF":  # Pillow would decode it to the second frame
        return picture_limits.is_animated_gif(raw)
    # Some photos are a JPEG of several pictures, which are no animation.
    return source.format in ("PNG", "WEBP") and getattr(source, "is_animated", False)


def _cut(image: Image.Image, shape: Shape) -> Image.Image:
    """Return the centre of an upright picture in this shape, never enlarged."""
    width = min(image.width, image.height * shape.across // shape.down, shape.width)
    size = max(1, width), max(1, width * shape.down // shape.across)
    return ImageOps.fit(image, size, Image.Resampling.LANCZOS)


def _pixels_allowed(source: Image.Image) -> int:
    heavy = source.format == "WEBP" or source.mode == "CMYK"
    return MAX_HEAVY_PIXELS if heavy else MAX_PIXELS


def _reduced(source: Image.Image) -> Image.Image:
    """Decode the picture into a mode that can be scaled, its longer side below 2 x SIDE.

    The result has only pixels: the metadata of the file is dropped. Works in bands: converting or
    averaging the whole would need memory for two or three copies.
    """
    source.load()
    factor = max(1, max(source.size) // SIDE)
    mode = colours.working_mode(source)
    width, height = source.size
    small = Image.new(mode, (-(-width // factor), -(-height // factor)))
    for top in range(0, height, BAND * factor):
        band = source.crop((0, top, width, min(top + BAND * factor, height)))
        if band.mode.startswith("I"):  # 16 bits a pixel: Pillow would clip values above 255
            band = band.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        small.paste(band.convert(mode).reduce(factor), (0, top // factor))
    return small


def _bytes_of(image: Image.Image) -> bytes:
    out = io.BytesIO()
    if image.mode == "RGBA":
        image.save(out, "WEBP", quality=WEBP_QUALITY, method=2)
    else:
        image.save(out, "JPEG", quality=JPEG_QUALITY, progressive=True, optimize=True)
    return out.getvalue()
