"""A few colours of a picture, which fill its place until it is loaded.

A placeholder is a BlurHash, a short text that clients of the API can draw. Pages show it by classes
of the stylesheet (`pages.picture_placeholders`), since the content policy forbids styles.
Pictures with transparency have none, because it would shine through them.
"""

import logging

import blurhash
from django.db.models import QuerySet
from PIL import Image

from socialsite.core.media import stored_files
from socialsite.core.models import Media

logger = logging.getLogger(__name__)

# Waves across and down: 4 + 2 * 4 * 3 characters.
ACROSS, DOWN = 4, 3
# The encoder is written in Python. More pixels do not change what so few waves show.
SIDE = 24
# Pictures read in one step of `add`.
STEP = 100


def of_image(image: Image.Image) -> str:
    """Return the placeholder of a decoded picture; "" if it has transparency."""
    if image.mode != "RGB":
        return ""
    small = image.resize((SIDE, SIDE), Image.Resampling.BOX)
    channels = iter(small.tobytes())
    pixels = list(zip(channels, channels, channels, strict=True))
    rows = [pixels[start : start + SIDE] for start in range(0, len(pixels), SIDE)]
    encoded: str = blurhash.encode(rows, ACROSS, DOWN)
    return encoded


def add(after: int) -> tuple[list[int], int]:
    """Compute the placeholders of the next stored pictures without one, above the id `after`.

    Returns the ids of the pictures that were read, none at the end, and how many have one now. A
    picture whose file is missing or has transparency stays without one.
    """
    rows = list(lacking().filter(pk__gt=after).order_by("pk")[:STEP])
    made = 0
    for row in rows:
        try:
            with stored_files.opened(row.thumb_name) as file, Image.open(file) as image:
                found = of_image(image)
        except OSError:
            logger.warning("picture %s cannot be read; it has no placeholder", row.pk)
            continue
        made += Media.objects.filter(pk=row.pk).update(placeholder=found)
    return [row.pk for row in rows], made


def lacking() -> "QuerySet[Media]":
    """Return the pictures, and the videos with a poster, that could have one and have none."""
    without = Media.objects.filter(placeholder="").exclude(thumb_name="")
    return without.exclude(name__endswith=".webp")
