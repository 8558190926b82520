"""The end of polls.

The transaction that publishes the end of a poll deletes its row. So each poll ends once, whatever
process dies. Deleting the post ends the poll silently.
"""

from feeds.events import PollEnded
from feeds.models import OpenPoll
from socialsite.core import db, events
from socialsite.core.runtime.failpoints import failpoint

# Polls ended in one go.
STEP = 100


def end_due() -> int:
    """End the polls whose time has come; return how many. Emits PollEnded.

    A poll with a vote in progress is left to the next run.
    """
    due = OpenPoll.objects.filter(ends_at__lte=db.now_ms()).order_by("ends_at")
    return sum(map(_end, due.values_list("pk", flat=True)[:STEP]))


@db.atomic
def _end(post_id: int) -> bool:
    rows = OpenPoll.objects.select_for_update(skip_locked=True)
    poll = rows.filter(pk=post_id, ends_at__lte=db.now_ms()).first()
    if poll is None:
        return False
    post = poll.post
    poll.delete()
    if not post.is_deleted:
        events.publish(PollEnded(post_id, post.author_id))
    failpoint("poll-ended")
    return True
