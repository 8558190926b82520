"""Tables that no app owns: events, requests, media, archives, imports, and the site itself."""

from socialsite.core.models.caches import CacheServer
from socialsite.core.models.days import DayCount
from socialsite.core.models.events import Event, ScheduledRun, StreamRecord
from socialsite.core.models.exports import Export
from socialsite.core.models.imports import Import, ImportItem
from socialsite.core.models.media import Media, Video, VideoUpload
from socialsite.core.models.requests import Allowance, IdempotencyKey
from socialsite.core.models.site import (
    Announcement,
    AnnouncementDismissal,
    SiteDocument,
    SiteLogo,
    SiteSettings,
)

__all__ = [
    "Allowance",
    "Announcement",
    "AnnouncementDismissal",
    "CacheServer",
    "DayCount",
    "Event",
    "Export",
    "IdempotencyKey",
    "Import",
    "ImportItem",
    "Media",
    "ScheduledRun",
    "SiteDocument",
    "SiteLogo",
    "SiteSettings",
    "StreamRecord",
    "Video",
    "VideoUpload",
]
