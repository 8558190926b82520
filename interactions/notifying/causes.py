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

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts import staff_acts
from feeds import queries as feeds_queries
from interactions import kinds
from interactions.cache import invalidate_unread
from interactions.events import NotificationsBehind
from interactions.kinds import Kind
from interactions.mentions import readers
from interactions.models import (
    Comment,
    CommentContent,
    Like,
    Notification,
    NotificationCause,
    Subject,
    SubjectType,
    Vote,
)
from interactions.notifying import official
from interactions.notifying.cause_rows import FOLD_NOW_MAX, Cause, fold_soon, sync, sync_each
from interactions.notifying.progress import START, Place, publish_rest
from relations import queries as relations_queries
from socialsite.core import db
from socialsite.core.positions import MAX_TS_MS
from socialsite.core.text.mentions import usernames

# Groups or causes changed in one transaction when one fact affects many.
STEP = 500
# Voters notified in one transaction: those of them who are online are hinted at once.
VOTERS = FOLD_NOW_MAX - 1


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


def of_comment(comment_id: int, former: Collection[int] = ()) -> None:
    """Notify people of a comment: the post's author, the person answered, people named in it.

    Each person gets one notification: the person answered gets none for being named. `former` are
    the people whom the comment named before an edit.
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
    seen = named if comment.deleted else readers(named, post_id)
    for user_id in seen.union(former) - {first.user_id}:
        kind = kinds.MENTIONED_IN_COMMENT
        found.append(Cause(user_id, kind, comment_id, post_id, author))
    sync_each(found, lambda rows: _standing_of_comment(comment_id, rows, seen))
    if comment.deleted:
        retire(post_id, comment_id)
        if comment.subject.status == Subject.Status.FEATURED:
            of_thread(post_id, comment_id)  # removing a pin hides the replies below as well
        of_comment_removal(comment_id, post_id)


def of_comment_removal(comment_id: int, post_id: int) -> None:
    """Notify the author that staff deleted a comment, or take it back after an undo."""
    act = accounts_actions.Act.DELETE_COMMENT
    _notify_of_removal(act, kinds.REMOVED_COMMENT, comment_id, post_id)


def _standing_of_comment(
    comment_id: int, rows: Sequence[NotificationCause], seen: Collection[int]
) -> list[NotificationCause]:
    """Return the rows that stand: none of a deleted comment, and of mentions the present ones."""
    texts = CommentContent.objects.filter(pk=comment_id, comment__deleted=False)
    words = texts.values_list("content", flat=True).first()
    if words is None:
        return []
    mentions = [row for row in rows if row.kind == kinds.MENTIONED_IN_COMMENT.value]
    others = [row for row in rows if row not in mentions]
    return others + (_named_still(_named(words), mentions, seen) if mentions else [])


def of_post(post_id: int) -> None:
    """Notify people named in a post; retire the notifications about a deleted post.

    The author of a reposted post is notified of the repost, not of being named in it.
    """
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None:
        return
    named = _named_in(post)
    _sync_named(post_id, post.author_id, named if post.is_deleted else readers(named, post_id))
    if post.is_deleted:
        retire(post_id)


def of_removal(post_id: int) -> None:
    """Notify the author that staff removed a post, or take it back when it is restored.

    What happened meanwhile is made up for: people named in a restored post, the end of its poll.
    """
    of_audience(post_id)
    _notify_of_removal(accounts_actions.Act.DELETE_POST, kinds.REMOVED_POST, post_id, post_id)
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None or post.is_deleted or post.is_removed:
        return
    of_post(post_id)
    if post.poll is not None and post.poll["ends_at"] <= db.now_ms():
        of_poll(post_id)


def of_edit(post_id: int, version: int) -> None:
    """Notify people whom an edit names, and take it back from those whom it no longer names.

    `version` is the one that the edit made. Each edit settles the people of the version before.
    """
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None or post.is_deleted:
        return
    former = _named(feeds_queries.former_words(post_id, version - 1))
    _sync_named(post_id, post.author_id, readers(_named_in(post), post_id), former)


def _sync_named(
    post_id: int, author_id: int, seen: Collection[int], former: Collection[int] = ()
) -> None:
    """Update the causes of people by whether the post names them; `seen` may see it."""
    kind = kinds.MENTIONED_IN_POST
    people = {*seen, *former}
    causes = [Cause(user_id, kind, post_id, post_id, author_id) for user_id in people]
    sync_each(causes, lambda rows: _standing_of_post(post_id, rows, seen))


def _standing_of_post(
    post_id: int, rows: Sequence[NotificationCause], seen: Collection[int]
) -> list[NotificationCause]:
    """Return the rows of people whom a post names now, none of a deleted post."""
    post = feeds_queries.texts([post_id])[post_id]
    return [] if post.is_deleted else _named_still(_named_in(post), rows, seen)


def _named_still(
    named: Collection[int], rows: Sequence[NotificationCause], seen: Collection[int]
) -> list[NotificationCause]:
    """Return the rows of named people; a new row needs a person who may see the post.

    Other rows stay: people see their notifications only while they see the post.
    """
    return [row for row in rows if row.user_id in named and (row.stands or row.user_id in seen)]


def of_audience(post_id: int, after: Place = START) -> None:
    """Invalidate unread counts after fewer people may see a post: they see less below it too."""
    groups = Notification.objects.filter(post_id=post_id)
    rows = list(
        _beyond(groups, "subject_id", after).values_list("subject_id", "pk", "user_id")[:STEP]
    )
    user_ids = {user_id for _, _, user_id in rows}
    transaction.on_commit(partial(invalidate_unread, user_ids), robust=True)
    publish_rest("audience", [post_id], (*rows[-1][:2], 0) if len(rows) == STEP else None)


def of_repost(repost_id: int, actor_id: int, post_id: int, author_id: int) -> None:
    """Notify the author of a post of a repost, or remove that."""
    repost = feeds_queries.texts([repost_id]).get(repost_id)
    if repost is None or repost.is_imported:
        return
    # A repost without text is unique per post, but gets a new id when it is made again.
    ref = repost_id if repost.content else 0
    wordless = feeds_queries.reposts_without_words(actor_id).filter(ref_post_id=post_id)
    cause = Cause(author_id, kinds.REPOSTED, post_id, post_id, actor_id, ref)
    sync([cause], (lambda: _exists(repost_id)) if ref else wordless.exists)


def of_poll(post_id: int, after: Place = START) -> None:
    """Notify the author of a poll that ended, and those who voted, some in each step.

    The author of an imported one is not notified: it may have ended long ago.
    """
    post = feeds_queries.texts([post_id]).get(post_id)
    if post is None or post.is_deleted:
        return
    votes = Vote.objects.filter(post_id=post_id, pk__gt=after[0]).order_by("pk")
    found = list(votes.values_list("pk", "user_id")[:VOTERS])
    causes = [
        Cause(user_id, kinds.ENDED_POLL, post_id, post_id, post.author_id)
        for _, user_id in found
        if user_id != post.author_id
    ]
    if after == START and not post.is_imported:
        causes.append(Cause(post.author_id, kinds.ENDED_OWN_POLL, post_id, post_id, actor_id=0))
    sync(causes, lambda: _exists(post_id))
    publish_rest("poll", [post_id], (found[-1][0], 0, 0) if len(found) == VOTERS else None)


def of_follow(follower_id: int, user_id: int) -> None:
    """Notify a person of a follower, or remove that; an imported follow is not notified."""
    follows = relations_queries.announced_follows(follower_id, user_id)
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
    publish_rest("thread", [post_id, comment_id], place)


def of_pair(one_id: int, other_id: int, after: Place = START) -> None:
    """Show or hide the actions of two people towards each other, by the current blocks."""
    between = Q(actor_id=one_id, user_id=other_id) | Q(actor_id=other_id, user_id=one_id)
    _mark_batch("pair", [one_id, other_id], NotificationCause.objects.filter(between), after)


def of_standing(user_id: int, after: Place = START) -> None:
    """Show or hide the actions of a person, by their current ban."""
    causes = NotificationCause.objects.filter(actor_id=user_id)
    _mark_batch("standing", [user_id], causes, after)


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
    publish_rest("retire", [post_id, subject_id], (*rows[-1][:2], 0) if len(rows) == STEP else None)


def revive(post_id: int, subject_id: int) -> None:
    """Let the notifications about a restored comment be unread again when something new comes."""
    groups = Notification.objects.filter(post_id=post_id, subject_id=subject_id)
    groups.filter(read_position=MAX_TS_MS).update(read_position=F("position"))


# --- facts that affect many ---------------------------------------------------------------------
WORKS: dict[str, Callable[..., None]] = {
    "thread": of_thread,
    "pair": of_pair,
    "standing": of_standing,
    "retire": retire,
    "audience": of_audience,
    "poll": of_poll,
    "reports": official.of_reports,
}


def run_next_step(event: NotificationsBehind) -> None:
    """Process the next step of a fact that affects many rows."""
    WORKS[event.work](*event.about, after=tuple(event.after))


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
    publish_rest(work, about, place)


def _mark(causes: Sequence[tuple[int, int]], *, is_all: bool) -> None:
    """Mark causes (reader, key) as due; if these are all, fold at once for online readers."""
    rows = NotificationCause.objects.filter(pk__in=[ident for _, ident in causes])
    rows.update(due=F("user_id"))
    if is_all:
        fold_soon({user_id for user_id, _ in causes})


def _notify_of_removal(act: str, kind: Kind, subject_id: int, post_id: int) -> None:
    """Notify an author that staff removed their text, while that stands, with the reason."""
    detail = accounts_queries.noted(act, kind.subject, subject_id)
    if detail is None:
        return
    act_id = int(detail.get("act", 0))  # 0 before acts were recorded
    cause = Cause(int(detail["author"]), kind, subject_id, post_id, actor_id=0, ref=act_id)
    stands = partial(staff_acts.stands, act_id) if act_id else lambda: True
    sync([cause], stands, str(detail.get("reason", "")))


def _exists(post_id: int) -> bool:
    post = feeds_queries.texts([post_id])[post_id]
    return not (post.is_deleted or post.is_removed)


def _named_in(post: feeds_queries.PostText) -> set[int]:
    """Return the people whom a post names, without the author of the post that it shows.

    An imported post names nobody: its names are of another place or time.
    """
    if post.is_imported:
        return set()
    return _named(f"{post.title}\n{post.signs}") - {post.ref_author_id or 0}


def _named(text: str) -> set[int]:
    return set(accounts_queries.ids_by_name(usernames(text)).values())
