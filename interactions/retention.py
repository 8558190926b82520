"""How long interactions keeps data; see `socialsite.core.retention`."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from interactions.models import Notification
from interactions.notifying import retention
from socialsite.core.retention import Kept, ms

KEPT = (
    Kept(
        "notifications",
        _("Notifications that you read"),
        lambda: settings.NOTIFICATION_DAYS,
        lambda before: [Notification.objects.filter(is_unread=False, touched_at__lt=ms(before))],
        retention.prune,
    ),
)
