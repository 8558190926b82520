"""The logo of the site in the sizes that browsers ask for, as PNG.

Uploaded bytes are decoded as those of all pictures are (`encoding`).
"""

import io
from collections.abc import Mapping
from typing import IO

from PIL import Image, ImageOps

from socialsite.core.media import encoding

# Name → side in pixels. Icons of apps are opaque, since phones put them on any colour, and what is
# outside of the middle of a maskable one may be cut off.
SIDES: Mapping[str, int] = {"192": 192, "512": 512, "touch": 180, "maskable": 512}
_OPAQUE = {"touch": 0.8, "maskable": 0.6}
_WHITE = (255, 255, 255, 255)


def made_of(upload_file: IO[bytes], owner_id: int | str = "") -> dict[str, bytes]:
    """Return name → PNG of an uploaded picture; raises as `encoding.encode`."""
    with encoding.decoded(upload_file, owner_id) as (image, _is_animated):
        logo = image.convert("RGBA")
    return {name: _png(logo, side, _OPAQUE.get(name)) for name, side in SIDES.items()}


def _png(logo: Image.Image, side: int, share: float | None) -> bytes:
    """Return the whole logo in a square; with a `share`, that much of a white one."""
    inner = side if share is None else round(side * share)
    contained = ImageOps.contain(logo, (inner, inner), Image.Resampling.LANCZOS)
    square = Image.new("RGBA", (side, side), (0, 0, 0, 0) if share is None else _WHITE)
    place = (side - contained.width) // 2, (side - contained.height) // 2
    square.alpha_composite(contained, place)
    out = io.BytesIO()
    square.save(out, "PNG", optimize=True)
    return out.getvalue()
