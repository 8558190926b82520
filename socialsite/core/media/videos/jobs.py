"""Prepare uploaded videos: claim one, look into it, make its poster, convert it, store the result.

- A claim is a lease in the database, renewed about every second. If the worker dies, another one
  claims the video when the lease has ended; its attempts are counted and bounded.
- Each claim writes another number. A worker whose number is gone stops, and changes nothing.
- Files get their final names under the lock of the video's Media row, which whoever deletes or uses
  the video takes as well.
"""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from socialsite.core import db, events
from socialsite.core.db import leases
from socialsite.core.errors import DISK_FULL, Unavailable
from socialsite.core.events import enqueue
from socialsite.core.media import disk_space, stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.media.encoding import Picture
from socialsite.core.media.videos import converting, failures, probing, sandbox, sources
from socialsite.core.media.videos.events import VideoChanged
from socialsite.core.media.videos.failures import Refused
from socialsite.core.models import Media, Video, VideoUpload
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

TASK = "core.convert_videos"
# A message that no worker took is void then; another one follows.
MESSAGE_SECONDS = 5
LEASE_MS, RENEW_SECONDS = 20_000, 2
TRIES_MAX = 3
# Pauses after an unexpected error, by the number of tries; and while a worker cannot convert.
PAUSES_MS = (10_000, 60_000, 60_000)
WAIT_MS = 60_000


class Lost(Exception):
    """Another worker has the video now, or it was deleted."""


class NotNow(Exception):
    """The disk is nearly full; this is not counted as a try."""


@dataclass(frozen=True, slots=True)
class _Claim:
    ident: int
    lease: int
    tries: int
    source: str
    name: str


def start() -> None:
    """Send a message to the queue of videos if one is due: its message was lost, or its worker."""
    if _due(db.now_ms()).exists():
        enqueue.send_before(TASK, MESSAGE_SECONDS)


def _due(now: int) -> "QuerySet[Video]":
    return Video.objects.filter(state=Video.State.PROCESSING, due_at__lte=now)


def work_off() -> bool:
    """Prepare the next video that is due; return whether there was one."""
    if missing := sandbox.missing_programs():
        logger.error("videos wait: these programs are not installed: %s", ", ".join(missing))
        return False
    claim = _claim()
    if claim is None:
        return False
    logger.info("video %s: attempt %s", claim.ident, claim.tries)
    try:
        _prepare(claim)
    except Refused as refused:
        _finish(claim, Video.State.FAILED, failure=refused.reason)
        logger.info("video %s failed: %s", claim.ident, refused.reason)
    except Lost:
        _lost(claim)
    except (NotNow, Unavailable) as reason:
        logger.warning("video %s waits: %s", claim.ident, str(reason) or "the disk is nearly full")
        _later(claim, WAIT_MS, tries=claim.tries - 1)
        return False
    except Exception:  # one video must not stop the others
        logger.exception("video %s was not converted", claim.ident)
        _later(claim, PAUSES_MS[min(claim.tries, len(PAUSES_MS)) - 1], tries=claim.tries)
    return True


@db.atomic
def _claim() -> _Claim | None:
    video = leases.claim(_due(db.now_ms()), LEASE_MS)
    if video is None:
        return None
    name = Media.objects.values_list("name", flat=True).filter(pk=video.pk).first() or ""
    return _Claim(video.pk, video.lease, video.tries, video.source, name)


def _prepare(claim: _Claim) -> None:
    """Do the work of a claim. Raises Refused, Lost, NotNow."""
    if claim.tries > TRIES_MAX:
        raise Refused(failures.CRASHED)
    if disk_space.is_disk_full():
        raise NotNow
    alive = leases.now_and_then(RENEW_SECONDS, lambda: _reporter(claim)(0))
    with contextlib.ExitStack() as stack:
        try:
            source = stack.enter_context(sources.local(claim.source, alive))
        except FileNotFoundError:
            raise Refused(failures.CRASHED) from None
        _convert(claim, source)


def _convert(claim: _Claim, source: Path) -> None:
    facts = probing.probe(source)
    with (
        sources.draft(claim.source, claim.lease, "jpg") as picture,
        sources.draft(claim.source, claim.lease, "mp4") as target,
    ):
        try:
            poster = converting.poster(source, facts, picture)
            _found(claim, facts, poster)
            failpoint("video-converting")
            made = converting.convert(source, facts, target, _reporter(claim))
            if made.seconds > settings.VIDEO_SECONDS + 1:
                raise Refused(failures.TOO_LONG)
            if not poster and (poster := converting.poster(target, made, picture)):
                _found(claim, made, poster)
        except Refused:
            if disk_space.is_disk_full():  # ffmpeg failed because of that
                raise NotNow from None
            raise
        except OSError as error:
            if error.errno in DISK_FULL:
                raise NotNow from None
            raise
        if buckets.is_used():  # outside of the transaction: it takes long
            buckets.put_long(target, claim.name, lambda: _reporter(claim)(99))
        _finish(claim, Video.State.READY, made=made, target=target)


def _reporter(claim: _Claim) -> Callable[[int], None]:
    def report(percent: int) -> None:
        """Renew the lease. Raises Lost, NotNow."""
        if disk_space.is_disk_full():
            raise NotNow
        due = db.now_ms() + LEASE_MS
        rows = Video.objects.filter(pk=claim.ident, lease=claim.lease)
        if not rows.update(due_at=due, progress=percent):
            raise Lost

    return report


@db.atomic
def _found(claim: _Claim, facts: probing.Facts, poster: Picture | None) -> None:
    """Store what is known before the conversion: readers see the poster meanwhile."""
    item = _locked(claim)
    item.width, item.height = converting.size_of(facts)
    if poster:
        item.thumb_name = stored_files.poster_of(item.name)
        item.placeholder = poster.placeholder
        stored_files.write(item.thumb_name, poster.data)
    item.save(update_fields=["width", "height", "thumb_name", "placeholder"])
    Video.objects.filter(pk=claim.ident).update(
        seconds=facts.seconds, due_at=db.now_ms() + LEASE_MS
    )
    _changed(item)


def _finish(
    claim: _Claim,
    state: str,
    *,
    made: probing.Facts | None = None,
    target: Path | None = None,
    failure: str = "",
) -> None:
    """Store the result and remove the source. A video that has another worker stays as it is."""
    size = target.stat().st_size if target is not None else 0
    try:
        _write(claim, state, made, target, size, failure)
    except Lost:
        _lost(claim)
        return
    sources.remove(claim.source)


def _lost(claim: _Claim) -> None:
    """Leave a video to the worker that has it; if it was deleted, so is what was made of it."""
    logger.info("video %s was deleted or has another worker", claim.ident)
    if buckets.is_used() and not Media.objects.filter(pk=claim.ident).exists():
        stored_files.remove(claim.name)


@db.atomic
def _write(
    claim: _Claim,
    state: str,
    made: probing.Facts | None,
    target: Path | None,
    size: int,
    failure: str,
) -> None:
    item = _locked(claim)
    video = Video.objects.get(pk=claim.ident)
    item.size = _poster_size(item.thumb_name) + size
    if made is not None and target is not None:
        item.width, item.height, video.seconds = made.width, made.height, made.seconds
        # A repetition of this transaction finds it moved.
        if not buckets.is_used() and target.exists():
            stored_files.move(target, item.name)
    item.save(update_fields=["width", "height", "size"])
    video.state, video.failure, video.source = state, failure, ""
    video.progress = 100 if made is not None else video.progress
    video.finished_at = db.now_ms()
    video.save()
    _changed(item)
    failpoint("video-written")


def _poster_size(name: str) -> int:
    try:
        return stored_files.size(name) if name else 0
    except (FileNotFoundError, Unavailable):
        return 0


def _locked(claim: _Claim) -> Media:
    """Lock the Media row of a claim. Raises Lost."""
    item = Media.objects.select_for_update().filter(pk=claim.ident).first()
    rows = Video.objects.filter(pk=claim.ident, lease=claim.lease, state=Video.State.PROCESSING)
    if item is None or not rows.exists():
        raise Lost
    return item


def _changed(item: Media) -> None:
    events.publish(VideoChanged(item.owner_id, item.pk))


def _later(claim: _Claim, pause_ms: int, tries: int) -> None:
    rows = Video.objects.filter(pk=claim.ident, lease=claim.lease)
    rows.update(due_at=db.now_ms() + pause_ms, tries=tries)


def sweep_sources() -> int:
    """Remove sources that no video and no upload needs any more; return how many."""
    removed = 0
    for name in sources.old_names():
        if not any(model.objects.filter(source=name).exists() for model in (Video, VideoUpload)):
            sources.remove(name)
            removed += 1
    return removed
