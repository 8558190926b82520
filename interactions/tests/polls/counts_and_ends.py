"""The counts of a poll as a reader sees them, and its end."""

from typing import Any

from feeds import queries as feeds_queries
from feeds.models import OpenPoll, Post
from interactions import queries
from socialsite.core import redis


def read(viewer: Any, post: Post) -> tuple[int, list[int | None], list[int]]:
    """Return the number of people, the votes of the options, and the reader's choice."""
    card = feeds_queries.post(viewer, post.pk)
    poll = queries.decorate(viewer, [card])[0]["poll"]
    assert poll is not None
    return poll["votes"], [option["votes"] for option in poll["options"]], poll["voted"]


def close(post: Post) -> None:
    """Let the end of a poll be past, for votes and for readers."""
    words = post.content_row
    words.poll = {**words.poll, "ends_at": post.position}
    words.save(update_fields=["poll"])
    OpenPoll.objects.filter(pk=post.pk).update(ends_at=post.position)
    redis.call(lambda connection: connection.flushdb())
