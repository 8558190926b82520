"""Count reposts: the posts themselves are of feeds."""

from interactions import cache
from interactions.actions.subjects import locked_subject
from socialsite.core import db


@db.atomic
def count_repost(post_id: int, author_id: int, by: int) -> None:
    """Move the count of a post by one, in the transaction of its repost or of that one's end."""
    subject = locked_subject(post_id)
    subject.repost_count += by
    subject.save(update_fields=["repost_count", "updated_at"])
    cache.post_changed(post_id, author_id)
