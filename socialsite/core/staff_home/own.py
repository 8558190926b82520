"""The tiles of the core: failed events, free disk space, and the size of the database."""

import shutil
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from socialsite.core import db
from socialsite.core.media import disk_space
from socialsite.core.models import Event
from socialsite.core.rights import Right
from socialsite.core.staff_home.tiles import CALLS, Figure, Tile, bounded, waiting


def failed_events() -> Figure:
    """Return the number of dead events."""
    number, value = bounded(Event.objects.filter(dead=True))
    text = _("They wait until somebody retries them.") if number else _("No event failed.")
    return Figure(value, text, waiting(number))


def free_for_media() -> Figure:
    """Return the free space of the disk of pictures and videos."""
    root = Path(settings.MEDIA_ROOT)
    if disk_space.is_disk_full():
        text = _("Uploads are refused until there is more space.")
        return Figure(filesizeformat(shutil.disk_usage(root).free), text, CALLS)
    return _free(root)


def free_for_data() -> Figure | None:
    """Return the free space of DATA_DIR; None if it is on the disk of pictures and videos."""
    media, data = Path(settings.MEDIA_ROOT), Path(settings.DATA_DIR)
    if media.exists() and media.stat().st_dev == data.stat().st_dev:
        return None
    return _free(data)


def database_size() -> Figure:
    """Return the size of the tables and indexes; MySQL's and MariaDB's own estimate of it."""
    if not db.is_mysql():
        path = str(connection.settings_dict["NAME"])
        files = [Path(f"{path}{end}") for end in ("", "-wal")]
        size = sum(one.stat().st_size for one in files if one.exists())
        if not size:  # a database in memory
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                )
                size = int(cursor.fetchone()[0])
        return Figure(filesizeformat(size), _("The file of the database."))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(SUM(data_length + index_length), 0)"
            " FROM information_schema.tables WHERE table_schema = DATABASE()"
        )
        size = int(cursor.fetchone()[0])
    return Figure(filesizeformat(size), _("Tables and indexes, as the database estimates."))


def _free(folder: Path) -> Figure:
    usage = shutil.disk_usage(folder)
    text = _("of %(size)s are free.") % {"size": filesizeformat(usage.total)}
    return Figure(filesizeformat(usage.free), text)


FAILED_EVENTS = Tile(
    gettext_lazy("Failed events"),
    failed_events,
    page="admin:core_event_changelist",
    rights=Right.OPERATION,
)
FREE_FOR_MEDIA = Tile(gettext_lazy("Disk of uploads"), free_for_media, rights=Right.OPERATION)
FREE_FOR_DATA = Tile(gettext_lazy("Disk of other data"), free_for_data, rights=Right.OPERATION)
DATABASE_SIZE = Tile(gettext_lazy("Size of the database"), database_size, rights=Right.OPERATION)
