"""Rank the tags in use, and count the posts of those that have many.

In use are those that more people use today than on the other days of the week.
"""

from typing import NamedTuple

from django.db.models import Count, Q

from feeds.discovery.tags.queries import DAY_MS, WEEK_DAYS, counted, recent_public
from feeds.models import BusyTag, TrendingTag
from socialsite.core import db
from socialsite.core.db import replicas

KEPT = 1000
# Tags with at least so many posts of the week are counted here; pages count those of all others.
BUSY = 500


def rank() -> int:
    """Rank the tags of the last week's public posts anew; return how many are in use.

    The score grows with the people who used a tag in the last 24 hours, and with how many more
    they are than on an average day of the week. Many posts of one person count once.
    """
    found = replicas.read_for_task(_used, db.now_ms())
    _store(found.best, found.busy)
    return found.in_use


class _Used(NamedTuple):
    """The tags in use, the best first, their number, and the counts of the busy ones."""

    best: list[TrendingTag]
    in_use: int
    busy: list[BusyTag]


def _used(now: int) -> _Used:
    today = Count("author_id", distinct=True, filter=Q(position__gt=now - DAY_MS))
    week = Count("author_id", distinct=True)
    used = recent_public(now).values_list("tag_id")
    rows, busy = [], []
    for tag_id, people, of_week, posts in used.annotate(
        today=today, week=week, posts=Count("post_id")
    ):
        rows.append(TrendingTag(tag_id=tag_id, score=score(people, of_week)))
        if posts >= BUSY:
            busy.append(tag_id)
    rows.sort(key=lambda row: (-row.score, row.tag_id))
    counts = [BusyTag(tag_id=pk, days=days) for pk, days in counted(busy, now).items()]
    return _Used(rows[:KEPT], len(rows), counts)


@db.atomic
def _store(rows: list[TrendingTag], busy: list[BusyTag]) -> None:
    """Replace the ranking and the counts; two that end at once may leave a tag of either."""
    db.upsert(TrendingTag, rows, unique_fields=["tag"], update_fields=["score"])
    TrendingTag.objects.exclude(tag_id__in=[row.tag_id for row in rows]).delete()
    db.upsert(BusyTag, busy, unique_fields=["tag"], update_fields=["days"])
    BusyTag.objects.exclude(tag_id__in=[row.tag_id for row in busy]).delete()


def score(today: int, week: int) -> float:
    """Return the score of a tag by the number of people who used it today and in the whole week."""
    return today * today / (1 + (week - today) / (WEEK_DAYS - 1)) + week / 1000
