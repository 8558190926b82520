"""What is erased of a closed account: each app registers erasers for its own tables.

- An eraser erases a few things of one person at a time, each in a short transaction that leaves all
  counts right. Its progress is the data itself: a process that dies anywhere loses nothing, and the
  next one goes on.
- The stages run in order. Between two of them the events of the first are delivered, because their
  handlers read what the next one erases.
- Each app also names its columns with ids of people: who erases them, or why they stay. A test
  demands an entry for every such column of every table, and `manage.py verify_erased` accepts in a
  table only what stays.

`accounts.erasing` runs the erasers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from socialsite.core import db
from socialsite.core.models import Event

Find = Callable[[int], "QuerySet[Any]"]


class Stage(IntEnum):
    """The order of erasing."""

    # Without followers the deletion of a post has no inboxes to look into.
    RELATIONS = 1
    SHOWN = 2  # what counts and what others saw: posts, comments, likes, votes
    ROWS = 3  # words, and rows that handlers of events no longer need
    PAIRS = 4  # who ever had to do with the person: the stage before reads it
    FILES = 5  # nothing uses the pictures any more
    SIGN_INS = 6
    TRACES = 7  # what the stages before may have left in the outbox and in Redis


@dataclass(frozen=True)
class Eraser:
    """Erases one kind of things of a person.

    `erase(user_id, limit)` erases at most about `limit` of them and returns how many, 0 at the end.
    `left(user_id)` returns how many there are.
    """

    name: str
    stage: Stage
    erase: Callable[[int, int], int]
    left: Callable[[int], int]


_erasers: list[Eraser] = []
# "app.Model.column" → what erases it, or why it stays.
erased_columns: dict[str, str] = {}
kept_columns: dict[str, str] = {}
# Columns with words of others, who may have written the name of the person.
texts_of_others: set[str] = set()
# Each returns the keys in Redis that may have the id of an erased person, as their rows do.
kept_keys: list[Callable[[int], set[str]]] = []


def register(
    *erasers: Eraser,
    erased: Mapping[str, str] | None = None,
    kept: Mapping[str, str] | None = None,
    texts: Iterable[str] = (),
) -> None:
    """Register the erasers of an app, and its columns with ids of people and words of others."""
    _erasers.extend(erasers)
    erased_columns.update(erased or {})
    kept_columns.update(kept or {})
    texts_of_others.update(texts)


def erasers(stage: Stage | None = None) -> list[Eraser]:
    """Return the erasers of a stage, or all, in their order."""
    return [one for one in sorted(_erasers, key=_stage) if stage in (None, one.stage)]


def _stage(one: Eraser) -> int:
    return one.stage


# --- common kinds -------------------------------------------------------------------------------
def rows(name: str, stage: Stage, find: Find) -> Eraser:
    """Return an eraser that deletes rows that nothing counts and nothing else refers to."""

    @db.atomic
    def erase(user_id: int, limit: int) -> int:
        found = find(user_id)
        keys = list(found.values_list("pk", flat=True)[:limit])
        if keys:
            found.model._default_manager.filter(pk__in=keys).delete()
        return len(keys)

    return Eraser(name, stage, erase, counted(find))


def cleared(name: str, stage: Stage, find: Find, **values: Any) -> Eraser:
    """Return an eraser that empties columns of rows that stay; `find` finds those not empty."""

    @db.atomic
    def erase(user_id: int, limit: int) -> int:
        found = find(user_id)
        keys = list(found.values_list("pk", flat=True)[:limit])
        if keys:
            found.model._default_manager.filter(pk__in=keys).update(**values)
        return len(keys)

    return Eraser(name, stage, erase, counted(find))


def one_by_one(
    name: str, stage: Stage, find: Find, erase_one: Callable[[int, int], object]
) -> Eraser:
    """Return an eraser that calls an action for each thing: `erase_one(user_id, key)`.

    Each is a transaction of its own.
    """

    def erase(user_id: int, limit: int) -> int:
        keys = list(find(user_id).values_list("pk", flat=True)[:limit])
        for key in keys:
            erase_one(user_id, key)
        return len(keys)

    return Eraser(name, stage, erase, counted(find))


def counted(find: Find) -> Callable[[int], int]:
    """Return a function that counts what `find` finds."""
    return lambda user_id: find(user_id).count()


# --- events -------------------------------------------------------------------------------------
def events_of(user_id: int) -> "QuerySet[Event]":
    """Return the events whose payload names a person; the outbox is short."""
    text: Combinable = Cast("payload", TextField())
    return Event.objects.annotate(text=text).filter(text__contains=str(user_id))


def is_awaited(user_id: int) -> bool:
    """Return whether an event about a person is still to be delivered.

    Dead events are not waited for: the last stage deletes them.
    """
    return events_of(user_id).filter(dead=False).exists()
