"""What interactions does when it or a lower app tells a fact."""

from functools import partial

from django.db import transaction

from accounts import queries as people
from accounts.events import UserBanned, UserUnbanned
from feeds.events import PostDeleted, PostPublished, PostReposted, RepostDeleted
from interactions import actions, cache, queries
from interactions.events import (
    Bookmarked,
    CommentDeleted,
    Commented,
    CommentPinned,
    CommentSettingsChanged,
    CommentUnpinned,
    Liked,
    NotificationsBehind,
    Unbookmarked,
    Unliked,
)
from interactions.models import ReportedKind, SubjectType
from interactions.notifying import causes
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.registry import on


@on(PostDeleted)
def close_subject(event: PostDeleted) -> None:
    """Let nobody comment any more on a post that was deleted."""
    actions.mark_post_deleted(event.id)


# Of what is committed for one thing the first of many events folds all.
@on(Liked, Unliked)
def fold_likes(event: Liked | Unliked) -> None:
    """Add likes to the kept count."""
    actions.fold_counts(event.subj_type, event.subj_id)


@on(Bookmarked, Unbookmarked)
def fold_bookmarks(event: Bookmarked | Unbookmarked) -> None:
    """Add bookmarks to the kept count."""
    actions.fold_counts(SubjectType.POST, event.post_id)


@on(PostReposted, RepostDeleted)
def fold_reposts(event: PostReposted | RepostDeleted) -> None:
    """Add reposts to the kept count."""
    actions.fold_counts(SubjectType.POST, event.ref_id)


@on(PostReposted, RepostDeleted, within=True)
def count_repost(event: PostReposted | RepostDeleted) -> None:
    """Count a repost in the transaction that makes or deletes its post, so each one once."""
    by = 1 if isinstance(event, PostReposted) else -1
    actions.count_repost(event.ref_id, event.author_id, by)


@on(PostReposted, RepostDeleted, after=True)
def forget_repost_again(event: PostReposted | RepostDeleted) -> None:
    """Repeat what follows the commit of a repost, or of its end."""
    cache.forget(event.ref_id, event.author_id)


@on(Liked, Unliked, after=True)
def forget_like_again(event: Liked | Unliked) -> None:
    """Repeat what follows the commit of a like: that process may have died in between."""
    if event.subj_type == SubjectType.POST:
        cache.forget(event.subj_id, event.user_id)
        return
    thread = queries.thread_of(event.subj_id)
    if thread is not None:
        cache.forget_liked(event.user_id, thread)


@on(Bookmarked, Unbookmarked, after=True)
def forget_bookmark_again(event: Bookmarked | Unbookmarked) -> None:
    """Repeat what follows the commit of a bookmark."""
    cache.forget(event.post_id, event.user_id)


@on(Commented, CommentDeleted, after=True)
def forget_counts_again(event: Commented | CommentDeleted) -> None:
    """Repeat what follows the commit of a comment, or of its deletion."""
    cache.forget(event.post_id)


@on(Commented, CommentDeleted, after=True)
def forget_gone_again(event: Commented | CommentDeleted) -> None:
    """Repeat it for counts of replies; a new one matters if its author was banned meanwhile."""
    if isinstance(event, CommentDeleted) or event.author_id not in people.cards([event.author_id]):
        cache.GONE.forget(queries.above(event.id))


# --- reports ------------------------------------------------------------------------------------
@on(PostDeleted)
def close_reports_of_post(event: PostDeleted) -> None:
    """Leave nothing in the queue that is gone."""
    actions.close_reports_of(ReportedKind.POST, event.id)


@on(CommentDeleted)
def close_reports_of_comment(event: CommentDeleted) -> None:
    """Leave nothing in the queue that is gone."""
    actions.close_reports_of(ReportedKind.COMMENT, event.id)


@on(UserBanned)
def close_reports_about(event: UserBanned) -> None:
    """Leave nothing in the queue of somebody who is banned."""
    actions.close_reports_about(event.user_id)


# --- notifications ------------------------------------------------------------------------------
@on(Liked, Unliked)
def notify_of_like(event: Liked | Unliked) -> None:
    """Tell who wrote it."""
    causes.of_like(event.subj_type, event.subj_id, event.user_id)


@on(Commented, CommentDeleted)
def notify_of_comment(event: Commented | CommentDeleted) -> None:
    """Tell the author of the post, who is answered, and who is named."""
    causes.of_comment(event.id)


@on(CommentPinned, CommentUnpinned)
def notify_of_pin(event: CommentPinned | CommentUnpinned) -> None:
    """What is picked is shown, and told, also where the comments are featured."""
    causes.of_thread(event.post_id, event.id)


@on(CommentSettingsChanged)
def notify_of_settings(event: CommentSettingsChanged) -> None:
    """Featured or not any more: what is not shown is not told."""
    causes.of_thread(event.post_id)


@on(PostPublished, PostDeleted)
def notify_of_post(event: PostPublished | PostDeleted) -> None:
    """Tell who is named; of a post that is gone nobody."""
    causes.of_post(event.id)


@on(PostReposted, RepostDeleted)
def notify_of_repost(event: PostReposted | RepostDeleted) -> None:
    """Tell who wrote what is shown."""
    causes.of_repost(event.id, event.author_id, event.ref_id, event.ref_author_id)


@on(FollowCreated, FollowCanceled)
def notify_of_follow(event: FollowCreated | FollowCanceled) -> None:
    """Tell who is followed."""
    causes.of_follow(event.from_user_id, event.to_user_id)


@on(Blocked, Unblocked)
def notify_of_block(event: Blocked | Unblocked) -> None:
    """Take what the two did to each other out of their notifications, or back in."""
    causes.of_pair(event.from_user_id, event.to_user_id)


@on(UserBanned, UserUnbanned)
def notify_of_ban(event: UserBanned | UserUnbanned) -> None:
    """Take what the person did out of everybody's notifications, or back in."""
    causes.of_standing(event.user_id)


@on(NotificationsBehind)
def bring_up_more_notifications(event: NotificationsBehind) -> None:
    """Go on with what one fact changes for many."""
    causes.go_on(event)


_Pair = FollowCreated | FollowCanceled | Blocked | Unblocked


@on(FollowCreated, FollowCanceled, Blocked, Unblocked, within=True)
def forget_unread_on_commit(event: _Pair) -> None:
    """What both may see is different from this commit on, and so is what they have not read."""
    transaction.on_commit(partial(forget_unread, event), robust=True)


@on(FollowCreated, FollowCanceled, Blocked, Unblocked, after=True)
def forget_unread(event: _Pair) -> None:
    """Repeat it: that process may have died in between."""
    cache.forget_unread([event.from_user_id, event.to_user_id])
