"""Keeps the causes of notifications consistent with the facts.

- Each function takes the ids of an event and reads the fact again, so that repeats and reordering
  change nothing (T22). The rows of the causes are locked before the fact is read: if two relays
  handle the like and the unlike of one person, the later one has read the current state.
- No row is shared between the actions of two people, so nothing queues behind a viral post. `fold`
  updates groups, at once for readers who are online.
- A fact that affects many rows, such as a ban or a deletion, is processed STEP rows in a
  transaction; an event with the progress continues the rest. Causes that appear meanwhile are
  decided by their own fold.
- People are not notified about their own actions. The fold applies blocks, bans and preferences.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts.live import hints
from feeds import queries as feeds_queries
from interactions.cache import invalidate_unread, take_turn
from interactions.events import NotificationsBehind
from interactions.models import (
    Comment,
    Like,
    Notification,
    NotificationCause,
    Subject,
    SubjectType,
)
from interactions.notifying import fold, kinds
from interactions.notifying.kinds import Kind
from interactions.notifying.mentions import usernames
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.db.compiled import compiled, compiled_update
from socialsite.core.events import publish
from socialsite.core.http.pagination import MAX_TS_MS

# For up to this many people the relay folds at once if they are online; for more the sweep does.
FOLD_NOW_MAX = 100
# Groups or causes changed in one transaction when one fact affects many.
STEP = 500

# Progress: the last values of two columns and, within the groups after that, the last cause.
Place = tuple[int, int, int]
START: Place = (0, 0, 0)


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


# --- causes by event ----------------------------------------------------------------------------
def of_like(subj_type: int, subj_id: int, liker_id: int) -> None:
    """Notify the author of a post or comment of a like, or remove that."""
    likes = Like.objects.filter(subj_type=subj_type, subj_id=subj_id, user_id=liker_id)
    if subj_type == SubjectType.POST:
        post = feeds_queries.texts([subj_id]).get(subj_id)
        if post is None:
            return
        cause = Cause(post.author_id, kinds.LIKED_POST, subj_id, subj_id, liker_id)
    else:
        comment = Comment.objects.select_related("subject").filter(pk=subj_id).first()
        if comment is None:
            return
        post_id = comment.subject.subj_id
        cause = Cause(comment.author_id, kinds.LIKED_COMMENT, subj_id, post_id, liker_id)
    sync([cause], likes.exists)


def of_comment(comment_id: int) -> None:
    """Notify people of a comment: the post's author, the person answered, people named in it.

    Each person gets one notification: the person answered gets none for being named.
    """
    comments = Comment.objects.filter(pk=comment_id)
    comment = comments.select_related("subject", "parent", "content_row").first()
    if comment is None:
        return
    post_id, author = comment.subject.subj_id, comment.author_id
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None:
        return
    if comment.parent is None:
        first = Cause(post.author_id, kinds.COMMENTED, post_id, post_id, author, comment_id)
    else:
        to = comment.parent
        first = Cause(to.author_id, kinds.REPLIED, to.pk, post_id, author, comment_id)
    found = [first]
    named = _named(comment.content_row.content) - {first.user_id}
    for user_id in named if comment.deleted else _readers(named, post_id):
        kind = kinds.MENTIONED_IN_COMMENT
        found.append(Cause(user_id, kind, comment_id, post_id, author))
    sync(found, comments.filter(deleted=False).exists)
    if comment.deleted:
        retire(post_id, comment_id)
        if comment.subject.status == Subject.Status.FEATURED:
            of_thread(post_id, comment_id)  # removing a pin hides the replies below as well
        _notify_of_removal(
            accounts_actions.Act.DELETE_COMMENT, kinds.REMOVED_COMMENT, comment_id, post_id
        )


def of_post(post_id: int) -> None:
    """Notify people named in a post; retire the notifications about a deleted post.

    The author of a reposted post is notified of the repost, not of being named in it.
    """
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None:
        return
    named = _named(f"{post.title}\n{post.content}")
    if not post.is_deleted:
        named = _readers(named - {post.ref_author_id}, post_id)
    kind = kinds.MENTIONED_IN_POST
    causes = [Cause(user_id, kind, post_id, post_id, post.author_id) for user_id in named]
    sync(causes, lambda: _exists(post_id))
    if post.is_deleted:
        retire(post_id)
        _notify_of_removal(accounts_actions.Act.DELETE_POST, kinds.REMOVED_POST, post_id, post_id)


def of_repost(repost_id: int, actor_id: int, post_id: int, author_id: int) -> None:
    """Notify the author of a post of a repost, or remove that."""
    repost = feeds_queries.texts([repost_id]).get(repost_id)
    if repost is None:
        return
    # A repost without text is unique per post, but gets a new id when it is made again.
    ref = repost_id if repost.content else 0
    wordless = feeds_queries.reposts_without_words(actor_id).filter(ref_post_id=post_id)
    cause = Cause(author_id, kinds.REPOSTED, post_id, post_id, actor_id, ref)
    sync([cause], (lambda: _exists(repost_id)) if ref else wordless.exists)


def of_follow(follower_id: int, user_id: int) -> None:
    """Notify a person of a follower, or remove that."""
    follows = relations_queries.following_ids(follower_id).filter(to_user_id=user_id)
    sync([Cause(user_id, kinds.FOLLOWED, user_id, 0, follower_id)], follows.exists)


def of_thread(post_id: int, comment_id: int | None = None, after: Place = START) -> None:
    """Show or hide notifications about replies as the author of a featured post pins and unpins.

    Covers all comments below the post, or only those related to one changed pin: the comment that
    it answers, and the comments below it, which are visible no longer than the comment itself.
    """
    groups = Notification.objects.filter(post_id=post_id)
    if comment_id is not None:
        comments = Comment.objects.filter(pk=comment_id)
        thread, answered = comments.values_list("subject_id", "parent_id").first() or (0, 0)
        below = Comment.objects.filter(subject_id=thread, root_id=comment_id).values("pk")
        touched = Q(subject_id__in=[comment_id, answered or 0])
        groups = groups.filter(touched | Q(subject_id__in=below))
    rows = list(
        _beyond(groups, "subject_id", after).values_list("subject_id", "pk", "user_id", "kind")[
            :STEP
        ]
    )
    # Mentions are checked on reading; those named must not count hidden comments.
    everybody = {user for _, _, user, _ in rows}
    transaction.on_commit(partial(invalidate_unread, everybody), robust=True)
    replied = [(user, subject) for subject, _, user, kind in rows if kind == kinds.REPLIED.value]
    place = (*rows[-1][:2], 0) if len(rows) == STEP else None
    if replied:
        users, subjects = map(set, zip(*replied, strict=True))
        causes = NotificationCause.objects.filter(
            user_id__in=users, kind=kinds.REPLIED.value, subject_id__in=subjects, pk__gt=after[2]
        )
        marked = list(causes.order_by("pk").values_list("user_id", "pk")[:STEP])
        if len(marked) == STEP:  # there are more of these groups
            place = (*after[:2], marked[-1][1])
        _mark(marked, is_all=after == START and place is None)
    _publish_rest("thread", [post_id, comment_id], place)


def of_pair(one_id: int, other_id: int, after: Place = START) -> None:
    """Show or hide the actions of two people towards each other, by the current blocks."""
    between = Q(actor_id=one_id, user_id=other_id) | Q(actor_id=other_id, user_id=one_id)
    _mark_batch("pair", [one_id, other_id], NotificationCause.objects.filter(between), after)


def of_standing(user_id: int, after: Place = START) -> None:
    """Show or hide the actions of a person, by their current ban."""
    causes = NotificationCause.objects.filter(actor_id=user_id)
    _mark_batch("standing", [user_id], causes, after)


# --- the rows -----------------------------------------------------------------------------------
def sync(causes: Iterable[Cause], stands: Callable[[], bool], reason: str = "") -> None:
    """Update the rows of causes by whether their fact stands, which is read under their locks."""
    if not connection.in_atomic_block:
        raise RuntimeError("sync() needs a transaction")
    # Locked in one order to avoid deadlocks between relays.
    ordered = sorted({cause for cause in causes if cause.user_id != cause.actor_id})
    if not ordered:
        return
    db.ensure(*[cause.row for cause in ordered])
    rows = _locked(ordered)
    now = stands()
    touched = [row for row in rows if row.stands != now]
    for row in touched:
        _set_stands(row.pk, row.user_id, reason[: Notification.REASON_MAX], stands=now)
    # Undone before anybody was notified, or never done.
    never = [row.pk for row in rows if not now and not row.position]
    if never:
        NotificationCause.objects.filter(pk__in=never).delete()
    _fold_soon({row.user_id for row in touched})


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


def retire(post_id: int, subject_id: int | None = None, after: Place = START) -> None:
    """End all notifications about a post with everything below it, or about one comment.

    Readers no longer see these groups anyway; this clears their unread state and lets them expire.
    """
    official = [kind.value for kind in kinds.KINDS if kind.official]
    groups = Notification.objects.filter(post_id=post_id).exclude(kind__in=official)
    if subject_id is not None:
        groups = groups.filter(subject_id=subject_id)
    rows = list(
        _beyond(groups, "subject_id", after).values_list("subject_id", "pk", "user_id")[:STEP]
    )
    if rows:
        some = Notification.objects.filter(pk__in=[row[1] for row in rows])
        some.update(is_unread=False, read_position=MAX_TS_MS)
        user_ids = {row[2] for row in rows}
        transaction.on_commit(partial(invalidate_unread, user_ids), robust=True)
    _publish_rest(
        "retire", [post_id, subject_id], (*rows[-1][:2], 0) if len(rows) == STEP else None
    )


# --- facts that affect many ---------------------------------------------------------------------
WORKS: dict[str, Callable[..., None]] = {
    "thread": of_thread,
    "pair": of_pair,
    "standing": of_standing,
    "retire": retire,
}


def run_next_step(event: NotificationsBehind) -> None:
    """Process the next step of a fact that affects many rows."""
    WORKS[event.work](*event.about, after=tuple(event.after))


def _publish_rest(work: str, about: list[int | None], place: Place | None) -> None:
    if place is not None:
        publish(NotificationsBehind(id=about[0] or 0, work=work, about=about, after=[*place]))


def _beyond(rows: "QuerySet[Any]", column: str, after: Place) -> "QuerySet[Any]":
    """Return the rows after a place, in the order of an index."""
    rest = Q(**{f"{column}__gt": after[0]}) | Q(pk__gt=after[1])
    return rows.filter(rest, **{f"{column}__gte": after[0]}).order_by(column, "pk")


def _mark_batch(
    work: str, about: list[int | None], causes: "QuerySet[NotificationCause]", after: Place
) -> None:
    """Mark the next causes as due to be folded again."""
    marked = list(_beyond(causes, "user_id", after).values_list("user_id", "pk")[:STEP])
    place = (*marked[-1], 0) if len(marked) == STEP else None
    _mark(marked, is_all=after == START and place is None)
    _publish_rest(work, about, place)


def _mark(causes: Sequence[tuple[int, int]], *, is_all: bool) -> None:
    """Mark causes (reader, key) as due; if these are all, fold at once for online readers."""
    rows = NotificationCause.objects.filter(pk__in=[ident for _, ident in causes])
    rows.update(due=F("user_id"))
    if is_all:
        _fold_soon({user_id for user_id, _ in causes})


def _notify_of_removal(act: str, kind: Kind, subject_id: int, post_id: int) -> None:
    """Notify an author that staff removed their text, with the kind of reason."""
    detail = accounts_queries.noted(act, kind.subject, subject_id)
    if detail is None:
        return
    cause = Cause(int(detail["author"]), kind, subject_id, post_id, actor_id=0)
    sync([cause], lambda: True, str(detail.get("reason", "")))


def _exists(post_id: int) -> bool:
    return not feeds_queries.texts([post_id])[post_id].is_deleted


def _named(text: str) -> set[int]:
    return set(accounts_queries.ids_by_name(usernames(text)).values())


def _readers(user_ids: Iterable[int], post_id: int) -> set[int]:
    """Return those of a few people who may see a post."""
    return {user_id for user_id in user_ids if feeds_queries.visible_texts(user_id, [post_id])}


def _fold_soon(user_ids: Collection[int]) -> None:
    """After the commit, fold for people who have a page open; the sweep folds for the others.

    For a ban or a post's settings, which affect thousands, the sweep does all, so that events need
    not wait.
    """
    if 0 < len(user_ids) <= FOLD_NOW_MAX:
        transaction.on_commit(partial(_fold_online, user_ids), robust=True)


def _fold_online(user_ids: Collection[int]) -> None:
    for user_id in hints.online(user_ids):
        # The first of a burst is folded at once; the sweep folds the rest together.
        if take_turn(user_id):
            fold.fold(user_id)
