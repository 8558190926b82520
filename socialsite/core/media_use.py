"""What pictures are used for: that decides who sees them, and when their files go.

Every app that keeps pictures registers what it knows: whether something of it uses a picture, which
files everybody may see through it, and whether one reader may see a picture. `public_names` is the
one place that says which files are public.

- Whoever begins or ends to use pictures, or changes who may see what uses them, says so by
  `changed` in the same transaction. The event settles them: files of what nothing uses are removed,
  the others become public or private.
- A file is made public and private under the lock of the picture's row, where it is looked up once
  more who may see it. A process that dies in between leaves a public link only while the picture is
  public; what ends that has an event of its own, which takes the link away and is never lost.
- A public file without its link is served by the site, which then makes the link
  (`socialsite.uploads`).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone

from socialsite.core import db, media_files
from socialsite.core.events import DomainEvent, publish
from socialsite.core.failpoints import failpoint
from socialsite.core.models import Media
from socialsite.core.registry import on

# Uploads that nothing uses are kept so long; so many are removed at once.
UNUSED_HOURS = 24
SWEEP_STEP = 100
# Pictures that are settled in one transaction.
STEP = 200
# The folders of public files are held against the tables in so many nights.
NIGHTS = 16

Uses = Callable[[Media], bool]
PublicNames = Callable[[Sequence[Media]], set[str]]
Shows = Callable[[Media, int], bool]
_uses: list[Uses] = []
_public: list[PublicNames] = []
_shows: list[Shows] = []


# --- what apps know -----------------------------------------------------------------------------
def asked_before_sweeping(is_used: Uses) -> Uses:
    """Register what says whether a picture is used; every app that keeps pictures has one."""
    _uses.append(is_used)
    return is_used


def seen_by_all(names: PublicNames) -> PublicNames:
    """Register what returns which files of some pictures everybody may see, guests too."""
    _public.append(names)
    return names


def shows_to_reader(shows: Shows) -> Shows:
    """Register what says whether a person (by id) may see a picture that not everybody may."""
    _shows.append(shows)
    return shows


def public_names(pictures: Sequence[Media]) -> set[str]:
    """Return the names of those files of these pictures that everybody may see."""
    return set[str]().union(*(names(pictures) for names in _public)) if pictures else set()


def is_seen_by(picture: Media, viewer_id: int | None) -> bool:
    """Tell whether a reader may see a picture: its owner always, others through what uses it."""
    if viewer_id is None:
        return False
    return viewer_id == picture.owner_id or any(shows(picture, viewer_id) for shows in _shows)


def by_file(name: str) -> Media | None:
    """Return the picture that a file belongs to, as the picture or its thumbnail."""
    found = Media.objects.filter(name=media_files.full_name(name)).first()
    return found if found is not None and name in (found.name, found.thumb_name) else None


# --- making public and private ------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PicturesChanged(DomainEvent):
    """Something uses these pictures from now on, or no longer, or is seen by others than before."""

    aggregate_type: ClassVar[str] = "media"
    aggregate_field: ClassVar[str] = "owner_id"

    owner_id: int
    ids: list[int]


def changed(owner_id: int, ids: Collection[int]) -> None:
    """Say so of some pictures of one person, in the transaction of the change."""
    if ids:
        publish(PicturesChanged(owner_id, sorted(ids)))


@on(PicturesChanged, after=True)
def settle_pictures(event: PicturesChanged) -> None:
    """Remove what nothing uses any more, and bring public links in line."""
    for ident in event.ids:
        # Waits for whoever uses the picture at this moment: then it is used.
        drop_unused(Media.objects.filter(pk=ident, is_used=False).select_for_update())
    arrange(event.ids)


@db.atomic
def arrange(ids: Iterable[int]) -> set[str]:
    """Make the files of some pictures public or private; returns the names of the public ones."""
    rows = Media.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    pictures = list(rows)
    seen = public_names(pictures)
    failpoint("pictures-locked")
    for picture in pictures:
        for name in (picture.name, picture.thumb_name):
            if name in seen:
                media_files.publish(name)
            else:
                media_files.withdraw(name)
    failpoint("pictures-arranged")
    return seen


def arrange_all(owner_id: int) -> None:
    """Do that with all pictures of a person: of one who is banned, none is public."""
    ids = list(Media.objects.filter(owner_id=owner_id).values_list("pk", flat=True))
    for start in range(0, len(ids), STEP):
        arrange(ids[start : start + STEP])


# --- removing -----------------------------------------------------------------------------------
@db.atomic
def drop_unused(rows: "QuerySet[Media]") -> None:
    """Remove one picture, of a query that locks it, unless something uses it.

    The files go between the row and the commit: a process that dies there leaves a row without
    files, which the next try takes, never files that no row names. Before the row they must not
    go: a deadlock gives it to whoever waits to use it.
    """
    item = rows.first()
    if item is None:
        return
    row = Media.objects.filter(pk=item.pk)
    if any(is_used(item) for is_used in _uses):
        row.update(is_used=True)
        return
    row.delete()
    for name in (item.name, item.thumb_name):
        media_files.remove(name)
    failpoint("picture-removed")


def sweep(after: int = 0) -> int | None:
    """Remove some pictures that were uploaded more than a day ago and that nothing uses.

    That is asked of whoever keeps pictures, under the lock of the row, which `media.use` takes as
    well. Returns the id to go on after, None at the end. Whoever uses a picture just then waits,
    and learns that it is gone.
    """
    limit = timezone.now() - timedelta(hours=UNUSED_HOURS)
    unused = Media.objects.filter(is_used=False, created_at__lt=limit)
    ids = list(unused.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:SWEEP_STEP])
    for ident in ids:
        # What somebody uses at this moment is not waited for.
        drop_unused(unused.filter(pk=ident).select_for_update(skip_locked=True))
    return ids[-1] if len(ids) == SWEEP_STEP else None


def check_public(day: date) -> int:
    """Hold a part of the public files against the tables; returns how many were not to be public.

    Nothing should be found: this is for what a restored backup or a person's hands have left. Each
    file is looked at every NIGHTS days.
    """
    found = 0
    for number in range(day.toordinal() % NIGHTS, 256, NIGHTS):
        names = media_files.public_names(f"{number:02x}")
        for start in range(0, len(names), STEP):
            found += _check(names[start : start + STEP])
    return found


def _check(names: Sequence[str]) -> int:
    full = {media_files.full_name(name) for name in names}
    pictures = list(Media.objects.filter(name__in=full))
    wrong = set(names) - public_names(pictures)
    if wrong:
        arrange([picture.pk for picture in pictures])
        known = {name for picture in pictures for name in (picture.name, picture.thumb_name)}
        for name in wrong - known:
            media_files.withdraw(name)
    return len(wrong)
