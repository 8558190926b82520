"""Notifications as their reader may see them: the list, and how many are unread.

The stored values of a group follow events. The list checks again what may be shown (T42): nobody
who is blocked either way or whose account is closed, nothing about a post or a comment that the
reader may not see now. Groups of which nothing is left are passed over, and the page is full all
the same.
"""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Q

from accounts import queries as accounts_queries
from feeds import queries as feeds_queries
from interactions import cache
from interactions.kinds import BY_VALUE, CHOOSABLE, DEFAULT, KINDS, VALUES, Choice
from interactions.models import Comment, Notification, NotificationCause, NotificationReader
from interactions.visibility import shown_to, visible_to
from relations import queries as relations_queries
from socialsite.core.cache import reads
from socialsite.core.cache.reads import Numbers
from socialsite.core.db import page_filling
from socialsite.core.positions import Page, Position, before
from socialsite.core.text.cuts import cut, shortened
from socialsite.core.times import iso

if TYPE_CHECKING:
    from accounts.models import User

UNREAD_MAX = 99
ACTORS_SHOWN = 3
PREVIEW_MAX = 100


class Item(TypedDict):
    """A notification as its reader sees it.

    `post_id` is the post to open, None for people and for what is gone. `reason` says why staff
    removed the subject, in a word, where they said so.
    """

    id: str
    kind: str
    actors: list[dict[str, Any]]
    actor_count: int
    subject: dict[str, str]
    created_at: str
    read: bool
    reason: str
    post_id: str | None


def notifications(
    viewer: "User", cursor: Position | None = None, size: int = 20, kind: str | None = None
) -> Page[Item]:
    """Return a page of notifications, or of those of one kind; the newest actor first."""
    groups = _Groups(viewer.pk, Q(position__gt=0), VALUES[kind] if kind else ())
    return page_filling.fill(groups.fetch, page_filling.walk(groups.run, cursor, size + 1), size)


def unread_among(user_id: int, ids: Collection[int]) -> list[Item]:
    """Return those of these notifications that the reader may see now and has not read.

    In the order of the list: the newest actor first.
    """
    rows = Notification.objects.filter(user_id=user_id, pk__in=ids, is_unread=True)
    found = _shown(user_id, list(rows.order_by("-position", "-id")))
    return [item for item in found.values() if not item["read"]]


def pushed_kinds(viewer: "User") -> dict[str, bool]:
    """Return for each kind whether its notifications are pushed to a person's devices."""
    readers = NotificationReader.objects.filter(pk=viewer.pk)
    silent = readers.values_list("not_pushed", flat=True).first() or []
    return {name: name not in silent for name in CHOOSABLE}


def unread_count(viewer: "User") -> tuple[int, bool]:
    """Return the number of unread notifications, up to 99, and whether there are more."""
    reads.run(unread := Unread([viewer.pk]))
    count = unread.value
    return min(count, UNREAD_MAX), count > UNREAD_MAX


def preferences(viewer: "User") -> dict[str, Choice]:
    """Return a person's notification settings, by name of the kind."""
    readers = NotificationReader.objects.filter(pk=viewer.pk)
    chosen = readers.values_list("preferences", flat=True).first() or {}
    return {name: chosen.get(name, DEFAULT) for name in CHOOSABLE}


class Unread(Numbers):
    """The number of a reader's unread notifications.

    A ban or its end makes all cached numbers stale; every other change invalidates the number of
    its reader.
    """

    cache = cache.UNREAD

    def read(self, idents: Collection[int]) -> dict[int, bytes]:
        return {user_id: b"%d" % count_unread(user_id) for user_id in idents}

    @property
    def value(self) -> int:
        """The number of unread notifications, at most UNREAD_MAX + 1."""
        (count,) = self.known.values()
        return count


def count_unread(user_id: int) -> int:
    """Count unread notifications from the tables; UNREAD_MAX + 1 stands for more.

    At most ROUNDS_MAX rounds are read; items below that many hidden ones do not count.
    """
    count, groups = 0, _Groups(user_id, Q(is_unread=True))
    runs = page_filling.walk(groups.run, None, UNREAD_MAX + 1)
    for run in islice(runs, page_filling.ROUNDS_MAX):
        found = groups.fetch([place.id for place in run])
        count += sum(not item["read"] for item in found.values())
        if count > UNREAD_MAX:
            return UNREAD_MAX + 1
    return count


def unread_since(user_id: int, since: int) -> bool:
    """Return whether a notification after a time (Unix ms) is unread."""
    rows = Notification.objects.filter(user_id=user_id, is_unread=True, position__gt=since)
    return rows.exists()


def has_seen_subject(user_id: int, rows: Sequence[Notification]) -> bool:
    """True when the reader may see the subject of one of these groups."""
    subjects = _Subjects(user_id, rows)
    return any(subjects.of(row) is not None for row in rows)


class _Groups:
    """A reader's groups: `run` reads places after a cursor, `fetch` the visible items of these.

    With `kinds` only groups of these values: one query for each, since an index has the order of
    one kind only.
    """

    def __init__(self, user_id: int, which: Q, kinds: Collection[int] = ()) -> None:
        self._id = user_id
        rows = Notification.objects.filter(which, user_id=user_id).order_by("-position", "-id")
        self._parts = [rows.filter(kind=kind) for kind in kinds] or [rows]
        self._read: dict[int, Notification] = {}

    def run(self, after: Position | None, limit: int) -> list[Position]:
        found = [row for part in self._parts for row in part.filter(before(after))[:limit]]
        if len(self._parts) > 1:
            found.sort(key=lambda row: (row.position, row.pk), reverse=True)
            del found[limit:]
        self._read = {row.pk: row for row in found}
        return [Position(row.position, row.pk) for row in found]

    def fetch(self, ids: Sequence[int], most: int = 0) -> dict[int, Item]:
        return _shown(self._id, [self._read[ident] for ident in ids])


# --- the gate -----------------------------------------------------------------------------------
def _shown(user_id: int, rows: Sequence[Notification]) -> dict[int, Item]:
    """Return what a reader may see of some groups, by id; a constant number of queries."""
    actors = {actor for row in rows for actor, _ in row.newest} - {0}
    people = accounts_queries.cards(actors)
    for hidden in (
        relations_queries.blocked_ids(user_id).filter(to_user_id__in=actors) if people else ()
    ):
        people.pop(hidden, None)
    subjects = _Subjects(user_id, rows)
    beyond = _blocked_beyond(user_id, rows)
    found = {}
    for row in rows:
        kind = BY_VALUE[row.kind]
        places = [(actor, at) for actor, at in row.newest if actor in people or not actor]
        subject = subjects.of(row)
        if subject is None or not places:
            continue
        gone = len(row.newest) - len(places) + beyond.get((row.kind, row.subject_id), 0)
        found[row.pk] = Item(
            id=str(row.pk),
            kind=kind.name,
            actors=[_face(people[actor]) for actor, _ in places[:ACTORS_SHOWN] if actor],
            actor_count=row.actor_count - gone if any(actor for actor, _ in places) else 0,
            subject={"type": kind.subject, "id": str(row.subject_id), "preview": subject},
            created_at=iso(places[0][1]),
            read=places[0][1] <= row.read_position,
            reason=row.reason,
            post_id=None if kind.official or not row.post_id else str(row.post_id),
        )
    return found


def _face(card: accounts_queries.Card) -> dict[str, Any]:
    return {name: card[name] for name in ("id", "username", "nickname", "avatar")}


def _blocked_beyond(user_id: int, rows: Sequence[Notification]) -> dict[tuple[int, int], int]:
    """Return the number of counted actors beyond `newest` with a block in either direction.

    Once the event of a block has been handled, its actors are no longer counted.
    """
    large = [row for row in rows if row.actor_count > len(row.newest)]
    if not large:
        return {}
    at_hand = {(row.kind, row.subject_id): {actor for actor, _ in row.newest} for row in large}
    causes = NotificationCause.objects.filter(
        user_id=user_id, shown=True, actor_id__in=relations_queries.blocked_ids(user_id)
    )
    found: dict[tuple[int, int], set[int]] = {}
    for kind, subject_id, actor in causes.values_list("kind", "subject_id", "actor_id"):
        key = (kind, subject_id)
        if key in at_hand and actor not in at_hand[key]:
            found.setdefault(key, set()).add(actor)
    return {key: len(actors) for key, actors in found.items()}


class _Subjects:
    """The subjects of a page's groups that the reader may see."""

    def __init__(self, user_id: int, rows: Sequence[Notification]) -> None:
        self._removed = {
            "post": _own_posts(user_id, _ids(rows, "post", official=True)),
            "comment": _own_comments(user_id, _ids(rows, "comment", official=True)),
        }
        self._posts = feeds_queries.visible_texts(
            user_id,
            {row.post_id for row in rows if row.post_id and not BY_VALUE[row.kind].official},
        )
        self._comments = _visible_comments(user_id, _ids(rows, "comment", official=False))

    def of(self, row: Notification) -> str | None:
        """Return the beginning of a group's subject, empty for a person; None if hidden."""
        kind = BY_VALUE[row.kind]
        if kind.subject == "user":
            return ""
        if kind.official:
            return preview_of(self._removed[kind.subject].get(row.subject_id, ""))
        post = self._posts.get(row.post_id)
        if post is None:
            return None
        if kind.subject == "post":
            return preview_of(post.preview)
        words = self._comments.get(row.subject_id)
        return None if words is None else preview_of(words)


def _own_posts(user_id: int, ids: Collection[int]) -> dict[int, str]:
    """Return the texts of the reader's own posts, deleted ones too."""
    found = feeds_queries.texts(ids).items() if ids else ()
    return {ident: post.preview for ident, post in found if post.author_id == user_id}


def _own_comments(user_id: int, ids: Collection[int]) -> dict[int, str]:
    """Return the texts of the reader's own comments, deleted ones too."""
    if not ids:
        return {}
    own = Comment.objects.filter(pk__in=ids, author_id=user_id)
    return dict(own.values_list("pk", "content_row__content"))


def _ids(rows: Sequence[Notification], subject: str, *, official: bool) -> set[int]:
    which = {kind.value for kind in KINDS if kind.subject == subject and kind.official == official}
    return {row.subject_id for row in rows if row.kind in which}


def _visible_comments(user_id: int, ids: Collection[int]) -> dict[int, str]:
    """Return the texts of comments that are not deleted, in threads that the reader may see."""
    if not ids:
        return {}
    seen = visible_to(user_id).filter(pk__in=ids, deleted=False)
    rows = list(seen.values_list("pk", "root_id", "content_row__content"))
    roots = {root for _, root, _ in rows if root is not None}
    shown = set(shown_to(user_id).filter(pk__in=roots).values_list("pk", flat=True))
    return {ident: words for ident, root, words in rows if root is None or root in shown}


def preview_of(words: str) -> str:
    """Return the beginning of a text, on one line."""
    return shortened(" ".join(cut(words, 2 * PREVIEW_MAX).split()), PREVIEW_MAX)
