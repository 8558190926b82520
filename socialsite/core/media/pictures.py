"""Pictures that people upload: checked, re-encoded, kept under random names below MEDIA_ROOT.

Who may see a picture is decided by the apps that refer to it.

Uploaded bytes are never served. A file is decoded from one of four formats, and only its pixels are
encoded again. This removes other formats hidden in the file (HTML, a script, an archive: a
polyglot), EXIF data such as the location, colour profiles and trailing data. Size, dimensions and
the parts of the file (`media.parts`) are checked before decoding. A process decodes one picture at
a time, so that memory stays bounded.

Opaque pictures become JPEG, which encodes in a third of WEBP's time at the same quality. Pictures
with transparency become WEBP, because JPEG does not support transparency.
"""

import contextlib
import io
import logging
import mimetypes
import secrets
import threading
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import IO, NamedTuple

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageCms, ImageOps, PngImagePlugin

from socialsite.core.http.errors import InvalidInput, PayloadTooLarge, UnsupportedMedia
from socialsite.core.http.server import turns
from socialsite.core.media import files, parts, placeholders, space, usage
from socialsite.core.models import Media

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
# A decoded picture takes up to 200 MB, hence one at a time; after a timeout the client has to
# retry.
DECODERS = 1
WAIT_SECONDS = 10

TOO_LARGE = _(
    "A picture may have at most 10 MB, 16,384 pixels on each side and 25 megapixels"
    " (WEBP and CMYK: 8)."
)
TOO_MUCH_WORK = _(
    "Together these pictures are too large. Please publish fewer or smaller ones at once."
)
NOT_A_PICTURE = _("This is not a JPEG, PNG, WEBP or GIF picture.")
_NO_SUCH = _("There is no such picture of yours.")

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)
# Pillow warns about each odd tag in EXIF, and a file has up to 65,000. The warnings fill the log
# and memory, as Python remembers every text.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
# Maximum for all texts of a file: Pillow unpacks them and keeps up to four bytes a character.
PngImagePlugin.MAX_TEXT_MEMORY = 8 * 1024 * 1024
mimetypes.add_type("image/webp", ".webp")  # Python 3.11 does not know it

_decoders = threading.BoundedSemaphore(DECODERS)
_SRGB = ImageCms.createProfile("sRGB")
# Profiles may contain any number of calculations of 8 bytes each, and all are run 36,000 times. No
# camera writes them; such pictures are treated as sRGB.
_ELEMENTS = b"mpet"
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
    """A re-encoded picture and its thumbnail, not written yet; dimensions in pixels."""

    name: str
    thumb_name: str
    width: int
    height: int
    data: bytes
    thumb: bytes
    placeholder: str


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
        self.left -= pixels + pixels * scans // parts.MAX_JPEG_SCANS
        if self.left < 0:
            raise PayloadTooLarge(TOO_MUCH_WORK)


# --- keeping ------------------------------------------------------------------------------------
def store_all(
    owner_id: int, uploads: Sequence[tuple[IO[bytes], str]], shapes: Sequence[Shape] = ()
) -> list[Media]:
    """Check, re-encode and store uploaded pictures with their thumbnails, each with its `alt`.

    `shapes`, if given, has the shape of each picture.

    They are stored in order; if one fails, none is. Decoding takes up to seconds: call it outside
    of transactions. Raises PayloadTooLarge (bytes, pixels, quota), UnsupportedMedia, InvalidInput
    (`alt`), Unavailable.
    """
    if not uploads:
        return []
    texts = [clean_alt(alt) for _file, alt in uploads]
    check_space(owner_id)
    work = Work()
    with turns.slow(turns.UPLOAD, owner_id):
        pictures = [
            encode(upload_file, owner_id, work, shape)
            for (upload_file, _alt), shape in zip_longest(uploads, shapes)
        ]
    kept: list[Media] = []
    try:
        for picture, text in zip(pictures, texts, strict=True):
            with no_orphans(picture):
                kept.append(store(owner_id, picture, text))
    except BaseException:
        # Otherwise each retry on a full disk leaves pictures there until the sweep.
        discard(kept)
        raise
    return kept


def check_space(owner_id: int) -> None:
    """Raise like `space.check`, but make room for more pictures first if that is possible."""
    try:
        space.check(owner_id)
    except PayloadTooLarge:
        if not usage.make_room(owner_id):
            raise
        space.check(owner_id)


def discard(items: Iterable[Media]) -> None:
    """Remove pictures that were just stored, unless they are used; the sweep repeats a failure."""
    for item in items:
        with contextlib.suppress(DatabaseError):
            usage.drop_unused(Media.objects.filter(pk=item.pk).select_for_update())


def store(owner_id: int, picture: Picture, alt: str) -> Media:
    """Write the files of a picture, then its row; safe to repeat with the same picture."""
    with space.room():
        files.write(picture.name, picture.data)
        files.write(picture.thumb_name, picture.thumb)
    with transaction.atomic():
        return Media.objects.create(
            owner_id=owner_id,
            name=picture.name,
            thumb_name=picture.thumb_name,
            width=picture.width,
            height=picture.height,
            size=len(picture.data) + len(picture.thumb),
            alt=alt,
            placeholder=picture.placeholder,
        )


@contextlib.contextmanager
def no_orphans(picture: Picture) -> Iterator[None]:
    """Remove the files if the block fails and no row names them."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(DatabaseError):
            if not Media.objects.filter(name=picture.name).exists():
                for name in (picture.name, picture.thumb_name):
                    files.remove(name)
        raise


def clean_alt(text: str) -> str:
    """Return a description in one line without control characters.

    Raises InvalidInput if it is too long.
    """
    words = " ".join(
        "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text).split()
    )
    if len(words) > Media.ALT_MAX:
        message = _("At most %(limit)s characters.") % {"limit": Media.ALT_MAX}
        raise InvalidInput(fields={"alt": [message]})
    return words


# --- reading ------------------------------------------------------------------------------------
def by_ids(owner_id: int, ids: Sequence[int]) -> list[Media]:
    """Return a person's pictures in the given order; raises InvalidInput if one is not theirs."""
    if not ids:
        return []
    found = Media.objects.filter(owner_id=owner_id, is_video=False).in_bulk(list(ids))
    if any(ident not in found for ident in ids):
        raise InvalidInput(fields={"images": [_NO_SUCH]})
    return [found[ident] for ident in ids]


def own(owner_id: int, ids: Sequence[int]) -> list[Media]:
    """Return those of the pictures that are the person's, in the given order."""
    rows = Media.objects.filter(owner_id=owner_id, is_video=False)
    found = rows.in_bulk(list(ids)) if ids else {}
    return [found[ident] for ident in dict.fromkeys(ids) if ident in found]


def describe(items: Iterable[Media], texts: Mapping[int, str]) -> None:
    """Set the descriptions of pictures, by their ids; raises InvalidInput if one is too long."""
    wanted = {ident: clean_alt(text) for ident, text in texts.items()}
    for item in items:
        alt = wanted.get(item.pk, item.alt)
        if alt != item.alt:
            item.alt = alt
            item.save(update_fields=["alt"])


def use(owner_id: int, ids: Collection[int]) -> None:
    """Mark a person's pictures and videos as used, in the transaction that uses them.

    Raises InvalidInput if the sweep has removed one since it was looked up.
    """
    found = Media.objects.filter(owner_id=owner_id, pk__in=set(ids))
    if ids and found.update(is_used=True) != len(set(ids)):
        raise InvalidInput(fields={"images": [_NO_SUCH]})
    usage.changed(owner_id, set(ids))


def release(owner_id: int, *, ids: Collection[int] = (), file_names: Collection[str] = ()) -> None:
    """Publish that one use of a person's pictures has ended, in its transaction.

    Other uses may remain: the event's handler checks them before it removes a picture.
    """
    names = [name for name in file_names if name]  # a video without a poster has no thumbnail
    which = Q(pk__in=set(ids)) | Q(name__in=names) | Q(thumb_name__in=names)
    found = Media.objects.filter(which, owner_id=owner_id)
    released = list(found.values_list("pk", flat=True))
    found.update(is_used=False)
    usage.changed(owner_id, released)


def url_of(name: str) -> str:
    """Return the URL of a stored file; "" for no file."""
    return settings.MEDIA_URL + name if name else ""


# --- decoding and encoding ----------------------------------------------------------------------
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
    with turns.worker(turns.UPLOAD, _decoders, WAIT_SECONDS, owner_id):
        # Read only now: while a request waits for the decoder, its file stays on disk, not in
        # memory.
        raw = upload_file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise PayloadTooLarge(TOO_LARGE)
        image = _decode(raw, work or Work())
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
            placeholder=placeholders.of_image(image),
        )


def _decode(raw: bytes, work: Work) -> Image.Image:
    """Return the first frame, upright, in sRGB, at most SIDE long, as RGB or RGBA."""
    try:
        scans = parts.check(raw)
        # Lazy: this reads the header only.
        source = Image.open(parts.Reader(raw), formats=FORMATS)
        if max(source.size) > MAX_SIDE or source.width * source.height > _pixels_allowed(source):
            raise PayloadTooLarge(TOO_LARGE)
        work.spend(source.width * source.height, scans)
        # Lets the JPEG decoder scale by 2, 4 or 8, if the result is still large enough.
        source.draft(None, (SIDE, SIDE))
        orientation = source.getexif().get(_ORIENTATION, 1)
        profile = source.info.get("icc_profile")
        image = _reduced(source)
        source.close()
        image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        image = _plain(image, profile)
        if orientation in _TURNS:
            image = image.transpose(_TURNS[orientation])
        image.info.clear()
        return image
    except PayloadTooLarge:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PayloadTooLarge(TOO_LARGE) from None
    except Exception as error:  # decoders raise anything for hostile bytes
        logger.debug("upload refused: %r", error)
        raise UnsupportedMedia(NOT_A_PICTURE) from None


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
    mode = "RGBA" if source.has_transparency_data else source.mode
    if mode != "RGBA" and mode not in ("RGB", "CMYK"):
        mode = "RGB"
    width, height = source.size
    small = Image.new(mode, (-(-width // factor), -(-height // factor)))
    for top in range(0, height, BAND * factor):
        band = source.crop((0, top, width, min(top + BAND * factor, height)))
        if band.mode.startswith("I"):  # 16 bits a pixel: Pillow would clip values above 255
            band = band.convert("I").point(lambda value: value * (1 / 256)).convert("L")
        small.paste(band.convert(mode).reduce(factor), (0, top // factor))
    return small


def _plain(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return the picture in sRGB, as RGB unless something is transparent."""
    if profile and _ELEMENTS not in profile and image.mode in ("RGB", "CMYK"):
        with contextlib.suppress(ImageCms.PyCMSError, OSError):
            given = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            image = ImageCms.profileToProfile(image, given, _SRGB, outputMode="RGB") or image
    if image.mode == "RGBA" and image.getchannel("A").getextrema() != (255, 255):
        return image
    return image.convert("RGB")


def _bytes_of(image: Image.Image) -> bytes:
    out = io.BytesIO()
    if image.mode == "RGBA":
        image.save(out, "WEBP", quality=WEBP_QUALITY, method=2)
    else:
        image.save(out, "JPEG", quality=JPEG_QUALITY, progressive=True, optimize=True)
    return out.getvalue()
