"""Mark notifications as read, and choose whose actions to be notified about."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Case, When
from django.utils.translation import gettext_lazy as _

from accounts import live_hints
from interactions.cache import invalidate_unread
from interactions.kinds import CHOICES, CHOOSABLE, VALUES
from interactions.models import Notification, NotificationReader
from interactions.notifying import fold
from socialsite.core import db
from socialsite.core.errors import InvalidInput

if TYPE_CHECKING:
    from accounts.models import User


@db.atomic
def read_notifications(
    user: "User",
    until_ms: int | None = None,
    ids: Collection[int] | None = None,
    kind: str | None = None,
) -> None:
    """Mark notifications as read: all, those up to `until_ms`, those in `ids`, those of a kind.

    Read marks only rise, so two devices cannot undo each other's. They stay at or below the last
    assigned position: later notifications are unread, whatever time was given (T49, T50).
    """
    readers = NotificationReader.objects.filter(pk=user.pk)
    last = readers.values_list("last_position", flat=True).first() or 0
    until = last if until_ms is None else min(until_ms, last)
    unread = Notification.objects.filter(user_id=user.pk, is_unread=True, read_position__lt=until)
    if ids is not None:
        unread = unread.filter(pk__in=ids)
    if kind is not None:
        unread = unread.filter(kind__in=VALUES[kind])
    # Also groups above that time: if their newest actors leave, the others count as read.
    newer = Case(When(position__gt=until, then=True), default=False)
    if unread.update(read_position=until, is_unread=newer):
        transaction.on_commit(partial(_notify, user.pk), robust=True)


@db.atomic
def choose_notifications(user: "User", choices: Mapping[str, str]) -> None:
    """Set whose actions notify the person, for the given kinds; applies from now on.

    Raises InvalidInput for an unknown kind or choice.
    """
    for name, choice in choices.items():
        if name not in CHOOSABLE:
            raise InvalidInput(fields={name: [_("There is no such kind of notification.")]})
        if choice not in CHOICES:
            raise InvalidInput(fields={name: [_("Must be everyone, following or nobody.")]})
    db.ensure(NotificationReader(pk=user.pk))
    reader = NotificationReader.objects.select_for_update().get(pk=user.pk)
    reader.preferences |= choices
    reader.save(update_fields=["preferences"])


@db.atomic
def choose_pushed(user: "User", pushed: Mapping[str, bool]) -> None:
    """Set for the given kinds whether their notifications are pushed; applies from now on.

    Raises InvalidInput for an unknown kind.
    """
    for name, value in pushed.items():
        if name not in CHOOSABLE:
            raise InvalidInput(fields={name: [_("There is no such kind of notification.")]})
        if not isinstance(value, bool):
            raise InvalidInput(fields={name: [_("Must be true or false.")]})
    db.ensure(NotificationReader(pk=user.pk))
    reader = NotificationReader.objects.select_for_update().get(pk=user.pk)
    now = {name: name not in reader.not_pushed for name in CHOOSABLE} | dict(pushed)
    reader.not_pushed = [name for name, value in now.items() if not value]
    reader.save(update_fields=["not_pushed"])


def _notify(user_id: int) -> None:
    """Notify the person's other pages and devices."""
    invalidate_unread([user_id])
    live_hints.push([user_id], fold.HINT)
