"""Rebuild inboxes from posts and relations, while everybody goes on reading and writing.

First the inbox is marked as complete for no author, so that everything is pulled: from then on the
feed is exact, whatever was wrong. Then rows that disagree with their posts are removed. Author by
author `sync_inbox` inserts missing rows, or purges, and records how far back the inbox is complete.

- A row that a reader may rely on is never removed, not even briefly: readers check the completeness
  of the inbox before they read it (docs/decisions/0001), so they would miss the loss.
- Each step is a short transaction. An interrupted rebuild leaves a feed that is exact and partly
  pulled. It may be run again, also concurrently.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import cache
from feeds.delivery.inbox import sync, trim
from feeds.models import InboxEdge, InboxEntry, InboxState, Post
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.positions import Position, before

# Rows, or people, read in one query.
ROWS = 1000
BATCH = 500


@dataclass
class Report:
    """The result: rebuilt inboxes, removed rows, synced pairs of reader and author."""

    viewers: int = 0
    removed: int = 0
    synced: int = 0


class _Row(NamedTuple):
    """A row of an inbox."""

    publish_time: int
    post_id: int
    author_id: int


def rebuild(
    viewer_ids: Iterable[int], progress: Callable[[int], object] = lambda viewer_id: None
) -> Report:
    """Rebuild the inboxes of these people one by one; `progress` is called with each."""
    report = Report()
    for viewer_id in viewer_ids:
        _mark_incomplete(viewer_id)
        _rebuild(viewer_id, report)
        progress(viewer_id)
    return report


def rebuild_as(actor: User, viewer_id: int, address: str) -> Report:
    """Rebuild one inbox; the audit trail records who started it, and from where."""
    report = Report()
    _begin(actor, viewer_id, address)
    _rebuild(viewer_id, report)
    return report


def everybody(after: int = 0) -> Iterator[int]:
    """Yield the ids of all people above an id, ascending."""
    while True:
        people = User.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)
        found = list(people[:BATCH])
        yield from found
        if len(found) < BATCH:
            return
        after = found[-1]


@db.atomic
def _begin(actor: User, viewer_id: int, address: str) -> None:
    accounts_actions.note(
        actor, accounts_actions.Act.REBUILD_INBOX, "user", viewer_id, address=address
    )
    _mark_incomplete(viewer_id)


@db.atomic
def _mark_incomplete(viewer_id: int) -> None:
    """Mark the inbox as complete for no author."""
    _change(viewer_id)
    InboxEdge.objects.filter(viewer_id=viewer_id).delete()


def _rebuild(viewer_id: int, report: Report) -> None:
    """Check the rows of a marked inbox, then sync its authors."""
    authors: set[int] = set()
    for rows in _pieces(viewer_id):
        authors.update(row.author_id for row in rows)
        wrong = _wrong(rows)
        if wrong:
            report.removed += _remove(viewer_id, wrong)
    # A follow after this has an event that syncs it too.
    for author_id in sorted(authors.union(relations_queries.following_ids(viewer_id))):
        sync.sync_inbox(viewer_id, author_id)
        report.synced += 1
    trim.trim(viewer_id)
    report.viewers += 1


def _pieces(viewer_id: int) -> Iterator[list[_Row]]:
    """Yield the rows of an inbox, ROWS at a time, newest first."""
    inbox_rows = InboxEntry.objects.filter(user_id=viewer_id)
    newest = inbox_rows.order_by("-publish_time", "-post_id")
    columns = newest.values_list("publish_time", "post_id", "author_id")
    cursor: Position | None = None
    while True:
        found = [
            _Row(*row) for row in columns.filter(before(cursor, "publish_time", "post_id"))[:ROWS]
        ]
        if found:
            yield found
        if len(found) < ROWS:
            return
        cursor = Position(found[-1].publish_time, found[-1].post_id)


def _wrong(rows: list[_Row]) -> list[_Row]:
    """Return rows whose post is deleted, or has another position or author."""
    posts = Post.objects.filter(pk__in=[row.post_id for row in rows], is_deleted=False)
    right = set(posts.values_list("position", "id", "author_id"))
    return [row for row in rows if row not in right]


@db.atomic
def _remove(viewer_id: int, rows: list[_Row]) -> int:
    _change(viewer_id)
    removed = 0
    for row in rows:
        removed += InboxEntry.objects.filter(user_id=viewer_id, **row._asdict()).delete()[0]
    return removed


def _change(viewer_id: int) -> None:
    """Lock the state of an inbox, before its rows, and make cached copies of it stale."""
    db.ensure(InboxState(viewer_id=viewer_id))
    InboxState.objects.filter(viewer_id=viewer_id).update(generation=F("generation") + 1)
    transaction.on_commit(partial(cache.changed_inbox, viewer_id), robust=True)
