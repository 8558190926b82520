"""Rank the posts that people react to now, every few minutes."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, QuerySet

from feeds import queries as feeds_queries
from interactions.models import Comment, Like, RisingPost, SubjectType
from socialsite.core import db, ids

DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)
# After this time without reactions a score is halved.
HALF_LIFE_MS = DAY_MS / 2
# What one person's reaction counts.
LIKE, REPOST, COMMENT = 1, 2, 2
# Posts whose score is computed, and those that are kept; of one author.
CONSIDERED, KEPT, OF_AUTHOR = 1000, 100, 2


def rank() -> int:
    """Rank public posts anew by the reactions of the last day; return how many are kept.

    A like counts 1; reposts and comments count 2, once for each person. The sum is halved for every
    twelve hours of the post's age. An author has two posts at most in the ranking.
    """
    now = db.now_ms()
    points = _reactions(now - DAY_MS)
    best = dict(points.most_common(CONSIDERED))
    scored = sorted(
        (
            (points[ident] * 0.5 ** (max(now - position, 0) / HALF_LIFE_MS), ident, author)
            for ident, author, position in feeds_queries.public_originals(best)
        ),
        reverse=True,
    )
    kept = list(_first_of_each(scored))[:KEPT]
    with transaction.atomic():
        RisingPost.objects.all().delete()
        RisingPost.objects.bulk_create(
            RisingPost(place=place, post_id=ident, score=score)
            for place, (score, ident) in enumerate(kept)
        )
    return len(kept)


def _first_of_each(scored: Iterable[tuple[float, int, int]]) -> Iterable[tuple[float, int]]:
    """Yield score and post, without more than OF_AUTHOR posts of one author."""
    seen: Counter[int] = Counter()
    for score, ident, author in scored:
        seen[author] += 1
        if seen[author] <= OF_AUTHOR:
            yield score, ident


def _reactions(since: int) -> Counter[int]:
    """Return the points of each post that anybody reacted to since a time (Unix ms)."""
    # Ids are in the order of time: the primary keys have the rows of the last day.
    first = {"pk__gte": ids.first_of(since)}
    likes = Like.objects.filter(**first, subj_type=SubjectType.POST)
    reposts = feeds_queries.reposts().filter(**first)
    comments = Comment.objects.filter(
        **first, deleted=False, subject__subj_type=SubjectType.POST
    ).annotate(post=F("subject__subj_id"))
    points: Counter[int] = Counter()
    for rows, post, person, weight in (
        (likes, "subj_id", "user_id", LIKE),
        (reposts, "ref_post_id", "author_id", REPOST),
        (comments, "post", "author_id", COMMENT),
    ):
        for ident, people in _most(rows, post, person):
            points[ident] += weight * people
    return points


def _most(rows: "QuerySet[Any]", post: str, person: str) -> "QuerySet[Any, tuple[int, int]]":
    """Return the posts with the most people, and how many these are."""
    counted = rows.order_by().values(post).annotate(people=Count(person, distinct=True))
    return counted.order_by("-people").values_list(post, "people")[:CONSIDERED]
