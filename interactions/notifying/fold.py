"""Folds causes of notifications into the groups of their reader, many at a time.

- A cause is `due` from the transaction that changes it. A fold takes the lock of the reader without
  waiting. If the lock is taken, the work is left to its holder, who continues until nothing is due
  or FOLDS_MAX folds are done, and then to the sweep. So a burst on a viral post costs one writer's
  folds of up to BATCH causes each, and blocks nobody.
- Each new cause gets the next position of its reader under that lock. The position of a group is
  that of its newest shown actor, and the group is unread if that is above the read mark. Undoing
  the action, a block or a ban resets both.
- Only a fold writes `shown`, so the stored figures of a group change by exact differences.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from operator import or_

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q, QuerySet

from accounts import live_hint_types, live_hints
from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions.cache import invalidate_unread
from interactions.kinds import BY_VALUE, DEFAULT, REPLIED
from interactions.models import Comment, Notification, NotificationCause, NotificationReader
from interactions.notifying import mention_mails, push
from interactions.queries.notifications import has_seen_subject
from interactions.visibility import shown_to
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.runtime.failpoints import failpoint

logger = logging.getLogger(__name__)

BATCH = 200
# Maximum folds in a row: a viral post may have ever more causes, and other readers wait.
FOLDS_MAX = 50
# Actors that a group stores, and the minimum below which the fold looks for more.
NEWEST, NEWEST_MIN = 8, 3
READERS = 500
HINT = {"type": live_hint_types.register("notification", catch_up={})}

Key = tuple[int, int]  # kind, subject


def fold(user_id: int) -> int:
    """Fold the due causes of one reader; return how many. Sends a live hint to their open pages."""
    done, found = 0, None
    for _ in range(FOLDS_MAX):
        found = _fold(user_id)
        if not found:
            break
        done += found
    if found is None and not NotificationReader.objects.filter(pk=user_id).exists():
        # In a transaction of its own, so that nobody waits for the first fold of a reader.
        db.ensure(NotificationReader(pk=user_id))
        return fold(user_id)
    return done


def sweep() -> int:
    """Fold the due causes of some readers; return how many, 0 when nothing is left to do.

    A reader whose fold fails stays due and does not block the others.
    """
    rows = NotificationCause.objects.filter(due__isnull=False).order_by("due")
    waiting = rows.values_list("due", flat=True).distinct()[:READERS]
    done = 0
    for user_id in waiting:
        try:
            done += fold(user_id or 0)
        except (OperationalError, InterfaceError):  # left to the next sweep
            raise
        except Exception:
            logger.exception(
                "notifications of user %s could not be folded; left to the next sweep", user_id
            )
    return done


@db.atomic
def _fold(user_id: int) -> int | None:
    """Fold up to BATCH causes; return how many, None if the reader's lock was taken."""
    reader = locked_reader(user_id)
    if reader is None:
        return None
    locked = NotificationCause.objects.select_for_update(skip_locked=True)
    due = list(locked.filter(due=user_id).order_by("pk")[:BATCH])
    if not due:
        return 0
    failpoint("fold-claimed")
    now = max(db.now_ms(), reader.last_position + 1)
    last = now + len(due) - 1
    keys = {(cause.kind, cause.subject_id) for cause in due}
    actors = {cause.actor_id for cause in due}
    before = _places(user_id, keys, actors)
    _decide(reader, due, actors, now)
    columns = ["shown", "muted", "position", "due"]
    NotificationCause.objects.bulk_update(due, columns)
    after = _places(user_id, keys, actors)
    changed = _write_groups(user_id, due, before, after, now)
    # Changes that the reader cannot see cause no hint.
    news = bool(changed) and has_seen_subject(user_id, changed)
    if news:
        unread = [group for group in changed if group.is_unread]
        push.request(reader, unread)
        mention_mails.request(reader, unread)
    NotificationReader.objects.filter(pk=user_id).update(last_position=last)
    transaction.on_commit(partial(_notify, user_id, news=news), robust=True)
    return len(due)


def locked_reader(user_id: int) -> NotificationReader | None:
    """Return the reader under their lock; None if it is taken, or if there is no such reader."""
    readers = NotificationReader.objects.select_for_update(skip_locked=True)
    return readers.filter(pk=user_id).first()


def _decide(
    reader: NotificationReader, due: Sequence[NotificationCause], actors: set[int], now: int
) -> None:
    """Decide which causes count, and give the new ones their position."""
    shown = set(accounts_queries.cards(actors - {0})) | {0}
    shown -= set(relations_queries.blocked_ids(reader.pk).filter(to_user_id__in=actors))
    # Under a featured post not every reply is shown to the person it answers.
    replies = {cause.ref for cause in due if cause.kind == REPLIED.value}
    seen = set(shown_to(reader.pk).filter(pk__in=replies).values_list("pk", flat=True))
    gone = _gone(due)
    followed: set[int] | None = None
    for number, cause in enumerate(due):
        if not cause.position:
            cause.position = now + number
            choice = reader.preferences.get(BY_VALUE[cause.kind].name, DEFAULT)
            if choice == "following" and followed is None:
                followed = set(
                    relations_queries.following_ids(reader.pk).filter(to_user_id__in=actors)
                )
            # Actor 0 is nobody: the site itself.
            wanted = choice == DEFAULT or cause.actor_id in {0, *(followed or ())}
            is_official = BY_VALUE[cause.kind].official
            cause.muted = not (wanted and choice != "nobody") and not is_official
        unseen = (cause.kind == REPLIED.value and cause.ref not in seen) or cause.pk in gone
        cause.shown = cause.stands and not (cause.muted or unseen) and cause.actor_id in shown
        cause.due = None


def _gone(due: Sequence[NotificationCause]) -> set[int]:
    """Return those of these causes whose post or comment is deleted: they notify nobody.

    A deletion retires the existing groups; this handles groups created later.
    """
    causes = [cause for cause in due if cause.post_id and not BY_VALUE[cause.kind].official]
    below = [cause for cause in causes if BY_VALUE[cause.kind].subject == "comment"]
    posts = feeds_queries.deleted_among({cause.post_id for cause in causes})
    comments = Comment.objects.filter(pk__in={cause.subject_id for cause in below}, deleted=True)
    comment_ids = set(comments.values_list("pk", flat=True))
    gone = {cause.pk for cause in causes if cause.post_id in posts}
    return gone | {cause.pk for cause in below if cause.subject_id in comment_ids}


def _causes(user_id: int, keys: Iterable[Key]) -> "QuerySet[NotificationCause]":
    which = [Q(kind=kind, subject_id=subject_id) for kind, subject_id in keys]
    return NotificationCause.objects.filter(reduce(or_, which), user_id=user_id)


def _places(user_id: int, keys: set[Key], actors: set[int]) -> dict[Key, dict[int, int]]:
    """Return for each group those of these actors who count in it, and their newest position."""
    found: dict[Key, dict[int, int]] = defaultdict(dict)
    rows = _causes(user_id, keys).filter(actor_id__in=actors, shown=True)
    for kind, subject_id, actor, position in rows.values_list(
        "kind", "subject_id", "actor_id", "position"
    ):
        places = found[kind, subject_id]
        places[actor] = max(position, places.get(actor, 0))
    return found


def _write_groups(
    user_id: int,
    due: Iterable[NotificationCause],
    before: dict[Key, dict[int, int]],
    after: dict[Key, dict[int, int]],
    now: int,
) -> list[Notification]:
    """Update the groups of causes; return those that became unread, or are no longer unread."""
    causes = {(cause.kind, cause.subject_id): cause for cause in due}
    which = [Q(kind=kind, subject_id=subject_id) for kind, subject_id in causes]
    rows = Notification.objects.select_for_update().filter(reduce(or_, which), user_id=user_id)
    groups = {(row.kind, row.subject_id): row for row in rows.order_by("pk")}
    made, changed = [], []
    for key, cause in causes.items():
        group = groups.get(key)
        if group is None:
            group = Notification(user_id=user_id, kind=cause.kind, subject_id=cause.subject_id)
            group.post_id, group.reason = cause.post_id, cause.reason
            made.append(group)
        if BY_VALUE[cause.kind].official and cause.shown:
            group.reason = cause.reason  # that of the newest decision
        was_unread = group.is_unread
        _bring_in(group, before.get(key, {}), after.get(key, {}))
        group.touched_at = now
        if group.is_unread != was_unread:
            changed.append(group)
    Notification.objects.bulk_create(made)
    columns = ["actor_count", "newest", "position", "is_unread", "touched_at", "reason"]
    for group in groups.values():
        group.save(update_fields=columns)
    return changed


def _bring_in(group: Notification, before: dict[int, int], after: dict[int, int]) -> None:
    """Update a group from the previous and the current state of some actors."""
    touched = before.keys() | after.keys()
    kept = {actor: position for actor, position in group.newest if actor not in touched}
    # Other actors are known only above the floor.
    whole = len(group.newest) == group.actor_count
    floor = 0 if whole else min((position for _, position in group.newest), default=0)
    group.actor_count += len(after) - len(before)
    kept |= {actor: position for actor, position in after.items() if position >= floor}
    if len(kept) < min(NEWEST_MIN, group.actor_count):
        kept = _newest_of(group)
    newest = sorted(kept.items(), key=lambda item: (item[1], item[0]), reverse=True)[:NEWEST]
    group.newest = [list(item) for item in newest]
    group.position = newest[0][1] if newest else 0
    group.is_unread = group.position > group.read_position


def _newest_of(group: Notification) -> dict[int, int]:
    """Read the newest actors of a group that has too few of them stored."""
    rows = _causes(group.user_id, [(group.kind, group.subject_id)]).filter(shown=True)
    found: dict[int, int] = {}
    newest = rows.order_by("-position", "-actor_id").values_list("actor_id", "position")
    for actor, position in newest.iterator(NEWEST * 4):
        found.setdefault(actor, position)
        if len(found) == NEWEST:
            break
    return found


def _notify(user_id: int, *, news: bool) -> None:
    invalidate_unread([user_id])
    if news:
        live_hints.push([user_id], HINT)
