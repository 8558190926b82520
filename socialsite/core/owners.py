"""The places of the core's tables, and of those that Django and its packages bring along."""

from socialsite.core.sharding import Owned, Places, Whole, With

_STAFF = "Only staff write and read it."
_DJANGO = "Django's own: nearly empty, and only the admin reads it."
_SITE = "A few rows about the site; every process caches them."

PLACES: Places = {
    # An event lies beside no fact: the facts of one event have several owners. Its aggregate
    # spreads the outbox evenly.
    "core_event": Owned("aggregate_id", reason="spreads the outbox; facts have several owners"),
    "core_streamrecord": Owned("aggregate_id", reason="as the outbox"),
    "core_export": Owned("owner_id"),
    "core_import": Owned("owner_id", lookups=("id",)),
    "core_importitem": With("core_import", "import_id"),
    "core_media": Owned("owner_id", lookups=("id", "name")),
    "core_video": With("core_media", "media_id"),
    "core_videoupload": Owned("owner_id"),
    "core_idempotencykey": Owned("user_id"),
    "core_announcementdismissal": Owned("user_id"),
    "core_allowance": Owned("key", reason="a budget of a person or network; statements name keys"),
    "core_cacheserver": Whole("One row for each server of the cache."),
    "core_daycount": Whole("One row for each kind of number and day."),
    "core_scheduledrun": Whole("One row for each nightly task."),
    "core_sitesettings": Whole(_SITE),
    "core_sitedocument": Whole(_SITE),
    "core_sitelogo": Whole(_SITE),
    "core_announcement": Whole(_SITE),
    # Django and packages.
    "otp_totp_totpdevice": Owned("user_id"),
    "otp_static_staticdevice": Owned("user_id", lookups=("id",)),
    "otp_static_statictoken": With("otp_static_staticdevice", "device_id"),
    "django_admin_log": Whole(_STAFF),
    "django_content_type": Whole(_DJANGO),
    "auth_permission": Whole(_DJANGO),
    "auth_group": Whole(_DJANGO),
    "auth_group_permissions": Whole(_DJANGO),
}
