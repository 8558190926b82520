"""Handlers of interactions for its own events and those of lower apps."""

from functools import partial

from django.db import transaction

from accounts import actions as accounts_actions
from accounts import queries as accounts_queries
from accounts.events import StaffActed, UserBanned, UserClosed, UserReopened, UserUnbanned
from feeds.events import (
    PollEnded,
    PostDeleted,
    PostEdited,
    PostPublished,
    PostRemoved,
    PostReposted,
    PostRestored,
    RepostDeleted,
)
from interactions import actions, cache, queries
from interactions.events import (
    Bookmarked,
    CommentDeleted,
    Commented,
    CommentEdited,
    CommentPinned,
    CommentRestored,
    CommentSettingsChanged,
    CommentUnpinned,
    Liked,
    MentionMailDue,
    NotificationsBehind,
    PushWanted,
    ReportsClosed,
    Unbookmarked,
    Unliked,
    Voted,
)
from interactions.models import ReportedKind, SubjectType
from interactions.notifying import causes, mention_mails, official
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.errors import Unavailable
from socialsite.core.events import enqueue
from socialsite.core.events.registry import on
from socialsite.core.media import references

# Staff see the pictures of what was reported, whatever others may see.
references.shows_to_reader(queries.case_shows)


@on(PostDeleted)
def close_subject(event: PostDeleted) -> None:
    """Close the comments of a deleted post."""
    actions.mark_post_deleted(event.id)


# The first of many events about one object folds all committed changes of that object.
@on(Liked, Unliked)
def fold_likes(event: Liked | Unliked) -> None:
    """Add likes to the kept count."""
    actions.fold_counts(event.subj_type, event.subj_id)


@on(Bookmarked, Unbookmarked)
def fold_bookmarks(event: Bookmarked | Unbookmarked) -> None:
    """Add bookmarks to the kept count."""
    actions.fold_counts(SubjectType.POST, event.post_id)


@on(Voted)
def fold_votes(event: Voted) -> None:
    """Add votes to the tally of their poll."""
    actions.fold_votes(event.post_id)


@on(PostReposted, RepostDeleted)
def fold_reposts(event: PostReposted | RepostDeleted) -> None:
    """Add reposts to the kept count."""
    actions.fold_counts(SubjectType.POST, event.ref_id)


@on(PostReposted, RepostDeleted, within=True)
def count_repost(event: PostReposted | RepostDeleted) -> None:
    """Count a repost in the transaction that creates or deletes its post, so each exactly once."""
    by = 1 if isinstance(event, PostReposted) else -1
    actions.count_repost(event.ref_id, event.author_id, by)


@on(PostReposted, RepostDeleted, after=True)
def invalidate_repost_again(event: PostReposted | RepostDeleted) -> None:
    """Repeat the cache invalidation after the commit of a repost, or of its deletion."""
    cache.invalidate(event.ref_id, event.author_id)


@on(Liked, Unliked, after=True)
def invalidate_like_again(event: Liked | Unliked) -> None:
    """Repeat the cache invalidation after the commit of a like, in case the process died."""
    if event.subj_type == SubjectType.POST:
        cache.invalidate(event.subj_id, event.user_id)
        return
    thread = queries.thread_of(event.subj_id)
    if thread is not None:
        cache.invalidate_liked(event.user_id, thread)


@on(Bookmarked, Unbookmarked, after=True)
def invalidate_bookmark_again(event: Bookmarked | Unbookmarked) -> None:
    """Repeat the cache invalidation after the commit of a bookmark."""
    cache.invalidate(event.post_id, event.user_id)


@on(Voted, after=True)
def invalidate_vote_again(event: Voted) -> None:
    """Repeat the cache invalidation after the commit of a vote."""
    cache.invalidate(event.post_id, event.user_id)


@on(Commented, CommentDeleted, CommentRestored, after=True)
def invalidate_counts_again(event: Commented | CommentDeleted | CommentRestored) -> None:
    """Repeat the cache invalidation after the commit of a comment, or of its deletion."""
    cache.invalidate(event.post_id)


@on(Commented, CommentDeleted, CommentRestored, after=True)
def invalidate_reply_counts_again(event: Commented | CommentDeleted | CommentRestored) -> None:
    """Repeat it for counts of replies; a new reply matters if its author was banned meanwhile."""
    if not isinstance(event, Commented) or event.author_id not in accounts_queries.cards(
        [event.author_id]
    ):
        cache.GONE.invalidate(queries.above(event.id))


accounts_actions.reversals[accounts_actions.ActKind.DELETE_COMMENT] = accounts_actions.Reversal(
    actions.restore_comment
)


# --- reports ------------------------------------------------------------------------------------
@on(PostDeleted, PostRemoved)
def close_reports_of_post(event: PostDeleted | PostRemoved) -> None:
    """Close the case of a deleted post."""
    actions.close_reports_of(ReportedKind.POST, event.id)


@on(CommentDeleted)
def close_reports_of_comment(event: CommentDeleted) -> None:
    """Close the case of a deleted comment."""
    actions.close_reports_of(ReportedKind.COMMENT, event.id)


@on(UserBanned)
def close_reports_about(event: UserBanned) -> None:
    """Close the cases of a banned person."""
    actions.close_reports_about(event.user_id)


# --- notifications ------------------------------------------------------------------------------
@on(Liked, Unliked)
def notify_of_like(event: Liked | Unliked) -> None:
    """Notify the author."""
    causes.of_like(event.subj_type, event.subj_id, event.user_id)


@on(Commented, CommentDeleted, CommentRestored)
def notify_of_comment(event: Commented | CommentDeleted | CommentRestored) -> None:
    """Notify the author of the post, the person answered, and the people named."""
    if isinstance(event, CommentRestored):
        causes.revive(event.post_id, event.id)
        causes.of_comment_removal(event.id, event.post_id)
    causes.of_comment(event.id)


@on(CommentEdited)
def notify_of_comment_edit(event: CommentEdited) -> None:
    """Notify people whom an edited comment names now; take it back from those it does not name."""
    causes.of_comment(event.id, event.named)


@on(CommentPinned, CommentUnpinned)
def notify_of_pin(event: CommentPinned | CommentUnpinned) -> None:
    """A pinned comment is shown, and notifies, even if comments are featured."""
    causes.of_thread(event.post_id, event.id)


@on(CommentSettingsChanged)
def notify_of_settings(event: CommentSettingsChanged) -> None:
    """Featured or not any more: hidden comments notify nobody."""
    causes.of_thread(event.post_id)


@on(PostPublished, PostDeleted)
def notify_of_post(event: PostPublished | PostDeleted) -> None:
    """Notify people named in a post; end the notifications about a deleted one."""
    causes.of_post(event.id)


@on(PostEdited)
def notify_of_edit(event: PostEdited) -> None:
    """Notify people whom an edited post names now; take it back from those it does not name."""
    causes.of_edit(event.id, event.version)
    if event.narrowed:
        causes.of_audience(event.id)


@on(PostRemoved, PostRestored)
def notify_of_removal(event: PostRemoved | PostRestored) -> None:
    """Notify the author of a post that staff deleted."""
    causes.of_removal(event.id)


@on(PostRemoved, PostRestored, within=True)
def invalidate_unread_of_removed(event: PostRemoved | PostRestored) -> None:
    """Invalidate on commit the unread counts of people who see less now, or more."""
    causes.of_audience(event.id)


@on(PostEdited, within=True)
def invalidate_unread_of_narrowed(event: PostEdited) -> None:
    """Invalidate on commit the unread counts of people who may not see the post any more."""
    if event.narrowed:
        causes.of_audience(event.id)


@on(PollEnded)
def notify_of_poll(event: PollEnded) -> None:
    """Notify the author and those who voted."""
    causes.of_poll(event.id)


@on(PostReposted, RepostDeleted)
def notify_of_repost(event: PostReposted | RepostDeleted) -> None:
    """Notify the author of the original post."""
    causes.of_repost(event.id, event.author_id, event.ref_id, event.ref_author_id)


@on(ReportsClosed)
def notify_of_reports(event: ReportsClosed) -> None:
    """Notify those who reported."""
    official.of_reports(event.case_id, (event.first - 1, 0, 0))


@on(StaffActed)
def notify_of_decision(event: StaffActed) -> None:
    """Notify the person."""
    official.of_decision(event.user_id, event.ref)


@on(FollowCreated, FollowCanceled)
def notify_of_follow(event: FollowCreated | FollowCanceled) -> None:
    """Notify the person followed."""
    causes.of_follow(event.from_user_id, event.to_user_id)


@on(Blocked, Unblocked)
def notify_of_block(event: Blocked | Unblocked) -> None:
    """Hide or show the two people's notifications about each other."""
    causes.of_pair(event.from_user_id, event.to_user_id)


@on(UserBanned, UserUnbanned, UserClosed, UserReopened)
def notify_of_ban(event: UserBanned | UserUnbanned | UserClosed | UserReopened) -> None:
    """Hide or show everybody's notifications about the person."""
    causes.of_standing(event.user_id)


@on(NotificationsBehind)
def bring_up_more_notifications(event: NotificationsBehind) -> None:
    """Continue the work of one fact that affects many notifications."""
    causes.run_next_step(event)


@on(MentionMailDue)
def mail_mentions(event: MentionMailDue) -> None:
    """Ask for a mail about unread mentions, or wait until it may go."""
    mention_mails.plan(event.user_id)


@on(PushWanted, after=True)
def hand_push_to_worker(event: PushWanted) -> None:
    """Enqueue the push for a worker, as push services may be slow; retry later without a broker.

    It comes after all other work. The outbox stores it until the broker accepts it; while it is
    being sent, it is lost if the worker is killed.
    """
    if not enqueue.send_last(
        "interactions.push", event.user_id, event.ids, event.devices, event.tries
    ):
        raise Unavailable


_Pair = FollowCreated | FollowCanceled | Blocked | Unblocked


@on(FollowCreated, FollowCanceled, Blocked, Unblocked, within=True)
def invalidate_unread_on_commit(event: _Pair) -> None:
    """Invalidate the unread counts of both on commit, as both now see other content."""
    transaction.on_commit(partial(invalidate_unread, event), robust=True)


@on(FollowCreated, FollowCanceled, Blocked, Unblocked, after=True)
def invalidate_unread(event: _Pair) -> None:
    """Repeat the invalidation, in case the process died."""
    cache.invalidate_unread([event.from_user_id, event.to_user_id])
