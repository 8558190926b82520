"""How long the site keeps personal data: all rows, in the order of `/privacy`."""

from django.utils.translation import gettext_lazy as _

import accounts.retention
import feeds.retention
import interactions.retention
from socialsite.core.exports import jobs
from socialsite.core.imports import jobs as import_jobs
from socialsite.core.media import references
from socialsite.core.models import Export, IdempotencyKey, Import, Media
from socialsite.core.retention import Kept, ms

KEPT: tuple[Kept, ...] = (
    *accounts.retention.KEPT,
    *feeds.retention.KEPT,
    *interactions.retention.KEPT,
    Kept(
        "uploads",
        _("Pictures and videos that no text of yours uses"),
        lambda: references.UNUSED_DAYS,
        lambda before: [Media.objects.filter(is_used=False, created_at__lt=before)],
    ),
    Kept(
        "archives",
        _("Archives of your data"),
        lambda: jobs.DAYS,
        lambda before: [
            Export.objects.exclude(state=Export.State.WAITING).filter(finished_at__lt=ms(before))
        ],
        jobs.purge,
    ),
    Kept(
        "imports",
        _("Files that you imported, for an undo"),
        lambda: import_jobs.DAYS,
        lambda before: [
            Import.objects.exclude(state__in=import_jobs.BUSY).filter(created_at__lt=ms(before))
        ],
        import_jobs.purge,
    ),
    Kept(
        "repeated requests",
        _("Keys by which programs repeat a request"),
        lambda: 1,
        lambda before: [IdempotencyKey.objects.filter(created_at__lt=before)],
    ),
)
