"""What interactions does when a lower app tells a fact."""

from feeds.events import PostDeleted
from interactions import actions, cache
from interactions.events import (
    Bookmarked,
    CommentDeleted,
    Commented,
    Liked,
    Unbookmarked,
    Unliked,
)
from interactions.models import SubjectType
from socialsite.core.registry import on


@on(PostDeleted)
def close_subject(event: PostDeleted) -> None:
    """Let nobody comment any more on a post that was deleted (A36)."""
    actions.mark_post_deleted(event.id)


@on(Liked, Unliked)
def fold_likes(event: Liked | Unliked) -> None:
    """Add what is committed of likes of this to its count: of many events the first has it all."""
    actions.fold_likes(event.subj_type, event.subj_id)


@on(Liked, Unliked, after=True)
def forget_like_again(event: Liked | Unliked) -> None:
    """Repeat what follows the commit of a like: that process may have died in between."""
    if event.subj_type == SubjectType.POST:
        cache.forget(event.subj_id, event.user_id)


@on(Bookmarked, Unbookmarked, after=True)
def forget_bookmark_again(event: Bookmarked | Unbookmarked) -> None:
    """Repeat what follows the commit of a bookmark."""
    cache.forget(event.post_id, event.user_id)


@on(Commented, CommentDeleted, after=True)
def forget_counts_again(event: Commented | CommentDeleted) -> None:
    """Repeat what follows the commit of a comment, or of its deletion."""
    cache.forget(event.post_id)
