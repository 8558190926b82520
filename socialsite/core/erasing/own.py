"""What the tables of the core have of a person: files, requests, dismissals, events, Redis keys."""

from collections.abc import Iterator
from operator import methodcaller

from django.db.models import QuerySet

from socialsite.core import redis
from socialsite.core.erasing import Eraser, Stage, counted, events_of, one_by_one, register, rows
from socialsite.core.exports import jobs
from socialsite.core.imports import jobs as import_jobs
from socialsite.core.media import references
from socialsite.core.media.videos import parts
from socialsite.core.models import (
    AnnouncementDismissal,
    Export,
    IdempotencyKey,
    Import,
    ImportItem,
    Media,
    VideoUpload,
)


def _media(user_id: int) -> "QuerySet[Media]":
    return Media.objects.filter(owner_id=user_id)


def _erase_media(user_id: int, limit: int) -> int:
    """Remove pictures and videos with their files; those still in use stay, and are `left`."""
    gone = 0
    for ident in _media(user_id).order_by("pk").values_list("pk", flat=True):
        references.drop_unused(Media.objects.filter(pk=ident).select_for_update())
        gone += not Media.objects.filter(pk=ident).exists()
        if gone >= limit:
            break
    return gone


def _archives(user_id: int) -> "QuerySet[Export]":
    return Export.objects.filter(owner_id=user_id)


def _imports(user_id: int) -> "QuerySet[Import]":
    return Import.objects.filter(owner_id=user_id)


# --- Redis --------------------------------------------------------------------------------------
def keys_of(user_id: int) -> Iterator[bytes]:
    """Yield the keys in Redis that name a person. Raises RedisDown."""
    return redis.keys(f"*{user_id}*")


def _erase_keys(user_id: int, limit: int) -> int:
    """Delete all keys of a person: none of them holds the truth."""
    found = list(keys_of(user_id))
    for start in range(0, len(found), redis.SCANNED):
        some = found[start : start + redis.SCANNED]
        redis.call(methodcaller("delete", *some))
    return 0  # one pass: what comes back belongs to a request that runs now


register(
    Eraser("media", Stage.FILES, _erase_media, counted(_media)),
    Eraser("archives", Stage.FILES, jobs.delete_all, counted(_archives)),
    Eraser("imports", Stage.FILES, import_jobs.delete_all, counted(_imports)),
    rows(
        "imported follows and blocks of the person",
        Stage.SIGN_INS,
        lambda user_id: ImportItem.objects.filter(target_id=user_id),
    ),
    one_by_one(
        "uploads",
        Stage.FILES,
        lambda user_id: VideoUpload.objects.filter(owner_id=user_id),
        parts.drop,
    ),
    rows(
        "idempotency keys",
        Stage.SIGN_INS,
        lambda user_id: IdempotencyKey.objects.filter(user_id=user_id),
    ),
    rows(
        "dismissed announcements",
        Stage.SIGN_INS,
        lambda user_id: AnnouncementDismissal.objects.filter(user_id=user_id),
    ),
    rows("dead events", Stage.TRACES, lambda user_id: events_of(user_id).filter(dead=True)),
    Eraser("keys in Redis", Stage.TRACES, _erase_keys, lambda user_id: len(list(keys_of(user_id)))),
    erased={
        "core.Media.owner_id": "media",
        "core.VideoUpload.owner_id": "uploads",
        "core.Export.owner_id": "archives",
        "core.Import.owner_id": "imports",
        "core.ImportItem.target_id": "imported follows and blocks of the person",
        "core.IdempotencyKey.user_id": "idempotency keys",
        "core.AnnouncementDismissal.user_id": "dismissed announcements",
        "core.Event.payload": "dead events",
        "core.Event.aggregate_id": "dead events",
    },
    kept={
        "core.StreamRecord.payload": "records with ids that are not in the change stream yet",
        "core.StreamRecord.aggregate_id": "records with ids that are not in the change stream yet",
    },
    texts=(
        "core.Media.alt",
        "core.Media.captions",
        "core.Import.preview",
        "core.ImportItem.source",
        "core.SiteDocument.text_en",
        "core.SiteDocument.text_zh_hans",
        "core.Announcement.text_en",
        "core.Announcement.text_zh_hans",
        "core.SiteSettings.name",
        "core.SiteSettings.description_en",
        "core.SiteSettings.description_zh_hans",
        "core.SiteSettings.contact",
        "core.SiteSettings.question_en",
        "core.SiteSettings.question_zh_hans",
        "core.SiteSettings.domains_allowed",
        "core.SiteSettings.domains_refused",
    ),
)
