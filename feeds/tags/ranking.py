"""Rank the tags in use: those that more people use today than on the other days of the week."""

from django.db.models import Count, Q

from feeds.models import TrendingTag
from feeds.tags.queries import DAY_MS, WEEK_DAYS, recent_public
from socialsite.core import db

KEPT = 1000


def rank() -> int:
    """Rank the tags of the last week's public posts anew; return how many are in use.

    The score grows with the people who used a tag in the last 24 hours, and with how many more
    they are than on an average day of the week: one person's many posts count once.
    """
    now = db.now_ms()
    today = Count("author_id", distinct=True, filter=Q(position__gt=now - DAY_MS))
    week = Count("author_id", distinct=True)
    used = recent_public(now).values_list("tag_id").annotate(today=today, week=week)
    rows = [
        TrendingTag(tag_id=tag_id, score=score(people, of_week)) for tag_id, people, of_week in used
    ]
    rows.sort(key=lambda row: (-row.score, row.tag_id))
    _store(rows[:KEPT])
    return len(rows)


@db.atomic
def _store(rows: list[TrendingTag]) -> None:
    """Replace the ranking; two that end at once may leave a tag of either."""
    db.upsert(TrendingTag, rows, unique_fields=["tag"], update_fields=["score"])
    TrendingTag.objects.exclude(tag_id__in=[row.tag_id for row in rows]).delete()


def score(today: int, week: int) -> float:
    """Return the score of a tag that so many people used today, and this week with today."""
    return today * today / (1 + (week - today) / (WEEK_DAYS - 1)) + week / 1000
