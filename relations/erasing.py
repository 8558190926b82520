"""What is erased of the relations of a closed account."""

from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from relations import actions
from relations.counters import counts
from relations.models import Dismissal, RelationCount, RelationLog, Relationship, SuggestionList
from relations.pairs import locks
from socialsite.core import db
from socialsite.core.erasing import Eraser, Stage, counted, one_by_one, register, rows


def _standing(user_id: int) -> "QuerySet[Relationship, Any]":
    """Return the rows of people who follow or block the person, or are followed or blocked."""
    return _pairs(user_id).filter(relation__isnull=False)


def _pairs(user_id: int) -> "QuerySet[Relationship, Any]":
    return Relationship.objects.filter(from_user_id=user_id)


def _end(user_id: int, row_id: int) -> None:
    for other in _pairs(user_id).filter(pk=row_id).values_list("to_user_id", flat=True):
        actions.end_all(user_id, other)


def _erase_pairs(user_id: int, limit: int) -> int:
    """Delete pairs without a relation, with their history."""
    ended = _pairs(user_id).filter(relation__isnull=True)
    others = list(ended.values_list("to_user_id", flat=True)[:limit])
    for other in others:
        _erase_pair(user_id, other)
    return len(others)


@db.atomic
def _erase_pair(user_id: int, other_id: int) -> None:
    counts.settle(user_id, other_id)
    pair = locks.pair(user_id, other_id)
    if any(row.relation is not None for row in pair):
        return
    for one, two in ((user_id, other_id), (other_id, user_id)):
        RelationLog.objects.filter(actor_id=one, target_id=two).delete()
        locks.row(one, two).delete()


def _count(user_id: int) -> "QuerySet[RelationCount]":
    """Return the counters once there is no pair to count."""
    found = RelationCount.objects.filter(pk=user_id)
    return found.none() if _pairs(user_id).exists() else found


def _suggestions(user_id: int) -> "QuerySet[SuggestionList]":
    """Return the person's suggestions, and those that name the person: they are made anew."""
    lists = SuggestionList.objects.annotate(text=Cast("candidates", TextField()))
    return lists.filter(Q(pk=user_id) | Q(text__contains=str(user_id)))


def _dismissals(user_id: int) -> "QuerySet[Dismissal]":
    return Dismissal.objects.filter(Q(user_id=user_id) | Q(other_id=user_id))


register(
    one_by_one("relations", Stage.RELATIONS, _standing, _end),
    Eraser("pairs without relation", Stage.PAIRS, _erase_pairs, counted(_pairs)),
    rows("counters of relations", Stage.PAIRS, _count),
    rows("suggestions", Stage.ROWS, _suggestions),
    rows("dismissed suggestions", Stage.ROWS, _dismissals),
    erased={
        "relations.Relationship.from_user": "pairs without relation",
        "relations.Relationship.to_user": "pairs without relation",
        "relations.RelationLog.actor": "pairs without relation",
        "relations.RelationLog.target": "pairs without relation",
        "relations.RelationCount.user": "counters of relations",
        "relations.SuggestionList.user": "suggestions",
        "relations.SuggestionList.candidates": "suggestions",
        "relations.Dismissal.user": "dismissed suggestions",
        "relations.Dismissal.other": "dismissed suggestions",
    },
)
