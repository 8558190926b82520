"""Records that a person is active."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import TokenVersion, User
from socialsite.core import db

SEEN_EVERY = timedelta(minutes=5)


def touch(user_id: int, client: str, last_seen: datetime) -> None:
    """Record that a person is active on a client, at most once in five minutes.

    `last_seen` is the value just read from the client's row, so most calls run no query.
    """
    now = timezone.now()
    if now - last_seen < SEEN_EVERY:
        return
    since = {"last_seen__lt": now - SEEN_EVERY}
    with db.spare_write():
        TokenVersion.objects.filter(user=user_id, client=client, **since).update(last_seen=now)
        User.objects.filter(pk=user_id, **since).update(last_seen=now)
