"""Noting who is here (T31b)."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import TokenVersion, User

SEEN_EVERY = timedelta(minutes=5)


def touch(user_id: int, client: str, last_seen: datetime) -> None:
    """Note that a person is here on a client, at most once in five minutes.

    `last_seen` is what the client's row said a moment ago, so that most calls cost nothing.
    """
    now = timezone.now()
    if now - last_seen < SEEN_EVERY:
        return
    since = {"last_seen__lt": now - SEEN_EVERY}
    TokenVersion.objects.filter(user=user_id, client=client, **since).update(last_seen=now)
    User.objects.filter(pk=user_id, **since).update(last_seen=now)
