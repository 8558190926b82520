"""What staff tell everybody for a span of time, such as planned work on the site.

The settings of the site have the announcements of now, so a page knows without a query
whether it shows one. Which of them a person dismissed is asked for only then.
"""

import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

import orjson
from django.db import IntegrityError, transaction
from django.utils import timezone

from socialsite.core import db, site
from socialsite.core.cache import reads
from socialsite.core.cache.lease import LeaseCache
from socialsite.core.cache.packing import json_of
from socialsite.core.cache.reads import Values
from socialsite.core.errors import NotFound
from socialsite.core.models import Announcement, AnnouncementDismissal

# If a process dies between its commit and the deletion, a dismissed one is shown for so long.
DISMISSED = LeaseCache("dismissed", ttl_ms=600_000)


class Shown(NamedTuple):
    """An announcement as its reader sees it; times are Unix ms."""

    id: int
    text: str
    language: str
    starts_at: int
    ends_at: int


class Dismissed(Values[frozenset[int]]):
    """The announcements that people dismissed, by person."""

    cache = DISMISSED

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        """Read all of them, also of those that are over: staff may change their end."""
        rows = AnnouncementDismissal.objects.filter(user_id__in=idents)
        found: dict[int, list[int]] = {user_id: [] for user_id in idents}
        for user_id, announcement_id in rows.values_list("user_id", "announcement_id"):
            found[user_id].append(announcement_id)
        return {user_id: json_of(dismissed) for user_id, dismissed in found.items()}

    def decode(self, found: Mapping[int, bytes]) -> dict[int, frozenset[int]]:
        """Return the ids."""
        return {user_id: frozenset(orjson.loads(packed)) for user_id, packed in found.items()}


def current(here: site.Site, *, member: bool) -> list[Shown]:
    """Return what a member or a guest may see now, latest first."""
    now = time.time() * 1000
    found = []
    for one in here.announcements:
        if one.starts_at <= now < one.ends_at and (member or one.for_guests):
            language, text = site.in_own_language(one.texts)
            found.append(Shown(one.id, text, language, one.starts_at, one.ends_at))
    return found


def without_dismissed(shown: Collection[Shown], user_id: int) -> list[Shown]:
    """Return those that a person has not dismissed."""
    if not shown:
        return []
    read = Dismissed([user_id])
    reads.run(read)
    return [one for one in shown if one.id not in read.known[user_id]]


@db.atomic
def dismiss(user_id: int, announcement_id: int) -> None:
    """Show an announcement to a person no more; a repeat changes nothing. NotFound if it is over.

    One that is only for later cannot be dismissed either.
    """
    now = timezone.now()
    shown = Announcement.objects.filter(pk=announcement_id, starts_at__lte=now, ends_at__gt=now)
    if not shown.exists():
        raise NotFound
    try:
        AnnouncementDismissal.objects.get_or_create(
            user_id=user_id, announcement_id=announcement_id
        )
    except IntegrityError:  # it was deleted meanwhile
        raise NotFound from None
    transaction.on_commit(lambda: DISMISSED.invalidate([user_id]), robust=True)


def save(row: Announcement) -> None:
    """Store an announcement, in a transaction."""
    stored = site.stored()
    row.save()
    site.save(stored)


def delete(row: Announcement) -> None:
    """Delete an announcement, in a transaction."""
    stored = site.stored()
    # Whoever dismisses it now waits, and finds it gone.
    for locked in Announcement.objects.select_for_update().filter(pk=row.pk):
        locked.delete()
    site.save(stored)
