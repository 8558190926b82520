"""What interactions does when a lower app tells a fact."""

from feeds.events import PostDeleted
from interactions import actions
from socialsite.core.registry import on


@on(PostDeleted)
def close_subject(event: PostDeleted) -> None:
    """Let nobody comment any more on a post that was deleted (A36)."""
    actions.mark_post_deleted(event.id)
