"""Store an uploaded video and its rows.

The file is written before the transaction of the rows begins, because writing takes long. In the
full stack a worker converts it afterwards; in the embedded mode it is kept as it is, without what
it says besides picture and sound.
"""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils.translation import gettext_lazy as _

from socialsite.core import db, site
from socialsite.core.errors import Forbidden, InvalidInput, PayloadTooLarge, UnsupportedMedia
from socialsite.core.media import disk_space, stored_files
from socialsite.core.media.videos import failures, jobs, mp4, probing, queries, shown, sources
from socialsite.core.models import Media, Video
from socialsite.core.runtime import concurrency

logger = logging.getLogger(__name__)

MEGA = 1024 * 1024
NOT_A_VIDEO = _("This is not an MP4, WebM or MOV video.")
_OFF = _("Videos cannot be uploaded to this site. You can link to one.")
_NO_SUCH = _("There is no such video of yours.")


@dataclass(frozen=True, slots=True)
class Upload:
    """A stored file without rows: a source to convert, or with `facts` a finished video."""

    name: str
    source: str
    size: int
    facts: mp4.Facts | None


def too_large() -> str:
    """Return the sentence about a video that has too many bytes."""
    return _("A video may have at most %(limit)s MB.") % {"limit": site.current().limits.video_mb}


def check(owner_id: int, size: int, waiting: int = 0) -> None:
    """Raise what `accept` would, before a file of this size is stored.

    `waiting` bytes of the person are on their way. Raises Forbidden, PayloadTooLarge, Unavailable.
    """
    limits = site.current().limits
    if not limits.videos:
        raise Forbidden(_OFF)
    if size > limits.video_mb * MEGA:
        raise PayloadTooLarge(too_large())
    disk_space.check(owner_id, adding=size + waiting)


def accept(owner_id: int, upload: IO[bytes], size: int) -> Upload:
    """Check and store the file of a video. Raises also UnsupportedMedia."""
    check(owner_id, size)
    upload.seek(0)
    check_container(upload.read(16))
    with concurrency.slow(concurrency.UPLOAD, owner_id), disk_space.room():
        return accept_source(sources.write(upload), size)


def check_container(head: bytes) -> None:
    """Raise UnsupportedMedia unless a file that begins with these 16 bytes may be a video."""
    container = probing.container_of(head)
    if not container or (container != probing.MP4 and not settings.VIDEO_CONVERSION):
        wrong = NOT_A_VIDEO if settings.VIDEO_CONVERSION else mp4.NOT_PLAYABLE
        raise UnsupportedMedia(wrong)


def accept_source(source: str, size: int) -> Upload:
    """Accept a whole file that is a source already. Raises UnsupportedMedia, without the source."""
    name = stored_files.new_video_name()
    if settings.VIDEO_CONVERSION:
        return Upload(name, source, size, None)
    try:
        with sources.local(source) as path:
            facts = mp4.tidy(path)
            stored_files.move(path, name)
    except failures.Refused as refused:
        raise UnsupportedMedia(failures.in_words(refused.reason)) from None
    finally:
        sources.remove(source)
    return Upload(name, "", size, facts)


@db.atomic
def store(owner_id: int, upload: Upload) -> Video:
    """Write the rows of a stored file."""
    facts, now = upload.facts, db.now_ms()
    item = Media.objects.create(
        owner_id=owner_id,
        name=upload.name,
        thumb_name="",
        width=facts.width if facts else 0,
        height=facts.height if facts else 0,
        size=upload.size,
        is_video=True,
    )
    video = Video.objects.create(
        media=item,
        state=Video.State.READY if facts else Video.State.PROCESSING,
        source=upload.source,
        source_size=upload.size,
        seconds=facts.seconds if facts else 0,
        uploaded_at=now,
        finished_at=now if facts else None,
    )
    if not facts:
        transaction.on_commit(jobs.start, robust=True)
    return video


@contextlib.contextmanager
def no_orphans(upload: Upload) -> Iterator[None]:
    """Remove the file if no row names it after the block: it failed, or was a repetition."""
    try:
        yield
    finally:
        with contextlib.suppress(DatabaseError):
            if not Media.objects.filter(name=upload.name).exists():
                sources.remove(upload.source)
                stored_files.remove(upload.name)


def add(owner_id: int, upload: IO[bytes], size: int) -> Video:
    """Check and store a video, with its rows."""
    accepted = accept(owner_id, upload, size)
    with no_orphans(accepted):
        return store(owner_id, accepted)


def by_id(owner_id: int, ident: int) -> Video:
    """Return a person's video. Raises InvalidInput (`video`) if it is not theirs."""
    video = queries.own(owner_id, ident)
    if video is None:
        raise no_such()
    return video


def no_such() -> InvalidInput:
    """Return the error about a video that a person does not have."""
    return InvalidInput(fields={"video": [_NO_SUCH]})


def state_of(ident: int) -> dict[str, object] | None:
    """Return what posts store of a video, None if it is gone."""
    video = Video.objects.select_related("media").filter(pk=ident).first()
    return None if video is None else shown.entry_of(video)


def entry(owner_id: int, ident: int) -> dict[str, object]:
    """Return what a post stores of a person's video, after `pictures.use` locked its row.

    A worker locks that row before it changes the state, and changes the posts of the video
    afterwards; so the post gets either this state and the change, or the changed state.
    """
    return shown.entry_of(by_id(owner_id, ident))
