"""Handlers of feeds for its own events and those of lower apps."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from django.db import transaction

from accounts import actions as accounts_actions
from accounts.models import User
from feeds import actions, cache, tiers
from feeds.actions import publishing
from feeds.delivery.fanout import new_post_hints, plan
from feeds.delivery.inbox import sync
from feeds.discovery.search import indexing
from feeds.events import (
    PostDeleted,
    PostEdited,
    PostPreviewed,
    PostPublished,
    PostRemoved,
    PostRestored,
)
from feeds.models import Draft, DraftImage, InboxEntry, Post, PostImage, PostQuerySet
from feeds.visibility import visible_to
from relations import queries as relations_queries
from relations.events import Blocked, FollowCanceled, FollowCreated, Unblocked
from socialsite.core.db.compiled import compiled
from socialsite.core.events.registry import on
from socialsite.core.media import references
from socialsite.core.media.videos.events import VideoChanged
from socialsite.core.models import Media
from socialsite.core.positions import Position
from socialsite.core.runtime.failpoints import failpoint

BATCH = 1000


@references.register_use
def is_in_a_post(picture: Media) -> bool:
    """Return whether a post shows a picture."""
    return PostImage.objects.filter(media_id=picture.pk, post__is_deleted=False).exists()


@references.register_use
def is_in_a_draft(picture: Media) -> bool:
    """Return whether a draft has a picture or video."""
    if picture.is_video:
        return Draft.objects.filter(video=picture.pk).exists()
    return DraftImage.objects.filter(media_id=picture.pk).exists()


@references.seen_by_all
def in_public_posts(pictures: Sequence[Media]) -> set[str]:
    """Return the files of pictures in posts that guests may see."""
    shown = set(_in_public_posts([picture.pk for picture in pictures]))
    found = [picture for picture in pictures if picture.pk in shown]
    return {name for picture in found for name in picture.file_names()}


@compiled
def _in_public_posts(media_ids: Collection[int]) -> Any:
    return posts_with(media_ids, None).values_list("pictures__media_id", flat=True)


@references.shows_to_reader
def is_in_a_visible_post(picture: Media, viewer_id: int) -> bool:
    """Return whether a reader may see a post with this picture, by the visibility of posts."""
    return posts_with([picture.pk], viewer_id).exists()


def posts_with(media_ids: Collection[int], viewer_id: int | None) -> PostQuerySet:
    """Return the posts with these pictures that a reader may see."""
    return visible_to(viewer_id).filter(pictures__media_id__in=media_ids)


Reversal, ActKind = accounts_actions.Reversal, accounts_actions.ActKind
accounts_actions.reversals[ActKind.DELETE_POST] = Reversal(actions.restore, actions.finish_removal)
accounts_actions.reversals[ActKind.NOTE] = Reversal(actions.take_note)


@on(FollowCreated, FollowCanceled, within=True)
def mark_edge_missing(event: FollowCreated | FollowCanceled) -> None:
    """From this commit on the author is pulled completely or not at all: exact at once."""
    sync.mark_missing(event.from_user_id, event.to_user_id)
    transaction.on_commit(partial(invalidate_readers, event), robust=True)


@on(Blocked, Unblocked, within=True)
def invalidate_readers_on_commit(event: Blocked | Unblocked) -> None:
    """Invalidate both readers' caches on commit: they stop seeing each other, or start again."""
    transaction.on_commit(partial(invalidate_readers, event), robust=True)


@on(FollowCreated, FollowCanceled, Blocked, Unblocked, after=True)
def invalidate_readers(event: FollowCreated | FollowCanceled | Blocked | Unblocked) -> None:
    """Invalidate both readers' caches; repeated by the event in case the process died."""
    cache.changed_reader(event.from_user_id, event.to_user_id)


@on(FollowCreated, FollowCanceled)
def sync_inbox(event: FollowCreated | FollowCanceled) -> None:
    """Backfill or purge, as the current relation requires."""
    sync.sync_inbox(event.from_user_id, event.to_user_id)


@on(PostPublished)
def plan_fanout(event: PostPublished) -> None:
    """Write the plan, committed together with the mark that this event is applied."""
    plan.write(event.id)


@on(PostPublished, after=True)
def update_caches(event: PostPublished) -> None:
    """Update the caches again, in case the process died after the commit."""
    if event.renews_pulled:
        cache.PULLED.renew()  # for later posts of that week too, whatever became of this one
    post = Post.objects.get(pk=event.id)
    if post.is_deleted:
        return
    place = Position(post.position, post.pk)
    pushed = tiers.is_pushed(post.mode)
    cache.published(post.author_id, place, pushed=pushed)


@on(PostDeleted, after=True)
def update_caches_of_deletion(event: PostDeleted) -> None:
    """Update the caches again, in case the process died after the commit."""
    post = Post.objects.get(pk=event.id)
    cache.deleted(post.author_id, Position(post.position, post.pk))


@on(PostEdited, PostPreviewed, PostRemoved, PostRestored, after=True)
def update_caches_of_edit(
    event: PostEdited | PostPreviewed | PostRemoved | PostRestored,
) -> None:
    """Update the caches again, in case the process died after the commit."""
    cache.edited(event.id)


@on(VideoChanged)
def show_video(event: VideoChanged) -> None:
    """Make the posts of a video agree with its state."""
    publishing.refresh_video(event.id)


@on(VideoChanged, after=True)
def update_caches_of_video(event: VideoChanged) -> None:
    """Invalidate the posts of a video, once its new state is committed."""
    for post_id in PostImage.objects.filter(media_id=event.id).values_list("post_id", flat=True):
        cache.edited(post_id)


@on(PostPublished, after=True)
def start_fanout(event: PostPublished) -> None:
    """Enqueue the chunks."""
    plan.enqueue_chunks(event.id)


@on(PostPublished, after=True)
def hint_followers(event: PostPublished) -> None:
    """Send live hints to connected followers who get no push (`fanout` sends the others)."""
    mode, ts_ms = Post.objects.values_list("mode", "position").get(pk=event.id)
    if not tiers.is_pulled(mode) or tiers.is_imported(mode):
        return
    for batch in new_post_hints.online_followers(event.author_id):
        people = tiers.without_push(User.objects.filter(pk__in=batch), mode)
        new_post_hints.publish(people.values_list("pk", flat=True), ts_ms)


@on(PostDeleted)
def clean_inboxes(event: PostDeleted) -> None:
    """Remove a deleted post's inbox rows; readers filter them already."""
    post = Post.objects.get(pk=event.id)
    if not tiers.is_pushed(post.mode):
        return  # it is in no inbox
    followers = list(relations_queries.follower_ids(event.author_id))
    for start in range(0, len(followers), BATCH):
        InboxEntry.objects.filter(
            user_id__in=followers[start : start + BATCH],
            publish_time=post.position,
            post_id=post.pk,
        ).delete()
    failpoint("inboxes-cleaned")


@on(PostDeleted, after=True)
def clean_cached_inboxes(event: PostDeleted) -> None:
    """Remove a deleted post from cached inboxes too."""
    post = Post.objects.get(pk=event.id)
    if not tiers.is_pushed(post.mode):
        return
    followers = list(relations_queries.follower_ids(event.author_id))
    for start in range(0, len(followers), BATCH):
        cache.clean(followers[start : start + BATCH], Position(post.position, post.pk))


@on(PostPublished, PostEdited, PostDeleted, PostRemoved, PostRestored)
def index_words(
    event: PostPublished | PostEdited | PostDeleted | PostRemoved | PostRestored,
) -> None:
    """Make the search index agree with the present words of the post."""
    indexing.refresh(event.id)
