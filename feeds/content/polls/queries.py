"""Read the definitions of polls, for other apps."""

from feeds.content.polls.definition import Definition
from feeds.models import OpenPoll, PostContent
from socialsite.core import db


def definition(post_id: int) -> Definition | None:
    """Return the poll of a post, None if it has none. Callers check that the reader may see it."""
    found: Definition | None
    found = PostContent.objects.filter(pk=post_id).values_list("poll", flat=True).first()
    return found


def hold_open(post_id: int) -> bool:
    """Return whether a poll is open, and keep it so until the transaction ends."""
    rows = db.rows_locked_in_share(OpenPoll.objects.filter(pk=post_id).values_list("ends_at"))
    return bool(rows) and db.now_ms() < rows[0][0]
