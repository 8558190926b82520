"""The plan of a fan-out: id ranges ("chunks") that cover all ids, written once.

So a follower is in exactly one chunk, however the followers change later.
"""

from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import Value, Window
from django.db.models.functions import Mod, RowNumber

from feeds import cache, tiers
from feeds.models import NAMED, FanOut, FanOutChunk, Post
from socialsite.core import db
from socialsite.core.events import enqueue
from socialsite.core.ids import MAX_ID
from socialsite.core.positions import Position
from socialsite.core.runtime.failpoints import failpoint
from socialsite.core.telemetry.instruments import FANOUTS

# Chunks of one message; a message costs a worker up to half of a chunk. A post with few chunks gets
# at least two messages, so that two workers share it; further workers are for other posts.
CHUNKS_A_MESSAGE, MESSAGES_LEAST = 4, 2


@db.atomic
def write(post_id: int) -> None:
    """Write the chunks of a post once; an existing plan stays as it is (T28)."""
    fanout = FanOut.objects.select_for_update().filter(pk=post_id).first()
    if fanout is None or fanout.state != FanOut.State.NEW:
        return
    # The id of every FANOUT_CHUNK-th follower, counted by the database: one row a chunk, not a
    # follower.
    number = Window(RowNumber(), order_by="to_user")
    is_named = Post.objects.filter(pk=post_id, visibility__in=NAMED).exists()
    people = tiers.followers(fanout.author_id, post_id if is_named else None)
    followers = people.annotate(place=number - Value(1))
    firsts = list(followers.annotate(rest=Mod("place", settings.FANOUT_CHUNK)).filter(rest=0))
    bounds, total = firsts[1:], len(firsts)
    edges = [0, *(bound - 1 for bound in bounds), MAX_ID]
    FanOutChunk.objects.bulk_create(
        FanOutChunk(fanout=fanout, number=number, lower=edges[number], upper=edges[number + 1])
        for number in range(total)
    )
    fanout.total = total
    fanout.state = FanOut.State.RUNNING if total else FanOut.State.DONE
    fanout.done_at = None if total else db.now_ms()
    fanout.save(update_fields=["total", "state", "done_at"])
    failpoint("plan-written")
    if not total:
        FANOUTS.observe(max(0, (fanout.done_at or 0) - fanout.position) / 1000)
        place = Position(fanout.position, post_id)
        transaction.on_commit(partial(cache.delivered, fanout.author_id, place), robust=True)


def open_chunks(post_id: int) -> list[int]:
    """Return the ids of the chunks of a post that are not done."""
    chunks = FanOutChunk.objects.filter(fanout_id=post_id, done=False)
    return list(chunks.order_by("number").values_list("pk", flat=True))


def enqueue_chunks(post_id: int) -> None:
    """Enqueue the open chunks of a post, a few in each message."""
    chunks = open_chunks(post_id)
    each = min(CHUNKS_A_MESSAGE, -(-len(chunks) // MESSAGES_LEAST))
    for start in range(0, len(chunks), each or 1):
        enqueue.send("feeds.run_chunks", post_id, chunks[start : start + each])
