"""Compute the people whom somebody may want to follow: bounded work per person, kept for a day.

The order is by the number of the person's own follows who follow the candidate, weighted by how
long ago the candidate was here. The list is a hint: what a reader sees is checked when it is read.
"""

from datetime import timedelta
from functools import partial

from django.db.models import Count

from accounts import queries as accounts_queries
from relations import queries
from relations.models import I_FOLLOW, Dismissal, RelationCount, Relationship, SuggestionList
from socialsite.core import db
from socialsite.core.db import replicas
from socialsite.core.db.replicas import Freshness

# The follows that are looked at, newest first: with FOLLOW_LIMIT they bound the rows of a list.
SAMPLE = 200
# Candidates that are weighted, and those that are kept.
CONSIDERED, KEPT = 400, 100
FRESH_MS = timedelta(days=1) // timedelta(milliseconds=1)
# A candidate who was not here for so many days counts half.
HALF_LIFE_DAYS = 30
# The list of the whole site: the people with the most followers.
SITE = 0
# A short list of a site with few people costs little to compute, and would lack each new follow.
SHORT, FEW_PEOPLE = 20, 1000
# People refreshed in one go.
STEP = 100


def of(user_id: int) -> list[int]:
    """Return the ids of a person's candidates, best first; computes them if they are too old."""
    kept = SuggestionList.objects.filter(user_id=user_id).first()
    if kept is None or kept.computed_at <= db.now_ms() - FRESH_MS:
        return refresh(user_id)
    is_young = user_id == SITE and len(kept.candidates) < SHORT and _has_few_people()
    if kept.candidates and not is_young:
        return list(kept.candidates)
    # This list costs little to compute, and fills with the first follows.
    found = _compute(user_id)
    return found if found == kept.candidates else _store(user_id, found)


def _has_few_people() -> bool:
    return not RelationCount.objects.order_by("pk")[FEW_PEOPLE:].exists()


def refresh(user_id: int) -> list[int]:
    """Compute and store a person's candidates; SITE stands for everybody."""
    return _store(user_id, _compute(user_id))


def _compute(user_id: int) -> list[int]:
    read = _popular if user_id == SITE else partial(_of_follows, user_id)
    return replicas.read(Freshness.NOW, read)


def _store(user_id: int, found: list[int]) -> list[int]:
    row = SuggestionList(user_id=user_id, candidates=found, computed_at=db.now_ms())
    db.upsert(
        SuggestionList, [row], unique_fields=["user"], update_fields=["candidates", "computed_at"]
    )
    return found


def refresh_old() -> int:
    """Compute some lists anew that are about to be too old; return how many."""
    limit = db.now_ms() - FRESH_MS // 2
    old = SuggestionList.objects.filter(computed_at__lt=limit).order_by("computed_at")
    ids = list(old.values_list("user_id", flat=True)[:STEP])
    active = accounts_queries.idle_days(ids)
    gone = [ident for ident in ids if ident != SITE and active.get(ident, 99) > HALF_LIFE_DAYS]
    SuggestionList.objects.filter(user_id__in=gone).delete()
    for ident in sorted(set(ids) - set(gone)):
        refresh(ident)
    return len(ids)


def _of_follows(user_id: int) -> list[int]:
    follows = [place.id for place in queries.newest_follows(user_id, SAMPLE)]
    rows = Relationship.objects.filter(from_user__in=follows, relation__in=I_FOLLOW)
    rows = rows.exclude(to_user=user_id).order_by()
    counted = rows.values_list("to_user_id").annotate(common=Count("pk"))
    common = dict(counted.order_by("-common", "to_user_id")[:CONSIDERED])
    known = set(queries.ties(user_id).values_list("to_user_id", flat=True))
    known |= set(Dismissal.objects.filter(user_id=user_id).values_list("other_id", flat=True))
    return _weighted({ident: count for ident, count in common.items() if ident not in known})


def _popular() -> list[int]:
    counts = RelationCount.objects.filter(followers__gt=0).order_by("-followers", "user_id")
    return _weighted(dict(counts.values_list("user_id", "followers")[:CONSIDERED]))


def _weighted(counts: dict[int, int]) -> list[int]:
    """Return the best of these ids; people with closed accounts are left out."""
    idle = accounts_queries.idle_days(counts)
    score = {
        ident: count * 0.5 ** (idle[ident] / HALF_LIFE_DAYS)
        for ident, count in counts.items()
        if ident in idle
    }
    return sorted(score, key=lambda ident: (-score[ident], ident))[:KEPT]
