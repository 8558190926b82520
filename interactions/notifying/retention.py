"""Deletes old notifications, in bounded steps."""

from datetime import timedelta
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Q

from interactions.models import Notification, NotificationCause
from interactions.notifying.fold import locked_reader
from socialsite.core import db

STEP = 500


def prune() -> int:
    """Delete up to STEP groups that were read, or have no causes left; return how many.

    Only groups without a change for NOTIFICATION_DAYS. Unread ones stay.
    """
    before = db.now_ms() - int(timedelta(days=settings.NOTIFICATION_DAYS).total_seconds() * 1000)
    old = Notification.objects.filter(is_unread=False, touched_at__lt=before)
    users: dict[int, list[int]] = {}
    for user_id, ident in old.order_by("touched_at").values_list("user_id", "pk")[:STEP]:
        users.setdefault(user_id, []).append(ident)
    return sum(_prune(user_id, idents, before) for user_id, idents in users.items())


@db.atomic
def _prune(user_id: int, idents: list[int], before: int) -> int:
    """Delete groups of one reader and their causes, except those that are changing."""
    if locked_reader(user_id) is None:
        return 0
    groups = Notification.objects.select_for_update().filter(
        pk__in=idents, is_unread=False, touched_at__lt=before
    )
    keys = {(group.kind, group.subject_id): group.pk for group in groups}
    if not keys:
        return 0
    which = reduce(or_, [Q(kind=kind, subject_id=subject) for kind, subject in keys])
    causes = NotificationCause.objects.filter(which, user_id=user_id)
    changing = causes.filter(due__isnull=False).values_list("kind", "subject_id").distinct()
    for key in changing:
        keys.pop(key, None)
    if keys:
        which = reduce(or_, [Q(kind=kind, subject_id=subject) for kind, subject in keys])
        NotificationCause.objects.filter(which, user_id=user_id, due__isnull=True).delete()
        Notification.objects.filter(pk__in=list(keys.values())).delete()
    return len(keys)
