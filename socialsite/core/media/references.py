"""Uses of pictures: they decide who sees a picture and when its files are removed.

A video is a picture here, and its poster is a thumbnail.

Every app that uses pictures registers three functions: whether it uses a picture, which files are
public through it, and whether a given reader may see a picture. Only `public_names` decides which
files are public.

- Code that begins or ends to use pictures, or changes who may see the content that uses them, calls
  `changed` in the same transaction. The event's handler removes the files of unused pictures and
  makes the others public or private.
- A file is made public or private under the lock of the picture's row, after a fresh visibility
  check. A process that dies in between leaves a public link only while the picture is public. The
  change that ends this publishes an event of its own, which removes the link and is never lost.
- The site serves a public file whose link is missing, and then creates the link
  (`socialsite.pages.media_files`).
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone

from socialsite.core import db
from socialsite.core.db.compiled import compiled
from socialsite.core.events import DomainEvent, publish
from socialsite.core.events.registry import on
from socialsite.core.media import stored_files
from socialsite.core.media.videos import sources
from socialsite.core.media.videos.events import VideoChanged
from socialsite.core.models import Media, Video
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

# Unused uploads are kept for this time after their owner last saw them: a browser keeps a text and
# the ids of its pictures for 30 days after its last change (`static/js/drafts.js`). One sweep
# removes at most this many.
UNUSED_DAYS = 31
SWEEP_STEP = 100
# Once the quota of a person is used up, those are removed that they have not seen for this time.
SPARED = timedelta(days=1)
# Pictures processed in one transaction.
STEP = 200
# The folders of files are compared with the tables over this many nights.
NIGHTS = 16

Uses = Callable[[Media], bool]
PublicNames = Callable[[Sequence[Media]], set[str]]
Shows = Callable[[Media, int], bool]
_uses: list[Uses] = []
_public: list[PublicNames] = []
_shows: list[Shows] = []


# --- functions that apps register ---------------------------------------------------------------
def register_use(is_used: Uses) -> Uses:
    """Register a function that says whether a picture is used; each app with pictures has one."""
    _uses.append(is_used)
    return is_used


def seen_by_all(names: PublicNames) -> PublicNames:
    """Register a function that returns which files of given pictures are public (guests too)."""
    _public.append(names)
    return names


def shows_to_reader(shows: Shows) -> Shows:
    """Register a function that says whether a person (by id) may see a non-public picture."""
    _shows.append(shows)
    return shows


def public_names(pictures: Sequence[Media]) -> set[str]:
    """Return the names of those files of these pictures that everybody may see."""
    return set[str]().union(*(names(pictures) for names in _public)) if pictures else set()


def is_public(name: str) -> bool:
    """Return whether everybody may see a file, by the tables."""
    picture = by_file(name)
    return picture is not None and name in public_names([picture])


def is_seen_by(picture: Media, viewer_id: int | None) -> bool:
    """Return whether a reader may see a picture: its owner always, others through its uses."""
    if viewer_id is None:
        return False
    return viewer_id == picture.owner_id or any(shows(picture, viewer_id) for shows in _shows)


def by_file(name: str) -> Media | None:
    """Return the picture or video that a file belongs to."""
    found: Media | None = _named.first(stored_files.full_name(name))
    return found if found is not None and name in found.file_names() else None


@compiled
def _named(name: str) -> "QuerySet[Media]":
    return Media.objects.filter(name=name)


# --- making public and private ------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PicturesChanged(DomainEvent):
    """The uses of these pictures, or the readers of those uses, have changed."""

    aggregate_type: ClassVar[str] = "media"
    aggregate_field: ClassVar[str] = "owner_id"

    owner_id: int
    ids: list[int]


def changed(owner_id: int, ids: Collection[int]) -> None:
    """Publish PicturesChanged for pictures of one person, in the transaction of the change."""
    if ids:
        publish(PicturesChanged(owner_id, sorted(ids)))


@on(PicturesChanged, after=True)
def settle_pictures(event: PicturesChanged) -> None:
    """Remove unused pictures, and bring public links in line."""
    for ident in event.ids:
        # Waits for a transaction that uses the picture right now: then it is used.
        drop_unused(Media.objects.filter(pk=ident, is_used=False).select_for_update())
    arrange(event.ids)


@on(VideoChanged, after=True)
def arrange_video(event: VideoChanged) -> None:
    """Make the files of a video public if they are, now that there are some."""
    arrange([event.id])


@db.atomic
def arrange(ids: Iterable[int]) -> set[str]:
    """Make the files of some pictures public or private; return the names of the public ones."""
    rows = Media.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    pictures = list(rows)
    seen = public_names(pictures)
    failpoint("pictures-locked")
    for picture in pictures:
        for name in picture.file_names():
            if name in seen:
                stored_files.publish(name)
            else:
                stored_files.withdraw(name)
    failpoint("pictures-arranged")
    return seen


def arrange_all(owner_id: int) -> None:
    """Do that for all pictures of a person; a banned person has no public ones."""
    ids = list(Media.objects.filter(owner_id=owner_id).values_list("pk", flat=True))
    for start in range(0, len(ids), STEP):
        arrange(ids[start : start + STEP])


# --- removing -----------------------------------------------------------------------------------
@db.atomic
def drop_unused(rows: "QuerySet[Media]") -> None:
    """Remove the one picture that a locking query returns, unless it is used.

    The files are removed between the row and the commit. If the process dies there, a row without
    files remains, which the next try removes, but never files without a row. The files must not go
    before the row: a deadlock would hand the row to a transaction that waits to use it.
    """
    item = rows.first()
    if item is None:
        return
    row = Media.objects.filter(pk=item.pk)
    if any(is_used(item) for is_used in _uses):
        row.update(is_used=True)
        return
    if item.is_video:
        _drop_video(item.pk)
    row.delete()
    for name in item.file_names():
        stored_files.remove(name)
    failpoint("picture-removed")


def _drop_video(ident: int) -> None:
    """Remove the state of a video, and the file that waits for its conversion."""
    found = Video.objects.filter(pk=ident)
    for source in found.values_list("source", flat=True):
        sources.remove(source)
    found.delete()


def sweep(after: int = 0) -> int | None:
    """Remove some unused pictures that their owner has not seen for UNUSED_DAYS.

    All apps are asked under the lock of the row, which `pictures.use` takes as well. A concurrent
    user of the picture waits and then finds it gone. Returns the id to continue after, None at the
    end.
    """
    limit = timezone.now() - timedelta(days=UNUSED_DAYS)
    unused = Media.objects.filter(is_used=False, created_at__lt=limit)
    ids = list(unused.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:SWEEP_STEP])
    for ident in ids:
        # Rows locked by a user of the picture are skipped.
        drop_unused(unused.filter(pk=ident).select_for_update(skip_locked=True))
    return ids[-1] if len(ids) == SWEEP_STEP else None


def renew(picture: Media) -> None:
    """Keep an unused picture longer, as its owner sees it: it belongs to a text that is written."""
    now = timezone.now()
    if not picture.is_used and picture.created_at < now - SPARED:
        Media.objects.filter(pk=picture.pk, is_used=False).update(created_at=now)


def make_room(owner_id: int) -> bool:
    """Remove unused pictures of a person that they have not seen for a day; return if any was."""
    limit = timezone.now() - SPARED
    unused = Media.objects.filter(owner_id=owner_id, is_used=False, created_at__lt=limit)
    ids = list(unused.order_by("created_at").values_list("pk", flat=True)[:SWEEP_STEP])
    for ident in ids:
        drop_unused(unused.filter(pk=ident).select_for_update(skip_locked=True))
    return Media.objects.filter(pk__in=ids).count() < len(ids)


def check_public(day: date) -> int:
    """Compare a part of the public files with the tables; return how many wrongly were public.

    Normally it finds none: it is meant for leftovers of a restored backup or of manual changes.
    Each file is checked every NIGHTS days.
    """
    found = 0
    for names in _tonight(stored_files.public_names, day):
        pictures = _of(names)
        wrong = set(names) - public_names(pictures)
        if wrong:
            arrange([picture.pk for picture in pictures])
            for name in wrong - _files(pictures):
                stored_files.withdraw(name)
        found += len(wrong)
    return found


def remove_orphans(day: date) -> int:
    """Remove those of a part of the files that no row names; return their number.

    Such files come back with a restored back-up, if their posts were deleted after their upload.
    Each file is checked every NIGHTS days. Removes nothing if there are many more uploads than
    rows: then the database is another one, as that of a trial.
    """
    uploads = sum(map(_is_full, stored_files.all_old_names()))
    rows = Media.objects.count()
    if uploads > rows * 3 // 2:
        logger.error("files of %d uploads, %d rows: is this the right database?", uploads, rows)
        return 0
    removed = 0
    for names in _tonight(stored_files.old_names, day):
        for name in set(names) - _files(_of(names)):
            stored_files.remove(name)
            removed += 1
    return removed


def _is_full(name: str) -> bool:
    """Return whether this is the file that its row is named after."""
    return stored_files.full_name(name) == name


def _tonight(listed: Callable[[str], list[str]], day: date) -> Iterator[list[str]]:
    """Yield the names of a part of all folders, STEP at a time."""
    for folder in stored_files.FOLDERS[day.toordinal() % NIGHTS :: NIGHTS]:
        names = listed(folder)
        for start in range(0, len(names), STEP):
            yield names[start : start + STEP]


def _of(names: Iterable[str]) -> list[Media]:
    """Return the pictures and videos that some files belong to."""
    return list(Media.objects.filter(name__in={stored_files.full_name(name) for name in names}))


def _files(pictures: Iterable[Media]) -> set[str]:
    return {name for picture in pictures for name in picture.file_names()}
