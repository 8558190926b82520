"""Mark notifications as read, and choose whose doings to hear of."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from accounts import sockets
from interactions.cache import forget_unread
from interactions.models import Notification, NotificationReader
from interactions.notifying import fold
from interactions.notifying.kinds import CHOICES, CHOOSABLE
from socialsite.core import db
from socialsite.core.errors import InvalidInput

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def read_notifications(
    user: "User", until_ms: int | None = None, ids: Collection[int] | None = None
) -> int:
    """Mark as read what is there: all of it, or what is not newer than `until_ms`, or of `ids`.

    Each group is marked up to where it is now, so marks only ever rise, two devices cannot take
    each other's back, and what arrives later is unread whatever time was named (T49, T50). Returns
    how many became read.
    """
    unread = Notification.objects.filter(user_id=user.pk, is_unread=True)
    if until_ms is not None:
        unread = unread.filter(position__lte=until_ms)
    if ids is not None:
        unread = unread.filter(pk__in=ids)
    count = unread.update(read_position=F("position"), is_unread=False)
    if count:
        transaction.on_commit(partial(_tell, user.pk), robust=True)
    return count


@db.atomic
def choose_notifications(user: "User", choices: Mapping[str, str]) -> None:
    """Set whose doings the person wants to hear of, for the kinds named; it counts from now on.

    Raises InvalidInput for what is no kind or no choice.
    """
    for name, choice in choices.items():
        if name not in CHOOSABLE:
            raise InvalidInput(fields={name: [_("There is no such kind of notification.")]})
        if choice not in CHOICES:
            raise InvalidInput(fields={name: [_("Must be everyone, following or nobody.")]})
    reader = fold.locked_reader(user.pk, wait=True)
    preferences = {**(reader.preferences if reader else {}), **choices}
    NotificationReader.objects.filter(pk=user.pk).update(preferences=preferences)


def _tell(user_id: int) -> None:
    """Tell the person's other pages and devices."""
    forget_unread([user_id])
    sockets.push([user_id], fold.HINT)
