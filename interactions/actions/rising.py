"""Rank the posts that people react to now, every few minutes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Count, F, QuerySet

from feeds import queries as feeds_queries
from interactions.models import Comment, Like, RisingPost, SubjectType
from socialsite.core import db, ids
from socialsite.core.db import replicas

DAY_MS = timedelta(days=1) // timedelta(milliseconds=1)
# After this time without reactions a score is halved.
HALF_LIFE_MS = DAY_MS / 2
# Points of one person's reaction.
LIKE, REPOST, COMMENT = 1, 2, 2
# Posts whose score is computed, and those that are kept; of one author.
CONSIDERED, KEPT, OF_AUTHOR = 1000, 100, 2


def rank() -> int:
    """Rank public posts anew by the reactions of the last day; return how many are kept.

    A like counts 1; reposts and comments count 2, once for each person whose account is open,
    besides the author. The sum is halved for every twelve hours of the post's age. An author has
    two posts at most in the ranking.
    """
    kept = replicas.read_for_task(_ranked, db.now_ms())
    _store(kept)
    return len(kept)


def _ranked(now: int) -> list[RisingPost]:
    kinds = _reactions(now - DAY_MS)
    points: Counter[int] = Counter()
    for kind in kinds:
        for ident, people in kind.most():
            points[ident] += kind.weight * people
    best = [ident for ident, _points in points.most_common(CONSIDERED)]
    posts = list(feeds_queries.public_originals(best))
    for kind in kinds:
        for ident in kind.by_author({ident: author for ident, author, _position in posts}):
            points[ident] -= kind.weight
    scored = sorted(
        (
            (points[ident] * 0.5 ** (max(now - position, 0) / HALF_LIFE_MS), ident, author)
            for ident, author, position in posts
            if points[ident] > 0
        ),
        reverse=True,
    )
    return [
        RisingPost(place=place, post_id=ident, score=score)
        for place, (score, ident) in enumerate([*_first_of_each(scored)][:KEPT])
    ]


@db.atomic
def _store(rows: list[RisingPost]) -> None:
    """Replace the ranking; of two that end at once the later one stays."""
    db.upsert(RisingPost, rows, unique_fields=["place"], update_fields=["post_id", "score"])
    RisingPost.objects.filter(place__gte=len(rows)).delete()


def _first_of_each(scored: Iterable[tuple[float, int, int]]) -> Iterable[tuple[float, int]]:
    """Yield score and post, without more than OF_AUTHOR posts of one author."""
    seen: Counter[int] = Counter()
    for score, ident, author in scored:
        seen[author] += 1
        if seen[author] <= OF_AUTHOR:
            yield score, ident


class Reactions(NamedTuple):
    """Rows of one kind, the names of their columns of the post and the person, and the weight."""

    rows: "QuerySet[Any]"
    post: str
    person: str
    weight: int

    def most(self) -> "QuerySet[Any, tuple[int, int]]":
        """Return the posts that most people reacted to, and how many these are."""
        counted = self.rows.order_by().values(self.post)
        counted = counted.annotate(people=Count(f"{self.person}_id", distinct=True))
        return counted.order_by("-people").values_list(self.post, "people")[:CONSIDERED]

    def by_author(self, authors: Mapping[int, int]) -> set[int]:
        """Return those of these posts (id → author) that their own author reacted to."""
        own = {f"{self.post}__in": list(authors), f"{self.person}__in": {*authors.values()}}
        pairs = self.rows.filter(**own).values_list(self.post, f"{self.person}_id")
        return {ident for ident, person in pairs if authors[ident] == person}


def _reactions(since: int) -> list[Reactions]:
    """Return the reactions to posts since a time (Unix ms) of people with open accounts."""
    # Ids are in the order of time: the primary keys have the rows of the last day.
    first = {"pk__gte": ids.first_of(since)}
    likes = Like.objects.filter(**first, subj_type=SubjectType.POST)
    reposts = feeds_queries.reposts().filter(**first)
    comments = Comment.objects.filter(
        **first, deleted=False, subject__subj_type=SubjectType.POST
    ).annotate(post=F("subject__subj_id"))
    kinds = [
        Reactions(likes, "subj_id", "user", LIKE),
        Reactions(reposts, "ref_post_id", "author", REPOST),
        Reactions(comments, "post", "author", COMMENT),
    ]
    return [kind._replace(rows=kind.rows.filter(**_open(kind.person))) for kind in kinds]


def _open(person: str) -> dict[str, bool]:
    return {f"{person}__banned_at__isnull": True, f"{person}__deleted_at__isnull": True}
