"""Videos that arrive in parts: a connection that breaks costs one part, not the whole upload.

The row says how many bytes arrived; a part is written below that number and then counted, under the
lock of the row. So a part that was sent twice, or by two devices, is stored once. With the last
part the upload becomes a `Video`; its row stays until it is swept, for a client that missed the
answer.
"""

import contextlib
from typing import TypedDict

from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from socialsite.core import db
from socialsite.core.errors import (
    InvalidInput,
    NotFound,
    QuotaExceeded,
    StaleVersion,
    UnsupportedMedia,
)
from socialsite.core.http.server import body_limits
from socialsite.core.media import disk_space
from socialsite.core.media.videos import queries, shown, sources, uploads
from socialsite.core.models import VideoUpload
from socialsite.core.runtime import concurrency

# Unfinished uploads of one person.
UPLOADS_MAX = 5
DAY_MS = 24 * 60 * 60 * 1000
STEP = 100
# Bytes at the beginning of a file that tell its container.
HEAD = 16

_EMPTY = _("Choose a video.")
_NO_BYTES = _("This part has no bytes.")
_TOO_MANY_BYTES = _("This part goes beyond the end of the file.")
_MOVED = _("The site has another number of bytes of this file. Please go on from there.")


class Progress(TypedDict):
    """An upload: sizes in bytes; `part` is the largest one, `video` is None until all arrived."""

    id: str
    size: int
    received: int
    part: int
    video: shown.OwnVideo | None


def begin(owner_id: int, size: int) -> Progress:
    """Announce a file of `size` bytes.

    Raises InvalidInput, QuotaExceeded, and what `uploads.check` raises.
    """
    if size <= 0:
        raise InvalidInput(fields={"size": [_EMPTY]})
    others = VideoUpload.objects.filter(owner_id=owner_id, video_id=None)
    uploads.check(owner_id, size, waiting=others.aggregate(total=Sum("size"))["total"] or 0)
    if others.count() >= UPLOADS_MAX:
        raise QuotaExceeded
    source = sources.new_name()
    now = db.now_ms()
    made = VideoUpload(owner_id=owner_id, source=source, size=size, changed_at=now)
    made.save(force_insert=True)
    return _progress(made)


def progress(owner_id: int, ident: int) -> Progress:
    """Return an upload of a person. Raises NotFound."""
    found = VideoUpload.objects.filter(pk=ident, owner_id=owner_id).first()
    if found is None:
        raise NotFound
    return _progress(found)


def add(owner_id: int, ident: int, offset: int, data: bytes) -> Progress:
    """Store the part that begins at `offset`; the last one makes the video.

    A finished upload whose answer was lost is answered again, for a part at its end. Raises
    NotFound; StaleVersion for another place than the next one; InvalidInput, Unavailable; and for
    the first and the last part UnsupportedMedia, after which the upload is gone.
    """
    try:
        with concurrency.slow(concurrency.UPLOAD, owner_id), disk_space.room():
            upload = _write(owner_id, ident, offset, data)
            if upload.received == upload.size:
                upload = _finish(owner_id, ident)
    except UnsupportedMedia:
        drop(owner_id, ident)
        raise
    except FileNotFoundError:  # a process died while it made the video
        drop(owner_id, ident)
        raise NotFound from None
    return _progress(upload)


@db.atomic
def _write(owner_id: int, ident: int, offset: int, data: bytes) -> VideoUpload:
    upload = _locked(owner_id, ident)
    if offset != upload.received:
        raise StaleVersion(_MOVED)
    if upload.received == upload.size:
        return upload
    if not data:
        raise InvalidInput(fields={"part": [_NO_BYTES]})
    if offset + len(data) > upload.size:
        raise InvalidInput(fields={"part": [_TOO_MANY_BYTES]})
    if offset == 0 and len(data) >= HEAD:
        uploads.check_container(data[:HEAD])
    sources.write_at(upload.source, offset, data)
    upload.received, upload.changed_at = offset + len(data), db.now_ms()
    upload.save(update_fields=["received", "changed_at"])
    return upload


@db.atomic
def _finish(owner_id: int, ident: int) -> VideoUpload:
    """Make the video of a complete upload, once: the answer to the last part may be asked twice.

    Raises UnsupportedMedia; FileNotFoundError if the file is gone.
    """
    upload = _locked(owner_id, ident)
    if upload.video_id is not None:
        return upload
    uploads.check_container(sources.head(upload.source, HEAD))
    accepted = uploads.accept_source(upload.source, upload.size)
    with uploads.no_orphans(accepted):
        upload.video_id = uploads.store(owner_id, accepted).pk
        upload.save(update_fields=["video_id"])
    return upload


def _locked(owner_id: int, ident: int) -> VideoUpload:
    rows = VideoUpload.objects.select_for_update()
    found = rows.filter(pk=ident, owner_id=owner_id).first()
    if found is None:
        raise NotFound
    return found


def drop(owner_id: int, ident: int) -> None:
    """Forget an upload and what arrived of it; a finished one keeps its video. Raises NotFound."""
    _remove(_dropped(owner_id, ident))


@db.atomic
def _dropped(owner_id: int, ident: int) -> VideoUpload:
    found = _locked(owner_id, ident)
    VideoUpload.objects.filter(pk=ident).delete()
    return found


def _remove(upload: VideoUpload) -> None:
    if upload.video_id is None:
        sources.remove(upload.source)


def sweep() -> int:
    """Forget the uploads that got no part for a day; return how many."""
    old = VideoUpload.objects.filter(changed_at__lt=db.now_ms() - DAY_MS).order_by("changed_at")
    removed = 0
    for owner_id, ident in old.values_list("owner_id", "pk")[:STEP]:
        with contextlib.suppress(NotFound):
            drop(owner_id, ident)
            removed += 1
    return removed


def _progress(upload: VideoUpload) -> Progress:
    video = None
    if upload.video_id is not None:
        video = queries.progress(upload.owner_id, upload.video_id)
    return Progress(
        id=str(upload.pk),
        size=upload.size,
        received=upload.received,
        part=body_limits.VIDEO_PART,
        video=video,
    )
