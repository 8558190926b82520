"""Disk space for pictures and videos: a person's quota, and what stays free."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from socialsite.core import ids
from socialsite.core.errors import DISK_FULL, PayloadTooLarge, Unavailable
from socialsite.core.models import Media

logger = logging.getLogger(__name__)

# Bytes of one person's files. The last pictures below it may exceed it, as may concurrent ones.
QUOTA_BYTES = 1024**3
# Smaller for an account younger than NEW_DAYS, because many accounts are quickly created.
NEW_QUOTA_BYTES = 100 * 1024**2
NEW_DAYS = 7
DAY_MS = 24 * 60 * 60 * 1000
# An operator has to free space, so clients need not retry soon.
RETRY_SECONDS = 600

_USED_UP = _("You have used all your space for pictures and videos.")
_NEW_USED_UP = _(
    "You have used all the space that a new account has for pictures and videos. You get more when"
    " your account is a week old."
)
_DISK_FULL = _(
    "The site has no space for more files at the moment. Please try again later, or publish"
    " without them."
)


def check(owner_id: int, adding: int = 0) -> None:
    """Raise Unavailable if the disk is nearly full, PayloadTooLarge if a quota is used up.

    A file of `adding` bytes must still fit into both.
    """
    check_free(adding)
    used = Media.objects.filter(owner_id=owner_id).aggregate(total=Sum("size"))["total"] or 0
    # An id contains the time of its creation.
    is_new = time.time() * 1000 - ids.ms_of(owner_id) < NEW_DAYS * DAY_MS
    quota = NEW_QUOTA_BYTES if is_new else QUOTA_BYTES
    if used >= quota or used + adding > quota:
        raise PayloadTooLarge(_NEW_USED_UP if is_new else _USED_UP)


def check_free(adding: int = 0) -> None:
    """Raise Unavailable if the disk is nearly full, or would be with so many bytes more."""
    if is_disk_full(adding):
        logger.warning("disk nearly full; upload refused, %.1f %% free", 100 * free_share())
        raise _no_room()


def free_share(adding: int = 0) -> float:
    """Return the share of MEDIA_ROOT's disk that this process may still use, 0 to 1.

    It is the smaller of two shares: space, with `adding` bytes less, and number of files. A file
    system that does not count one of them reports 0 of 0.
    """
    path = Path(settings.MEDIA_ROOT)
    while not path.exists():  # the first picture creates it
        path = path.parent
    disk = os.statvfs(path)
    free = max(0, disk.f_bavail - adding // disk.f_frsize)
    shares = ((free, disk.f_blocks), (disk.f_favail, disk.f_files))
    return min((free / total for free, total in shares if total), default=1.0)


def is_disk_full(adding: int = 0) -> bool:
    """Return True if less than MEDIA_MIN_FREE_PERCENT would be free; never if that is 0."""
    least = settings.MEDIA_MIN_FREE_PERCENT
    return least > 0 and free_share(adding) * 100 < least


@contextlib.contextmanager
def room() -> Iterator[None]:
    """Raise Unavailable if the block fails because the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL:
            logger.error("disk full; upload refused: %s", error)
            raise _no_room() from None
        raise


def _no_room() -> Unavailable:
    return Unavailable(_DISK_FULL, retry_after=RETRY_SECONDS)
