"""The rows of causes: written under their locks, by whether their fact stands."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from accounts import live_hints
from interactions.cache import take_turn
from interactions.kinds import Kind
from interactions.models import Notification, NotificationCause
from interactions.notifying import fold
from socialsite.core import db
from socialsite.core.db.compiled import compiled, compiled_update

# For up to this many people the relay folds at once if they are online; for more the sweep does.
FOLD_NOW_MAX = 100


class Cause(NamedTuple):
    """One action towards `user_id`, as `models.NotificationCause` stores it."""

    user_id: int
    kind: Kind
    subject_id: int
    post_id: int
    actor_id: int
    ref: int = 0

    @property
    def row(self) -> NotificationCause:
        """A new row for it."""
        return NotificationCause(**{**self._asdict(), "kind": self.kind.value})

    @property
    def key(self) -> Q:
        """The unique key of its row."""
        return Q(
            user_id=self.user_id,
            kind=self.kind.value,
            subject_id=self.subject_id,
            actor_id=self.actor_id,
            ref=self.ref,
        )


def sync(causes: Iterable[Cause], stands: Callable[[], bool], reason: str = "") -> None:
    """Update the rows of causes by whether their fact stands, which is read under their locks."""
    sync_each(causes, lambda rows: rows if stands() else (), reason)


def sync_each(
    causes: Iterable[Cause],
    standing: Callable[[Sequence[NotificationCause]], Iterable[NotificationCause]],
    reason: str = "",
) -> None:
    """Update the rows of causes; `standing` reads the facts under their locks.

    It gets all rows and returns those whose fact stands.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("sync() needs a transaction")
    # Locked in one order to avoid deadlocks between relays.
    ordered = sorted({cause for cause in causes if cause.user_id != cause.actor_id})
    if not ordered:
        return
    db.ensure(*[cause.row for cause in ordered])
    rows = _locked(ordered)
    now = {row.pk for row in standing(rows)}
    touched = [row for row in rows if row.stands != (row.pk in now)]
    for row in touched:
        _set_stands(row.pk, row.user_id, reason[: Notification.REASON_MAX], stands=row.pk in now)
    # Undone before anybody was notified, or never done.
    never = [row.pk for row in rows if row.pk not in now and not row.position]
    if never:
        NotificationCause.objects.filter(pk__in=never).delete()
    fold_soon({row.user_id for row in touched})


def _locked(causes: Sequence[Cause]) -> list[NotificationCause]:
    """Return the rows of causes under their locks."""
    if len(causes) > 1:
        rows = NotificationCause.objects.select_for_update()
        return list(rows.filter(reduce(or_, [cause.key for cause in causes])))
    (cause,) = causes
    return _locked_one(
        cause.user_id, cause.subject_id, cause.actor_id, cause.ref, kind=cause.kind.value
    )


@compiled
def _locked_one(
    user_id: int, subject_id: int, actor_id: int, ref: int, *, kind: int
) -> "QuerySet[NotificationCause]":
    rows = NotificationCause.objects.select_for_update()
    return rows.filter(
        user_id=user_id, kind=kind, subject_id=subject_id, actor_id=actor_id, ref=ref
    )


@compiled_update
def _set_stands(
    ident: int, due: int, reason: str, *, stands: bool
) -> "tuple[QuerySet[NotificationCause], dict[str, Any]]":
    values = {"stands": stands, "due": due, "reason": reason}
    return NotificationCause.objects.filter(pk=ident), values


def fold_soon(user_ids: Collection[int]) -> None:
    """After the commit, fold for people who have a page open; the sweep folds for the others.

    For a ban or a post's settings, which affect thousands, the sweep does all, so that events need
    not wait.
    """
    if 0 < len(user_ids) <= FOLD_NOW_MAX:
        transaction.on_commit(partial(_fold_online, user_ids), robust=True)


def _fold_online(user_ids: Collection[int]) -> None:
    for user_id in live_hints.online(user_ids):
        # The first of a burst is folded at once; the sweep folds the rest together.
        if take_turn(user_id):
            fold.fold(user_id)
