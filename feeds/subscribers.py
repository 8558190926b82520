"""What feeds do when they or a lower app tell a fact."""

from accounts import sockets
from feeds import fanout, inbox
from feeds.events import PostDeleted, PostPublished
from feeds.models import InboxEntry, Mode, Post
from relations import queries as relations
from relations.events import FollowCanceled, FollowCreated
from socialsite.core import doorbell
from socialsite.core.registry import on

BATCH = 1000


@on(FollowCreated, FollowCanceled, within=True)
def forget_edge(event: FollowCreated | FollowCanceled) -> None:
    """From this commit on the author is pulled whole, or not at all: exact at once (promise 1)."""
    inbox.forget(event.from_user_id, event.to_user_id)


@on(FollowCreated, FollowCanceled)
def sync_inbox(event: FollowCreated | FollowCanceled) -> None:
    """Backfill or purge, whichever the relation says now (A29, C8)."""
    inbox.sync_inbox(event.from_user_id, event.to_user_id)


@on(PostPublished)
def plan_fanout(event: PostPublished) -> None:
    """Write the plan, committed together with the mark that this event is applied (E2)."""
    fanout.plan(event.id)


@on(PostPublished, after=True)
def start_fanout(event: PostPublished) -> None:
    """Hand the chunks to the workers."""
    for chunk_id in fanout.open_chunks(event.id):
        doorbell.ring("feeds.run_chunk", chunk_id)


@on(PostPublished, after=True)
def hint_followers(event: PostPublished) -> None:
    """Tell connected followers that there is something new; their page asks for the count."""
    online = sorted(sockets.all_online() - {event.author_id})
    for start in range(0, len(online), BATCH):
        batch = online[start : start + BATCH]
        followers = relations.follower_ids(event.author_id).filter(to_user_id__in=batch)
        sockets.push(followers, {"type": "new_posts", "count": 1})


@on(PostDeleted)
def clean_inboxes(event: PostDeleted) -> None:
    """Remove the copies of a deleted post's index; readers filter it already (A29)."""
    post = Post.objects.get(pk=event.id)
    if post.mode == Mode.NONE:
        return  # it is in no inbox
    followers = list(relations.follower_ids(event.author_id))
    for start in range(0, len(followers), BATCH):
        InboxEntry.objects.filter(
            user_id__in=followers[start : start + BATCH],
            publish_time=post.position,
            post_id=post.pk,
        ).delete()
