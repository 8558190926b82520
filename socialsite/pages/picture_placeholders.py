"""Placeholders of pictures as classes of the stylesheet.

The colours of the four corners are twelve classes, one for each channel of each corner: a letter
from a to l and a hexadecimal digit. `static/css/site.css` makes a background of them.
"""

from functools import lru_cache
from string import ascii_lowercase

import blurhash
from markupsafe import Markup

# Rows and columns of the decoded picture, of which those in the middle of each quarter are used.
_SIZE = 4
_QUARTERS = ((1, 1), (1, 3), (3, 1), (3, 3))
_STEP = 17  # of a channel: sixteen of them


@lru_cache(4096)
def placeholder(encoded: str) -> Markup:
    """Return the attribute `class` of a picture's element, with a space before it; "" for none."""
    if not encoded:
        return Markup("")
    pixels = blurhash.decode(encoded, _SIZE, _SIZE)
    channels = [channel for row, column in _QUARTERS for channel in pixels[row][column]]
    names = " ".join(
        f"{letter}{round(channel / _STEP):x}"
        for letter, channel in zip(ascii_lowercase, channels, strict=False)
    )
    return Markup(' class="ph {}"').format(names)
