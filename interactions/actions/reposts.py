"""Count reposts; the reposts themselves are posts of feeds."""

from interactions import cache
from interactions.actions.counts import change_count, read_count
from interactions.models import Counted, SubjectType
from socialsite.core import db


@db.atomic
def count_repost(post_id: int, author_id: int, by: int) -> None:
    """Change a post's count by one, in the transaction that creates or deletes its repost."""
    change_count(Counted.REPOST, SubjectType.POST, post_id, by)
    read_count(Counted.REPOST, SubjectType.POST, post_id)
    cache.post_changed(post_id, author_id)
