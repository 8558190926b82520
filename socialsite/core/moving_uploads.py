"""Move the uploads of a site with a bucket from MEDIA_ROOT into it, and back.

It runs while the site does, and may be ended and begun again at any time. A file is used from below
MEDIA_ROOT as long as it is there. It is moved under the lock of its row, as who deletes it takes
this too, and it is removed from where it was when the other copy is complete.

Sources of videos stay where they are: whatever arrived is converted within a day.
"""

from collections.abc import Callable, Iterator

from socialsite.core import db
from socialsite.core.exports import jobs as exports
from socialsite.core.imports import files as imports
from socialsite.core.media import references, stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.models import Export, Import, Media

STEP = 200
Move = Callable[[Media], int]


def number() -> int:
    """Return how many pictures and videos there are."""
    return Media.objects.count()


def to_bucket() -> Iterator[int]:
    """Move everything into the bucket; yield the bytes moved of each picture and video."""
    for ident in _idents():
        yield _locked(ident, _put)
    for export in Export.objects.filter(state=Export.State.READY).iterator():
        _put_export(export.pk)
    for name in Import.objects.exclude(name="").values_list("name", flat=True).iterator():
        # It stays as the copy of this machine, which goes with its import.
        if imports.path_of(name).exists():
            buckets.put(imports.path_of(name), imports.stored_name(name))


def to_folder() -> Iterator[int]:
    """Move all pictures and videos below MEDIA_ROOT; yield the bytes moved of each."""
    for ident in _idents():
        yield _locked(ident, _fetch)


def _idents() -> Iterator[int]:
    last = 0
    while ids := list(
        Media.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:STEP]
    ):
        yield from ids
        last = ids[-1]


@db.atomic
def _locked(ident: int, move: Move) -> int:
    item = Media.objects.select_for_update().filter(pk=ident).first()
    return 0 if item is None else move(item)


def _put(item: Media) -> int:
    moved = 0
    for name in item.file_names():
        path = stored_files.path_of(name)
        if not path.exists():
            continue
        buckets.put(path, name)
        moved += path.stat().st_size
        stored_files.remove_local(name)
    return moved


def _fetch(item: Media) -> int:
    moved = 0
    for name in item.file_names():
        if stored_files.is_in_bucket(name):
            try:
                moved += stored_files.fetch(name)
            except FileNotFoundError:  # of a video that is converted yet
                continue
        buckets.remove(name)
    references.arrange([item.pk])
    return moved


@db.atomic
def _put_export(ident: int) -> None:
    row = Export.objects.select_for_update().filter(pk=ident).first()
    if row is None or not exports.path_of(row.name).exists():
        return
    buckets.put(exports.path_of(row.name), exports.stored_name(row.name))
    exports.path_of(row.name).unlink()
