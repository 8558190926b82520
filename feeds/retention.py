"""How long feeds keeps data; see `socialsite.core.retention`."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from feeds.drafts import actions as drafts
from feeds.models import Draft
from socialsite.core.retention import Kept, ms

KEPT = (
    Kept(
        "drafts",
        _("Drafts that you do not change, except planned ones"),
        lambda: settings.DRAFT_DAYS,
        lambda before: [Draft.objects.filter(publish_at=None, updated_at__lt=ms(before))],
        drafts.purge,
    ),
)
