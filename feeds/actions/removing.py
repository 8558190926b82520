"""Posts that staff delete: nobody sees them, but nothing is lost before the deletion is final.

A removed post stays in every list, as the posts of a banned person do, and the visibility check
hides it, from its author too. So its return needs no delivery. Its media, former versions, named
people and poll stay with it.
"""

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F

from accounts import actions as accounts_actions
from feeds import cache, queries
from feeds.actions.editing import arrange_media
from feeds.discovery.tags import indexing
from feeds.events import PostRemoved, PostReposted, PostRestored, RepostDeleted
from feeds.models import NAMED, AuthorHead, Kind, Post, PostContent
from socialsite.core import events
from socialsite.core.rights import Right

if TYPE_CHECKING:
    from accounts.actions import Grounds
    from accounts.models import User

ActKind = accounts_actions.ActKind


def remove(actor: "User", post: Post, address: str, grounds: "Grounds") -> None:
    """Remove a locked post of somebody else. Publishes PostRemoved.

    Raises Forbidden and TwoFactorNeeded, as all acts of staff.
    """
    accounts_actions.check_over(actor, post.author, Right.CONTENT)
    _set_removed(post, is_removed=True)
    events.publish(PostRemoved(id=post.pk, author_id=post.author_id))
    publish_if_repost(RepostDeleted, post)
    act = accounts_actions.record_act(
        ActKind.DELETE_POST,
        post.author,
        actor,
        grounds,
        subject_id=post.pk,
        taken=accounts_actions.KEPT,
        is_told=False,
    )
    detail = {"author": str(post.author_id), "act": str(act.pk)} | grounds.detail
    accounts_actions.note(actor, accounts_actions.Act.DELETE_POST, "post", post.pk, detail, address)


def restore(post_id: int, taken: str = "") -> None:
    """Show a removed post again, unless its author deleted it meanwhile. Publishes PostRestored.

    Runs in the transaction of the undo.
    """
    post = Post.objects.select_for_update().filter(pk=post_id, is_removed=True).first()
    if post is None or post.is_deleted or _is_made_again(post):
        return
    _set_removed(post, is_removed=False)
    events.publish(PostRestored(id=post.pk, author_id=post.author_id))
    publish_if_repost(PostReposted, post)


def publish_if_repost(event: type[PostReposted] | type[RepostDeleted], post: Post) -> None:
    """Publish that a repost is there, or is gone; nothing for other posts."""
    if (shown := post.ref_post) is not None:
        events.publish(
            event(post.pk, post.author_id, ref_id=shown.pk, ref_author_id=shown.author_id)
        )


def _is_made_again(post: Post) -> bool:
    """Return whether a removed repost without words has a successor: there is one at most."""
    if post.kind != Kind.REPOST or PostContent.objects.get(pk=post.pk).content:
        return False
    made = queries.reposts_without_words(post.author_id)
    return made.filter(ref_post_id=post.ref_post_id).exists()


def _set_removed(post: Post, *, is_removed: bool) -> None:
    post.is_removed = is_removed
    Post.objects.filter(pk=post.pk).update(is_removed=is_removed)
    if post.visibility not in NAMED:
        # The number of posts on the profile leaves it out.
        heads = AuthorHead.objects.filter(author_id=post.author_id)
        heads.update(named_count=F("named_count") + (1 if is_removed else -1))
    words = PostContent.objects.filter(pk=post.pk).first() or PostContent()
    indexing.rewrite(post, words.content, words.content)
    arrange_media(post, words)
    transaction.on_commit(partial(cache.edited, post.pk), robust=True)
